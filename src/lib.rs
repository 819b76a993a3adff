//! trainlint reads Python training scripts, rehearses them abstractly, and reports
//! the mistakes that waste a GPU run. `docs/architecture.md` explains the order of
//! the modules below: each uses only those before it.

pub mod apis;
pub mod checks;
pub mod cli;
pub mod engine;
pub mod facts;
pub mod interp;
pub mod lsp;
pub mod names;
pub mod render;
pub mod replay;
pub mod report;
pub mod source;
pub mod syntax;
pub mod trace;
pub mod values;
