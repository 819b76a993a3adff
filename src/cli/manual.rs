//! `docs/cli.md`, from the definitions of the flags; a test keeps the file current.

use super::args::Args;
use clap::{Arg, Command, CommandFactory};
use std::fmt::Write;

const INTRODUCTION: &str = "\
# The command line

Written by `UPDATE=1 cargo test` from the definitions of the flags; do not edit.

## Exit codes

| code | meaning |
| ---: | --- |
| 0 | no findings (`check`), nothing confirmed (`confirm`), no problem (`doctor`, `versions`), or the command has done its work |
| 1 | findings; with `--fail-on error`, only errors count; with `--diff`, there is something to fix; with `--exit-non-zero-on-fix`, something was fixed |
| 2 | an error: an invalid flag or configuration, a path that does not exist, a file passed on the command line that can't be read, no readable file at all, a file that can't be written, or an internal error |
| 3 | `--backend cuda`, and there is no usable GPU (`confirm`, `replay`) |

If a file found in a folder can't be read, it is reported on stderr and the run continues. Results go to
stdout and everything else to stderr. With `--fix`, the exit code reflects the findings that remain after
the fixes; `--fix-only` and `--exit-zero` exit with 0 even if some remain. For a script from stdin, the
fixed script goes to stdout and the report to stderr.
";

const FORMATS: &str = "
## The formats

`--output-format` sets what goes to stdout, and each `--report FORMAT=PATH` also writes a file from
the same run. `full`, `concise` and `grouped` are human-readable and end with a summary; all others
are machine-readable and print nothing else. The exit code is the same in every format: if a service
treats 1 as a crash, add `--exit-zero`.

| format | read by |
| --- | --- |
| `json`, `json-lines` | programs; described below |
| `sarif` | GitHub's code scanning, SARIF viewers |
| `github` | GitHub Actions: annotations, most severe first, and a table in the job summary |
| `gitlab` | GitLab (`artifacts: reports: codequality`) |
| `junit` | anything that shows test results: Jenkins, GitLab, CircleCI, Azure Pipelines |
| `rdjson` | reviewdog (`-f=rdjson`) |

Services expect paths relative to the root of the repository and get them, whatever folder trainlint
is called from. For notebooks they get the line in the JSON file, and the message names the cell and
the line within it.

A finding keeps its fingerprint when lines move: it is computed from the rule, the code of the line
without comments and whitespace, the enclosing functions and classes, and a counter for identical
findings in a file.
";

const ADOPTION: &str = "
## Adopting trainlint in a project with many findings

| | what it does |
| --- | --- |
| `--write-baseline known.json` | writes all current findings to a file; commit it |
| `--baseline known.json` | reports only findings that are not in it |
| `--diff-base origin/main` | reports only findings on changed lines, and findings elsewhere that the change caused |
| `--add-ignore=REASON` | adds `# trainlint: ignore[…] -- REASON` to each finding |

A baseline identifies a finding by its fingerprint, so it stays valid while lines move and files and functions
are renamed. Identical findings are counted: a copy of a known mistake is reported. A finding that was fixed stays
in the file until the baseline is written again, and is not reported once if it reappears.

`--diff-base` needs git. It also analyzes the merge base of the revision and the working tree, so a helper that
no longer zeroes gradients is reported where they are applied. A shallow clone lacks that commit (GitHub Actions:
`fetch-depth: 0`). In notebooks the code is compared, not the lines, which change when it is run. Checked-out
submodules are compared with the commits recorded in the base.
";

const SEVERITIES: &str = "
## Which findings are shown, and which fail the run

| | what it does |
| --- | --- |
| `--min-severity error` | shows errors only; `min-severity` in the configuration |
| `--min-confidence high` | shows only findings that hold on every analyzed path |
| `--pedantic` | also shows notes and low-confidence findings |
| `--fail-on error` | shows everything, but exits with 1 for errors only |
| `--config 'severity.missing-no-grad=\"note\"'` | changes the severity of a rule or a group for one run; `[severity]` in the configuration does it for good |
| `--ignore-suppressions` | reports findings in spite of comments |
| `--output-format concise --quiet` | one line per finding, and nothing else |

Where the terminal supports it, names of rules are links to their pages, if the build knows the address of the
repository. `FORCE_HYPERLINK=1` and `FORCE_HYPERLINK=0` override the detection.
";

const CACHE: &str = "
## The cache

`trainlint check` stores its results in `.trainlint_cache`, in the root of the project (the closest parent
folder with `.git`, `pyproject.toml`, a configuration file or `setup.py`, or the working folder). A script is
analyzed again when it, a project file that its analysis reached, a configuration file that it reads, the releases
that the project requires, the settings of the run or trainlint itself have changed. If the folder can't be
written, results are silently not cached. `trainlint clean` removes the files that trainlint wrote there, and
nothing else.

A cache that came with the project, or from another machine, is ignored: only results written on this machine
count. A folder passed with `--cache-dir` is trusted; use it where a CI service restores the cache of an earlier run.
";

const REVEAL: &str = "
## What is known about a line

`trainlint reveal train.py:12` shows each name that the line reads or assigns, and the result of each call and
operation. A tensor is shown as `Tensor[batch, 10] float32 cuda, graph of `model`, in [0, ∞)`: its shape (`?` is an
unknown size, `..` an unknown shape), its dtype, its device, what `backward()` would reach, and its value range, where
`~` marks a bound that is attained only through rounding. Unknown parts are omitted. A completely unknown value is
shown with its origin: the first place where it became unknown.

A line of a module that others import is analyzed by itself, with parameters that nobody passes; with
`--from train.py` it is analyzed as `train.py` runs it.

