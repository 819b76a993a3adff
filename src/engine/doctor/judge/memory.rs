//! Memory: of the cards, and what the workers of a data loader share.

use crate::engine::doctor::machine::Machine;
use crate::engine::doctor::{Check, Status};
use crate::report::units::bytes;

/// What a container has where nobody says more.
const CONTAINER: u64 = 64 << 20;

pub(super) fn judge(machine: &Machine, checks: &mut Vec<Check>) {
    for card in &machine.cards {
        let about = format!("{} (compute capability {})", card.name, card.capability);
        let total = bytes(card.memory);
        let check = match card.free {
            // Half a gigabyte is what a context takes.
            Some(free) if free < card.memory / 2 => {
                Check::new("memory", Status::Warning, format!("{about}: {} of {total} free", bytes(free)))
                    .help("another process uses the GPU: see `nvidia-smi`, and stop it or choose another GPU")
            }
            Some(free) => {
                Check::new("memory", Status::Ok, format!("{about}: {} of {total} free", bytes(free)))
            }
            None => Check::new("memory", Status::Ok, format!("{about}: {total}")),
        };
        checks.push(check);
    }
    if let Some(shared) = machine.shared_memory.filter(|shared| *shared <= CONTAINER) {
        checks.push(
            Check::new("shared-memory", Status::Warning, format!("/dev/shm has {}", bytes(shared)))
                .required("DataLoader workers pass batches through it")
                .help("start the container with `--shm-size=8g` or `--ipc=host`"),
        );
    }
}
