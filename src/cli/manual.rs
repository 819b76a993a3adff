//! `docs/cli.md`, from the definitions of the flags; a test keeps the file current.

use super::args::Args;
use clap::{Arg, Command, CommandFactory};
use std::fmt::Write;

const INTRODUCTION: &str = "\
# The command line

Written by `UPDATE=1 cargo test` from the definitions of the flags; do not edit.

Exit codes: 0 nothing found, 1 findings, 2 trainlint could not do what it was asked to (a wrong
flag or configuration, a path that does not exist, a file named on the command line that can't be
read, no readable file at all, or an internal error). A file found in a folder that can't be read
is reported on stderr, and the run goes on. Results go to stdout and everything else to stderr.

With `--fix` the code is about what is left after the fixes; `--fix-only` exits with 0 whatever is
left. `--diff` writes nothing but the diff: 0 nothing to fix, 1 something. In all of them 2 also
means that a file could not be written, which is said on stderr; the others are. A script from
stdin comes back fixed on stdout, and its report goes to stderr.
";

const FORMATS: &str = "
## The formats

`--output-format` says what goes to stdout, and each `--report FORMAT=PATH` writes a file besides,
from the same run. `full`, `concise` and `grouped` are for people and end with a summary; all others
have the stream to themselves. The exit code is the same in every format: where a service takes 1
for a crash, add `--exit-zero`.

| format | read by |
| --- | --- |
| `json`, `json-lines` | programs; described below |
| `sarif` | GitHub's code scanning, SARIF viewers |
| `github` | GitHub Actions: annotations, the worst first, and a table in the summary of the step |
| `gitlab` | GitLab (`artifacts: reports: codequality`) |
| `junit` | what shows the results of tests: Jenkins, GitLab, CircleCI, Azure Pipelines |
| `rdjson` | reviewdog (`-f=rdjson`) |

Services want paths from the root of the repository on and get them so, from whatever folder
trainlint is called. In a notebook they get the line of the file, which is JSON, and the message names
the cell and the line within it.

A finding keeps its fingerprint when lines move: it is made of the rule, the code of the line
without comments and spacing, the functions and classes around it, and of equal ones of a file the
number.
";

const ADOPTION: &str = "
## Where there are many findings already

| | what it does |
| --- | --- |
| `--write-baseline known.json` | writes down what there is; commit the file |
| `--baseline known.json` | reports what is not in it |
| `--diff-base origin/main` | reports what lies on changed lines, and what else the change has caused |
| `--add-ignore=REASON` | writes `# trainlint: ignore[…] -- REASON` beside each finding |

A baseline knows a finding by its fingerprint, so it holds while lines move and files and functions are
renamed. Equal findings are counted: a copy of a known mistake is reported. A finding that is repaired stays
in the file until the baseline is written anew, and is let through once if it comes back.

`--diff-base` needs git. It rehearses the tree as it was, too, at the last commit that the revision and the
working tree have in common, so a helper that no longer clears gradients is reported where they are applied.
A shallow clone lacks that commit (GitHub Actions: `fetch-depth: 0`). Of a notebook the code counts, not the
lines, which change when it is run. Submodules that are checked out are compared with what the base says of them.
";

const CACHE: &str = "
## Results of earlier runs

`trainlint check` keeps what it found in `.trainlint_cache`, in the root of the project (the closest folder
up that holds `.git`, `pyproject.toml`, a configuration file or `setup.py`, or the working folder). A script
is rehearsed again when it, a file of the project that its rehearsal reached, a configuration file that it
reads, the releases that the project asks for, the settings of the run or trainlint itself have changed. Where
the folder can't be written, nothing is kept, and nothing is said of it. `trainlint clean` removes what trainlint
wrote there, and nothing else.

A folder that came with the project, or from another machine, says nothing: only what was written here counts. A
folder that `--cache-dir` names is trusted as it is; name one where a service brings it back from an earlier run.
";

const REVEAL: &str = "
## What is known of a line