The exit code is 0, or 2 if nothing is known about the line, with the reason on stderr: there is no such
line, no code on it, or the analysis does not reach it.
With `--output-format json` the output is one object with `version` (1), `path`, `cell` (of a notebook, or null),
`line`, `text`, `more` (number of paths not shown) and `ways`. Each entry of `ways` is a path with `callers` (for each
path with the same values, the call stack, innermost first: `path`, `line`, `function`), `uncalled` (the function that
is analyzed although nothing calls it, or null) and `values`: `expression`, `column`, `bound` (assigned on this line),
`value`, and `unknown_since` (null, or `path`, `line`, `column` and `why`).
";

const VERSIONS: &str = "
## Which framework releases a project can run with

`trainlint versions` collects the framework names and arguments that a project uses (except under `try` or a version
check) and reports which releases provide all of them, what limits the range, and where; which release the project
requires; and the newest release in the range, with the Python versions it supports. Each folder with requirement
files, and each root, is a separate project. Requirements are read from requirement and constraint files, lock files,
`pyproject.toml`, `setup.py`, `setup.cfg`, `Pipfile`, conda environments and `Dockerfile`, for notebooks from
`!pip install` in their cells, for scripts from their own header (PEP 723). Releases named in a README, a CI job or
another image are shown, and used only if nothing else is found.

The exit code is 1 if no release provides everything that is used, or if the requirement lies outside the range.
With `--output-format json` the output is one object with `version` (1) and `projects`, each with `path` and
`frameworks`. A framework has `name`, `from` and `to` (null, or `release`, and the `name`, `path` and `line` that
require it), `is_empty`, `newest`, `python`, `requirement` (text or null), `pinned` (`text`, `path`, `line`,
`is_weak`), `is_outside`, and `missing` (names that are in no release).
";

const DOCTOR: &str = "
## Whether driver, GPUs and builds work together

`trainlint doctor` prints one line per check: its status (`ok`, `note`, `warning`, `error`), its name, and what was
found, what is required and what to do. [Checking the machine](doctor.md) lists the checks.

The exit code is 1 if there is a warning or an error. With `--output-format json` the output is one object with
`version` (1), `checks` and `machine` (null with `--project-only`). A check has `name`, `status`, `found`, `required` and
`help` (text or null), `path` and `line` (null, or where the project says it). `machine` describes the driver, the GPUs,
the Python environment, the variables and the libraries that were found; `--machine FILE` checks such a description.
";

const JSON: &str = "
\
## The JSON format

One object on one line. Within version 1, fields may be added, but are never changed or removed.

| field | meaning |
| --- | --- |
| `version` | 1 |
| `findings` | sorted by path, place and rule |
| `hidden` | number of findings below the minimum severity or confidence |
| `suppressed` | number of findings suppressed by comments |
| `known` | number of findings in the baseline or the base revision |
| `files` | `checked`, `skipped` (import no known framework), `incomplete` (only partly analyzed) |
| `coverage` | `training_steps`: number of backward passes in the files; `by_contract`: those whose computation graph is unknown, so that only the calls of their optimizer were judged; `not_judged`: those that could not be analyzed; each a place with a `message` that gives the reason |
| `errors` | files that were not checked: `path`, `message` |

A finding has `rule`, `path`, `line`, `column`, `end_line`, `end_column`, `cell`, `severity`
(`error`, `warning`, `note`), `confidence` (`high`, `medium`, `low`), `message`, `notes` (a list),
`help` (text or null), `related` (places with a `message`) and `fix` (null, or `title`,
`applicability` — `safe`, `unsafe`, `display-only` — and `edits`, places with a `text`). Lines and
columns count from 1, columns in characters. In a notebook `cell` is the number of the cell,
from 1 and counting all cells, and lines count within it; elsewhere it is null. `json-lines` has
one such finding per line, and nothing else.
";

/// The text of `docs/cli.md`.
pub fn manual() -> String {
    let mut command = Args::command();
    command.build();
    let mut text = INTRODUCTION.to_owned();
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        section(&mut text, sub);
    }
    text.push_str(SEVERITIES);
    text.push_str(FORMATS);
    text.push_str(ADOPTION);
    text.push_str(CACHE);
    text.push_str(REVEAL);
    text.push_str(VERSIONS);
    text.push_str(DOCTOR);
    text.push_str(JSON);
    text
}

fn section(text: &mut String, command: &Command) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    // Writing to a string does not fail.
    let _ = writeln!(text, "\n## `trainlint {}`\n\n{about}.\n", command.get_name());
    for argument in command.get_arguments().filter(|one| !one.is_hide_set() && one.get_id() != "help") {
        let _ = writeln!(text, "- `{}`: {}", name(argument), meaning(argument));
    }
}

fn name(argument: &Arg) -> String {
    let values = argument.get_value_names().unwrap_or_default().join(" ");
    match argument.get_long() {
        None => format!("[{values}]"),
        Some(long) => {
            let short = argument.get_short().map_or_else(String::new, |short| format!("-{short}, "));
            let values =
                if argument.get_action().takes_values() { format!(" {values}") } else { String::new() };
            format!("{short}--{long}{values}")
        }
    }
}

fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = help.split_whitespace().collect::<Vec<_>>().join(" ");
    if !text.ends_with(['.', ']']) {
        text.push('.');
    }
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|_| argument.get_action().takes_values())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() {
        let _ = write!(text, " One of {}.", values.join(", "));
    }
    if let Some(variable) = argument.get_env() {
        let _ = write!(text, " Also `{}` in the environment.", variable.to_string_lossy());
    }
    if let Some(default) =
        argument.get_default_values().first().filter(|_| argument.get_action().takes_values())
    {
        let _ = write!(text, " Default: `{}`.", default.to_string_lossy());
    }
    text
}
