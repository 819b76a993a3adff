//! Fixes do what they say: applied to every faulty fixture, they leave scripts that parse, in which the findings
//! are gone and no others have come. `fixtures/<rule>/fixes.diff` shows them for review; `UPDATE=1` writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use similar::TextDiff;
use trainlint::engine::analysis::{FileReport, Project as Scripts, analyse, source};
use trainlint::engine::config::Config;
use trainlint::engine::configs::Origin;
use trainlint::engine::fix::{Repaired, fix};
use trainlint::engine::selection::Selector;
use trainlint::engine::settings::Ready;
use trainlint::engine::{Request, Silent};
use trainlint::report::{Applicability, Diagnostic, Edit, FileId, Fix, Place, Severity, Span};

use crate::findings::{findings_of, root};
use crate::fixtures::{SHARED, of_rules};
use crate::harness::Project;
use crate::pages::pages;

fn repaired(paths: Vec<PathBuf>) -> Repaired {
    // Scripts of other rules are written as people write them, with what is deprecated, too.
    let is_own = paths.iter().any(|path| path.ends_with("deprecated-api"));
    let ignore = if is_own { Vec::new() } else { vec![Selector::Rule("deprecated-api")] };
    let request = Request {
        cwd: root().to_owned(),
        paths,
        origin: Origin::Isolated,
        overrides: Config { pedantic: Some(true), ignore, ..Config::default() },
        ..Request::default()
    };
    fix(&request, Applicability::Unsafe, &Silent, &analyse).unwrap()
}