`trainlint reveal train.py:12` shows each name that the line reads or binds, and what each call and operation
gives. A tensor is written `Tensor[batch, 10] float32 cuda, graph of `model`, in [0, ∞)`: its shape, where `?` is a
size and `..` a shape that is not known, its dtype, its device, what a backward pass would reach, and between which
numbers it lies, where `~` stands before an end that only rounding reaches. What is not known is left out. A value
of which nothing is known says since where: the first place on the way to it that gave something unknown.

The exit code is 0, or 2 where nothing is known of the line, with the reason on stderr: there is no such
line, no code in it, or the rehearsal does not come there.
With `--output-format json` one object comes, with `version` (1), `path`, `cell` (of a notebook, or null), `line`,
`text`, `more` (ways that are not shown) and `ways`. A way has `callers` (for each way that comes to the same
values, the calls that led there, the innermost first: `path`, `line`, `function`), `uncalled` (the function that is
rehearsed although nothing calls it, or null) and `values`: `expression`, `column`, `bound` (the line gives it the
value), `value`, and `unknown_since` (null, or `path`, `line`, `column` and `why`).
";

const VERSIONS: &str = "
## Which releases a project can run with

`trainlint versions` reads what a project uses of the frameworks (names and arguments, but those behind `try` or a check
of a version) and says which releases have it all, what bounds them, and where, what the project asks for, and the
newest release within, with the Pythons that it was made for. A folder with requirement files, or a root, is a project
of its own. What it asks for is read from requirement and constraint files, lock files, `pyproject.toml`, `setup.py`,
`setup.cfg`, `Pipfile`, environments of conda and `Dockerfile`, of a notebook from `!pip install` in its cells, of a
script from its own header (PEP 723). What a page, a job or another image says is told, and decides nothing where anything else does.

The exit code is 1 where no release has all that is used, or what is asked for lies outside.
With `--output-format json` one object comes, with `version` (1) and `projects`, each with `path` and `frameworks`. Of a
framework there are `name`, `from` and `to` (null, or `release`, and the `name`, `path` and `line` that ask for it),
`is_empty`, `newest`, `python`, `requirement` (text or null), `pinned` (`text`, `path`, `line`, `is_weak`),
`is_outside`, and `missing` (names that no release has).
";

const JSON: &str = "
\
## The JSON format

One object on one line. Fields are added in the course of version 1, never changed or removed.

| field | meaning |
| --- | --- |
| `version` | 1 |
| `findings` | sorted by path, place and rule |
| `hidden` | number of findings that `--pedantic` or a lower `--min-confidence` would show |
| `suppressed` | number of findings that comments silenced |
| `known` | number of findings that a baseline or the base revision has |
| `files` | `checked`, `skipped` (import no known framework), `incomplete` (rehearsed only in part) |
| `coverage` | `training_steps`: the backward passes that are written in the files; `not_judged`: those of which no rule knows what they are about, each a place with a `message` that says what is not known |
| `errors` | files that were not checked: `path`, `message` |

A finding has `rule`, `path`, `line`, `column`, `end_line`, `end_column`, `cell`, `severity`
(`error`, `warning`, `note`), `confidence` (`high`, `medium`, `low`), `message`, `notes` (a list),
`help` (text or null), `related` (places with a `message`) and `fix` (null, or `title`,
`applicability` — `safe`, `unsafe`, `display-only` — and `edits`, places with a `text`). Lines and
columns count from 1, columns in characters. In a notebook `cell` is the number of the cell,
from 1 and counting all cells, and lines count within it; elsewhere it is null. `json-lines` has
one such finding a line, and nothing else.
";

/// The text of `docs/cli.md`.
pub fn manual() -> String {
    let mut command = Args::command();
    command.build();
    let mut text = INTRODUCTION.to_owned();
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        section(&mut text, sub);
    }
    text.push_str(FORMATS);
    text.push_str(ADOPTION);
    text.push_str(CACHE);
    text.push_str(REVEAL);
    text.push_str(VERSIONS);
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
        Some(long) if argument.get_action().takes_values() => format!("--{long} {values}"),
        Some(long) => format!("--{long}"),
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
