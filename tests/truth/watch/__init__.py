"""What one run of a training script under PyTorch shows: facts, each with the lines where it held."""
