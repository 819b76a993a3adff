//! trainlint reads Python training scripts, rehearses them abstractly, and reports
//! the mistakes that waste a GPU run. `docs/architecture.md` explains the order of
//! the modules below: each uses only those before it.

#![forbid(unsafe_code)]

pub mod report;
pub mod source;
pub mod syntax;
pub mod names;
pub mod apis;
pub mod values;
pub mod trace;
pub mod interp;
pub mod facts;
pub mod rules;
pub mod engine;
pub mod render;
pub mod cli;