fn diff(repaired: &Repaired) -> String {
    let mut text = String::new();
    for file in &repaired.files {
        let text_of = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (before, after) = (text_of(&file.before), text_of(&file.after));
        let shown = TextDiff::from_lines(&before, &after).unified_diff().context_radius(2).to_string();
        text.push_str(&format!("--- {}\n{shown}", name(&file.shown)));
    }
    for one in &repaired.refused {
        text.push_str(&format!("# {}:{}: {} stays: {}\n", name(&one.path), one.line, one.rule, one.why));
    }
    text
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// What is wrong with the fixes of a folder, if anything is.
fn objections(repaired: &Repaired) -> Vec<String> {
    // A script with a second fault may refuse the fix of the first; but a fix has to do what it says.
    let idle = repaired.refused.iter().filter(|one| !one.why.contains("introduce another finding"));
    let refused = idle.map(|one| {
        let (path, line, rule, why) = (&one.path, one.line, one.rule, &one.why);
        format!("{path}:{line}: the fix of {rule} does not hold: {why}")
    });
    let applicable = |fix: &&Fix| fix.applicability >= Applicability::Unsafe;
    let refused_rules: Vec<_> = repaired.refused.iter().map(|one| one.rule).collect();
    let left = repaired.outcome.findings.iter().filter(|one| one.fix.as_ref().filter(applicable).is_some());
    let left = left.filter(|one| !refused_rules.contains(&one.rule));
    let left = left.map(|one| format!("a fix of {} is left when all are done", one.rule));
    refused.chain(left).collect()
}

#[test]
fn fixes_hold_and_are_as_reviewed() {
    let mut wrong = Vec::new();
    let picked = std::env::var("FIXTURE").unwrap_or_default();
    for folder in of_rules().into_iter().filter(|folder| folder.to_string_lossy().contains(&picked)) {
        let repaired = repaired(vec![folder.clone()]);
        wrong.extend(objections(&repaired));
        let (path, is) = (root().join(&folder).join("fixes.diff"), diff(&repaired));
        if std::env::var_os("UPDATE").is_some() {
            write_or_remove(&path, &is);
        }
        let was = std::fs::read_to_string(&path).unwrap_or_default();
        if was != is {
            wrong.push(format!("{} is not current: run `UPDATE=1 cargo test`", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pages_tell_of_fixes_where_there_are_any() {
    for page in pages() {
        let shown = root().join("fixtures").join(&page.id).join("fixes.diff").exists();
        let section = page.text.split("## Fix safety\n").nth(1).unwrap_or_default();
        let says_none = ["No fix", "There is no"].iter().any(|start| section.starts_with(start));
        assert_eq!(shown, !says_none, "{}: `{}`", page.id, section.lines().next().unwrap_or_default());
    }
}

#[test]
fn pages_promise_no_safer_fixes_than_there_are() {
    let folders: Vec<PathBuf> =
        of_rules().into_iter().chain(SHARED.map(|name| Path::new("fixtures").join(name))).collect();
    let mut offered: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in folders.iter().flat_map(|folder| findings_of(folder)) {
        offered.entry(one.rule).or_default().extend(one.fix.map(|fix| fix.applicability));
    }
    for page in pages() {
        let kinds = offered.get(&page.id).into_iter().flatten();
        let section = page.text.split("## Fix safety\n").nth(1).unwrap_or_default();
        let allowed = match section {
            said if said.starts_with("Safe.") || said.starts_with("Safe:") => "safe",
            said if said.starts_with("Unsafe") => "unsafe",
            _ => continue,
        };
        let others: Vec<&String> = kinds.filter(|kind| *kind != allowed).collect();
        assert!(others.is_empty(), "{} says {allowed}; fixtures have {others:?} as well", page.id);
    }
}

fn write_or_remove(path: &Path, text: &str) {
    if text.is_empty() {
        // It may never have been there.
        let _ = std::fs::remove_file(path);
    } else {
        std::fs::write(path, text).unwrap();
    }
}

const UNCLEARED: &str = "\
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(data, batch_size=8, shuffle=True):
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
";

fn cleared() -> String {
    UNCLEARED.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()")
}

#[test]
fn fix_writes_and_reports_what_is_left() {
    let project = Project::new().file("a/train.py", UNCLEARED).file("other.py", "import json\n");
    let ran = project.run(&["check", "--fix"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stdout.ends_with("fixed 1 finding\n"), "{ran:?}");
    assert!(project.text("a/train.py").starts_with(&cleared()));
    let again = project.run(&["check", "--fix", "--unsafe-fixes"]);
    assert!(again.stdout.ends_with("fixed nothing\n"), "{again:?}");
}

#[test]
fn diff_shows_and_writes_nothing() {
    let project = Project::new().file("train.py", UNCLEARED);
    let before = project.text("train.py");
    let ran = project.run(&["check", "--diff"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    assert!(ran.stdout.starts_with("--- a/train.py\n+++ b/train.py\n@@ "), "{ran:?}");
    assert!(ran.stdout.contains("\n+    optimizer.zero_grad()\n     loss.backward()\n"), "{ran:?}");
    assert_eq!(project.text("train.py"), before);
    let clean = Project::new().file("train.py", cleared()).run(&["check", "--diff"]);
    assert_eq!((clean.code, clean.stdout.as_str()), (0, ""));
}

#[test]
fn the_report_says_what_can_be_fixed() {
    let project = Project::new().file("train.py", UNCLEARED);
    let ran = project.run(&["check"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("= fix available: insert `optimizer.zero_grad()` before the backward pass"));
    let next = "`trainlint explain missing-zero-grad` explains the rule, `trainlint confirm` shows findings happening\n";
    assert!(ran.stdout.ends_with(&format!("1 fixable with `--fix`\n{next}")), "{ran:?}");
    let json = project.run(&["check", "--output-format", "json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let fix = &json["findings"][0]["fix"];
    assert_eq!(fix["applicability"], "safe");
    assert_eq!((&fix["edits"][0]["line"], &fix["edits"][0]["column"]), (&6.into(), &1.into()));
    assert_eq!(fix["edits"][0]["text"], "    optimizer.zero_grad()\n");
}

#[test]
fn stdin_comes_back_fixed() {
    let ran = Project::new().run_with(&["check", "--fix", "-"], UNCLEARED);
    assert_eq!((ran.code, ran.stdout), (0, cleared()));
    assert!(ran.stderr.ends_with("fixed 1 finding\n"), "{}", ran.stderr);
}

#[test]
fn a_notebook_changes_in_the_cell_only() {
    let lines: Vec<String> = UNCLEARED.lines().map(|line| format!("\"{line}\\n\"")).collect();
    let notebook = |code: &str| {
        format!(
            "{{\"cells\": [{{\"cell_type\":  \"code\", \"outputs\": [1.0, \"\\u00e9\"],\n \"source\": [\n  {code}]}}],\n \"nbformat\": 4 }}"
        )
    };
    let before = notebook(&lines.join(",\n  "));
    let project = Project::new().file("train.ipynb", &before);
    assert_eq!(project.run(&["check", "--fix-only"]).stdout, "fixed 1 finding\n");
    let inserted = "\"    optimizer.zero_grad()\\n\",\n  \"    loss.backward()";
    assert_eq!(project.text("train.ipynb"), before.replace("\"    loss.backward()", inserted));
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay_and_read_only_files_are_named() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let project = Project::new().file("real.py", UNCLEARED).file("locked.py", UNCLEARED);
    let (real, link) = (project.path("real.py"), project.path("link.py"));
    symlink(&real, &link).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o750)).unwrap();
    std::fs::set_permissions(project.path("locked.py"), std::fs::Permissions::from_mode(0o444)).unwrap();
    let ran = project.run(&["check", "--fix-only", "link.py", "locked.py"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(ran.stderr, "error: locked.py: can't be written: it is read-only\n");
    assert!(link.is_symlink() && project.text("real.py").starts_with(&cleared()));
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o750);
}

/// Finds words, each with a replacement: one is good, one brings another finding, one breaks the script.
fn made_up(scripts: &Scripts, file: FileId) -> FileReport {
    const WORDS: [(&str, &str, &str); 4] = [
        ("GOOD", "missing-zero-grad", "fine"),
        ("HARM", "retained-graph", "NEWS"),
        ("NEWS", "unsafe-division", ""),
        ("TORN", "missing-no-grad", "(("),
    ];
    let source = source(scripts, file);
    let mut report = FileReport::default();
    for (word, rule, text) in WORDS {
        for (at, _) in source.text.match_indices(word) {
            let place = Place::new(file, Span::new(at as u32, (at + word.len()) as u32));
            let edits = vec![Edit { place, text: text.to_owned() }];
            let fix = Some(Fix::safe("do so", edits)).filter(|_| word != "NEWS");
            let finding = Diagnostic::new(rule, Severity::Error, place, "is there");
            report.findings.push((finding.fix(fix), None));
        }
    }
    report
}

#[test]
fn what_does_harm_is_taken_back_and_the_rest_stays() {
    let project = Project::new()
        .file("a.py", "import torch\nGOOD\nHARM\nGOODGOOD\n")
        .file("b.py", "import torch\nTORN\n")
        .file("c.py", "import torch\nGOOD\n");
    let request = project.request(2);
    let analyse = |scripts: &Scripts, file: FileId, _: &Ready| made_up(scripts, file);
    let repaired = fix(&request, Applicability::Safe, &Silent, &analyse).unwrap();
    let why: Vec<_> = repaired.refused.iter().map(|one| (one.path.as_str(), one.line, &*one.why)).collect();
    assert_eq!(
        why,
        [
            ("a.py", 3, "it would introduce another finding: unsafe-division"),
            ("b.py", 2, "the script would no longer parse")
        ]
    );
    // Of two that touch, the second one waits for the next pass.
    assert_eq!(repaired.fixed.len(), 4);
    let after = |at: usize| std::str::from_utf8(&repaired.files[at].after).unwrap();
    assert!(after(0).starts_with("import torch\nfine\nHARM\nfinefine\n"), "{}", after(0));
    assert!(after(1).starts_with("import torch\nfine\n"));
    assert_eq!(repaired.files.iter().map(|file| file.shown.as_str()).collect::<Vec<_>>(), ["a.py", "c.py"]);
    assert_eq!(repaired.outcome.findings.len(), 2);
}

#[test]
fn bad_fixes_of_many_files_keep_no_other_from_being_repaired() {
    let mut project = Project::new();
    for number in 0..40 {
        project = project.file(&format!("bad{number}.py"), "import torch\nHARM1\nHARM2\nHARM3\nGOOD\n");
    }
    for number in 0..60 {
        project = project.file(&format!("good{number}.py"), "import torch\nGOOD\n");
    }
    let request = project.request(2);
    let analyse = |scripts: &Scripts, file: FileId, _: &Ready| made_up(scripts, file);
    let repaired = fix(&request, Applicability::Safe, &Silent, &analyse).unwrap();
    let good = repaired.files.iter().filter(|file| file.shown.starts_with("good")).count();
    assert_eq!(good, 60);
    // Whatever is left was refused, and that is said.
    let left = repaired.outcome.findings.iter().filter(|finding| finding.fix.is_some()).count();
    assert_eq!(left, repaired.refused.len());
    // Each file has attempts of its own.
    assert_eq!((repaired.files.len(), repaired.refused.len()), (100, 120));
}

#[cfg(unix)]
#[test]
fn what_was_not_written_counts_as_found_and_not_as_fixed() {
    use std::os::unix::fs::PermissionsExt;
    let locked = || {
        let project = Project::new().file("free.py", UNCLEARED).file("locked.py", UNCLEARED);
        let mode = std::fs::Permissions::from_mode(0o444);
        std::fs::set_permissions(project.path("locked.py"), mode).unwrap();
        project
    };
    let project = locked();
    let ran = project.run(&["check", "--fix", "--output-format", "concise"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stdout.contains("locked.py:7") && !ran.stdout.contains("free.py"), "{ran:?}");
    assert!(ran.stdout.ends_with("fixed 1 finding\n"), "{ran:?}");
    assert!(project.text("free.py").starts_with(&cleared()), "{}", project.text("free.py"));
    assert!(project.text("locked.py").starts_with(UNCLEARED), "{}", project.text("locked.py"));
    let ran = locked().run(&["check", "--add-ignore"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, "ignored 1 finding in 1 file\n"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn names_of_one_file_are_one_file() {
    use std::os::unix::fs::symlink;
    let project = Project::new().file("real.py", UNCLEARED).file("sub/a.py", UNCLEARED);
    symlink("real.py", project.path("link.py")).unwrap();
    symlink("sub", project.path("other")).unwrap();
    let named = ["link.py", "real.py", "./real.py", "other", "sub"];
    assert_eq!(project.listed(&named), ["real.py", "sub/a.py"]);
    let ran = project.run(&[&["check", "--fix"], &named[..]].concat());
    assert!(ran.code == 0 && ran.stdout.ends_with("fixed 2 findings\n"), "{ran:?}");
    // Two links that lead to one file, which itself is not asked for.
    let outside = Project::new().file("real.py", "import torch\n");
    let project = Project::new();
    symlink(outside.path("real.py"), project.path("b.py")).unwrap();
    symlink(outside.path("real.py"), project.path("a.py")).unwrap();
    assert_eq!(project.listed(&["."]), ["a.py"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_fixed_file_keeps_its_attributes() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let project = Project::new().file("train.py", UNCLEARED);
    let path = project.path("train.py");
    // Not every file system has them.
    if setxattr(&path, "user.note", b"kept", XattrFlags::empty()).is_err() {
        return;
    }
    assert_eq!(project.run(&["check", "--fix"]).code, 0);
    assert!(project.text("train.py").contains("zero_grad"));
    let mut note = [0; 8];
    let length = getxattr(&path, "user.note", &mut note[..]).unwrap();
    assert_eq!(&note[..length], b"kept");
}
