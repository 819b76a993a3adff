"""The shapes in which people write training scripts, drawn at random."""
