//! `trainlint check --watch`: a run after each change of a file, until interrupted.

use super::args::CheckArgs;
use super::check::once;
use super::output::Output;
use crate::engine::{self, Request};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long a change may go unnoticed.
const PAUSE: Duration = Duration::from_millis(300);
/// The share of the time that is spent on looking, at most.
const SHARE: u32 = 20;

/// What makes a run have another result: files that are checked, and configurations.
type Seen = FxHashMap<PathBuf, Option<(SystemTime, u64)>>;

/// Files are looked at again and again instead of being watched by the system, which works on every file system.
pub(crate) fn run(args: &CheckArgs, request: &Request, output: &Output) -> anyhow::Result<u8> {
    loop {
        let before = seen(request);
        if output.links {
            // A terminal is cleared, so that what is on it is the present state.
            output.out(b"\x1b[2J\x1b[3J\x1b[H")?;
        }
        // A configuration that is being written may be wrong for a moment.
        if let Err(error) = once(args, request, output) {
            output.complain("error", &format!("{error:#}"));
        }
        if !args.quiet {
            output.aside(b"watching for changes; stop with Ctrl-C\n");
        }
        loop {
            let start = Instant::now();
            if seen(request) != before {
                break;
            }
            std::thread::sleep(PAUSE.max(start.elapsed() * SHARE));
        }
    }
}

fn seen(request: &Request) -> Seen {
    let files = engine::files(request).unwrap_or_default();
    let mut paths: Vec<PathBuf> = files.into_iter().map(|file| file.path).collect();
    let mut folders: Vec<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
    folders.push(&request.cwd);
    folders.dedup();
    let names = ["pyproject.toml", "trainlint.toml", ".trainlint.toml"];
    let around = folders.iter().flat_map(|folder| folder.ancestors());
    let configurations: Vec<PathBuf> =
        around.flat_map(|folder| names.map(|name| folder.join(name))).collect();
    paths.extend(configurations);
    let stamp = |path: &Path| {
        let file = std::fs::metadata(path).ok()?;
        Some((file.modified().ok()?, file.len()))
    };
    paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
}
