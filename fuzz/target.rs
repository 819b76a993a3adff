//! The target that the binary is named after.
#![no_main]

#[path = "../benches/fuzz/generate.rs"]
mod generate;
#[path = "../benches/fuzz/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let target = targets::TARGETS.iter().find(|target| target.name == env!("CARGO_BIN_NAME"));
    (target.expect("a binary is named after a target").run)(data);
});
