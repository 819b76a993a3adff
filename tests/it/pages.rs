//! The page of a rule is a test: its bad example raises exactly its marks under all rules,
//! its good example raises nothing, and its sections come in one order.

use std::path::{Path, PathBuf};

use crate::findings::{Finding, findings_in, root};
use crate::marks::marks;

const SECTIONS: [&str; 7] =
    ["What it does", "Why it is bad", "Example", "Use instead", "How it knows", "Fix safety", "References"];

pub struct Page {
    pub id: String,
    pub text: String,
}

impl Page {
    /// The first sentence under the title.
    pub fn summary(&self) -> &str {
        self.text.lines().skip(1).find(|line| !line.is_empty()).unwrap_or_default()
    }

    fn sections(&self) -> Vec<(&str, Vec<&str>)> {
        let mut out: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("## "), out.last_mut()) {
                (Some(title), _) => out.push((title, Vec::new())),
                (None, Some((_, lines))) => lines.push(line),
                (None, None) => {}
            }
        }
        out
    }

    /// Files that the examples import, with their names: blocks before the example that begin with `# NAME.py`.
    fn companions(&self) -> Vec<(String, String)> {
        let named = |code: String| {
            let name =
                code.lines().next()?.strip_prefix("# ").filter(|name| name.ends_with(".py"))?.to_owned();
            Some((name, code))
        };
        self.examples("What it does").into_iter().filter_map(named).collect()
    }

    /// The Python blocks of a section.
    fn examples(&self, section: &str) -> Vec<String> {
        let sections = self.sections();
        let lines = sections.iter().filter(|(title, _)| *title == section).flat_map(|(_, lines)| lines);
        let mut out: Vec<String> = Vec::new();
        let mut open = false;
        for line in lines {
            match (open, *line) {
                (false, "```python") => {
                    out.push(String::new());
                    open = true;
                }
                (true, "```") => open = false,
                (true, code) => {
                    if let Some(last) = out.last_mut() {
                        last.push_str(code);
                        last.push('\n');
                    }
                }
                _ => {}
            }
        }
        out
    }
}

/// All pages, in the order of their ids.
pub fn pages() -> Vec<Page> {
    let entries = std::fs::read_dir(root().join("rules")).unwrap().map(|entry| entry.unwrap().path());
    let is_page = |path: &PathBuf| {
        path.extension().is_some_and(|one| one == "md") && path.file_stem().is_some_and(|one| one != "README")
    };
    let mut pages: Vec<Page> = entries
        .filter(is_page)
        .map(|path| Page {
            id: path.file_stem().unwrap().to_string_lossy().into_owned(),
            text: std::fs::read_to_string(&path).unwrap(),
        })
        .collect();
    pages.sort_by(|a, b| a.id.cmp(&b.id));
    pages
}

#[test]
fn pages_have_one_form() {
    for page in pages() {
        let id = &page.id;
        assert!(page.text.starts_with(&format!("# {id}\n\n")), "{id}: the title is the id");
        let summary = page.summary();
        assert!(summary.ends_with('.') && summary.chars().count() <= 140, "{id}: `{summary}` is no sentence");
        let titles: Vec<&str> = page.sections().iter().map(|(title, _)| *title).collect();
        assert_eq!(titles, SECTIONS, "{id}");
        assert!(page.text.lines().count() <= 100, "{id} is too long to be read in an editor");
        assert!(page.text.contains("](https://"), "{id} has no reference");
    }
}

#[test]
fn bad_examples_are_marked_and_good_ones_are_not() {
    for page in pages() {
        let (bad, good) = (page.examples("Example"), page.examples("Use instead"));
        assert!(!bad.is_empty() && !good.is_empty(), "{} lacks an example", page.id);
        for code in bad {
            let found = marks(&code).unwrap_or_else(|why| panic!("{}: {why}", page.id));
            assert!(found.iter().any(|mark| mark.rule == page.id), "{}: nothing marks the fault", page.id);
        }
        for code in good {
            assert_eq!(marks(&code), Ok(Vec::new()), "{}: the good example has marks", page.id);
        }
    }
}

#[test]
fn examples_raise_exactly_their_marks() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    // Left from an earlier run, or not there: both are fine.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut paths = Vec::new();
    let mut wanted = Vec::new();
    for page in pages() {
        for (name, code) in page.companions() {
            std::fs::write(folder.join(name), code).unwrap();
        }
        for (kind, section) in [("bad", "Example"), ("good", "Use instead")] {
            for (number, code) in page.examples(section).iter().enumerate() {
                let path = folder.join(format!("{}_{kind}_{number}.py", page.id));
                std::fs::write(&path, code).unwrap();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                wanted.extend(marks(code).unwrap().into_iter().map(|m| (name.clone(), m.line, m.rule)));
                paths.push(path);
            }
        }
    }
    let name = |one: &Finding| one.path.rsplit('/').next().unwrap_or_default().to_owned();
    let all = findings_in(&paths);
    let key = |one: &Finding| (name(one), one.line, one.rule.clone());
    let mut shown: Vec<_> = all.iter().filter(|one| !one.hidden()).map(key).collect();
    let found: Vec<_> = all.iter().map(key).collect();
    wanted.sort();
    shown.sort();
    // A mark of a note asks for a finding that is hidden by default.
    let lacking: Vec<_> = wanted.iter().filter(|one| !found.contains(one)).collect();
    let extra: Vec<_> = shown.iter().filter(|one| !wanted.contains(one)).collect();
    assert!(lacking.is_empty() && extra.is_empty(), "not found: {lacking:#?}\nnot expected: {extra:#?}");
}

#[test]
fn blocks_of_a_section_are_cut_out() {
    let text = "# a-rule\n\nSays so.\n\n## Example\n```python\na = 1\n```\ntext\n```python\nb = 2\n\nc = 3\n```\n## Use instead\n```\nno\n```\n";
    let page = Page { id: "a-rule".to_owned(), text: text.to_owned() };
    assert_eq!(page.summary(), "Says so.");
    assert_eq!(page.examples("Example"), ["a = 1\n", "b = 2\n\nc = 3\n"]);
    assert!(page.examples("Use instead").is_empty());
}
