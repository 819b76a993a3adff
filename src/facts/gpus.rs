//! The memory of well-known cards, by name. Knows nothing about what runs on them.
//! Sizes are the makers' nominal ones, which they state in GB and build in GiB; drivers keep some of it for themselves:
//! NVIDIA's «Compare GPUs» page and data sheets (<https://www.nvidia.com/en-us/data-center/>),
//! AMD's Instinct and Radeon pages (<https://www.amd.com/en/products/accelerators.html>).

/// One card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// What `--gpu` takes.
    pub id: &'static str,
    /// Memory of one card, in GiB.
    pub gib: u64,
}

impl Gpu {
    /// Memory of one card, in bytes.
    pub fn bytes(self) -> u64 {
        self.gib << 30
    }
}

/// Every card, sorted by id. Where a name stands for several sizes, the bare name is the smallest.
pub static GPUS: &[Gpu] = &[
    gpu("a10", 24),
    gpu("a100", 40),
    gpu("a100-40g", 40),
    gpu("a100-80g", 80),
    gpu("a10g", 24),
    gpu("a16", 16),
    gpu("a2", 16),
    gpu("a30", 24),
    gpu("a40", 48),
    gpu("b200", 180),
    gpu("b300", 270),
    gpu("gh200", 96),
    gpu("gtx1060", 6),
    gpu("gtx1070", 8),
    gpu("gtx1080", 8),
    gpu("gtx1080ti", 11),
    gpu("gtx1650", 4),
    gpu("gtx1660", 6),
    gpu("gtx1660ti", 6),
    gpu("h100", 80),
    gpu("h100-nvl", 94),
    gpu("h20", 96),
    gpu("h200", 141),
    gpu("h800", 80),
    gpu("k80", 12),
    gpu("l4", 24),
    gpu("l40", 48),
    gpu("l40s", 48),
    gpu("mi100", 32),
    gpu("mi210", 64),
    // The MI250 is two devices of 64 GiB, and a process sees one of them.
    gpu("mi250", 64),
    gpu("mi250x", 64),
    gpu("mi300x", 192),
    gpu("mi325x", 256),
    gpu("p100", 16),
    gpu("p4", 8),
    gpu("p40", 24),
    gpu("quadro-rtx6000", 24),
    gpu("quadro-rtx8000", 48),
    gpu("rtx2060", 6),
    gpu("rtx2070", 8),
    gpu("rtx2080", 8),
    gpu("rtx2080ti", 11),
    gpu("rtx3050", 8),
    gpu("rtx3060", 12),
    gpu("rtx3060ti", 8),
    gpu("rtx3070", 8),
    gpu("rtx3070ti", 8),
    gpu("rtx3080", 10),
    gpu("rtx3080ti", 12),
    gpu("rtx3090", 24),
    gpu("rtx3090ti", 24),
    gpu("rtx4060", 8),
    gpu("rtx4060ti", 8),
    gpu("rtx4070", 12),
    gpu("rtx4070ti", 12),
    gpu("rtx4080", 16),
    gpu("rtx4090", 24),
    gpu("rtx5060", 8),
    gpu("rtx5060ti", 8),
    gpu("rtx5070", 12),
    gpu("rtx5070ti", 16),
    gpu("rtx5080", 16),
    gpu("rtx5090", 32),
    gpu("rtx6000-ada", 48),
    gpu("rtxa4000", 16),
    gpu("rtxa5000", 24),
    gpu("rtxa6000", 48),
    gpu("rtxpro6000", 96),
    gpu("rx7900xtx", 24),
    gpu("t4", 16),
    gpu("titan-rtx", 24),
    gpu("titan-v", 12),
    gpu("titan-xp", 12),
    gpu("v100", 16),
    gpu("v100-16g", 16),
    gpu("v100-32g", 32),
];

const fn gpu(id: &'static str, gib: u64) -> Gpu {
    Gpu { id, gib }
}

/// The card of a name, however it is spelt: `RTX 4090`, `NVIDIA GeForce RTX 4090`, `A100-SXM4-80GB`.
pub fn find(name: &str) -> Option<Gpu> {
    let wanted = plain(name);
    GPUS.iter().copied().find(|gpu| plain(gpu.id) == wanted)
}

/// The letters and digits that tell cards apart.
fn plain(name: &str) -> String {
    let mut text: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    text.make_ascii_lowercase();
    for noise in
        ["nvidia", "geforce", "tesla", "amd", "instinct", "radeon", "sxm2", "sxm4", "sxm5", "pcie", "hbm3"]
    {
        text = text.replace(noise, "");
    }
    if text.ends_with("gb") {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_sorted_and_have_one_spelling_each() {
        assert!(GPUS.is_sorted_by(|a, b| a.id < b.id));
        for gpu in GPUS {
            assert_eq!(find(gpu.id), Some(*gpu));
        }
    }

    #[test]
    fn names_of_drivers_and_shops_are_understood() {
        for (name, gib) in [
            ("RTX 4090", 24),
            ("NVIDIA GeForce RTX 4090", 24),
            ("NVIDIA A100-SXM4-80GB", 80),
            ("Tesla V100-SXM2-16GB", 16),
            ("a100-80gb", 80),
            ("NVIDIA H200", 141),
        ] {
            assert_eq!(find(name).map(|gpu| gpu.gib), Some(gib), "{name}");
        }
        assert_eq!(find("rtx 9999"), None);
    }
}
