//! The imports of a text, read off its lines without parsing: enough to know which files of a project need which.

use memchr::memmem;

/// `from ..module import names`, or `import module`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportLine<'t> {
    /// How many dots stand in front.
    pub level: u32,
    pub module: &'t str,
    /// Empty where the module itself is bound.
    pub names: Vec<&'t str>,
}

/// All imports that begin a line, in order.
pub fn import_lines(text: &str) -> Vec<ImportLine<'_>> {
    let mut found = Vec::new();
    let mut done = 0;
    for at in memmem::find_iter(text.as_bytes(), b"import") {
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        if start < done {
            continue;
        }
        let line = &text[start..];
        let statement = line.trim_start_matches([' ', '\t', '\x0c']);
        if let Some(modules) = word(statement, "import") {
            let modules = modules.lines().next().unwrap_or_default();
            let modules = modules.split(',').map(first).filter(|module| !module.is_empty());
            found.extend(modules.map(|module| ImportLine { level: 0, module, names: Vec::new() }));
        } else if let Some(rest) = word(statement, "from") {
            found.extend(from(rest));
        }
        done = start + line.find('\n').unwrap_or(line.len());
    }
    found
}

/// What follows a word and a blank.
fn word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    text.strip_prefix(word).filter(|rest| rest.starts_with([' ', '\t', '.']))
}

/// The first name, without an alias or a comment.
fn first(item: &str) -> &str {
    let item = item.trim_start_matches([' ', '\t', '\r', '\n', '\\', '(']);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '*');
    &item[..item.find(|c: char| !is_part(c)).unwrap_or(item.len())]
}

fn from(rest: &str) -> Option<ImportLine<'_>> {
    let rest = rest.trim_start();
    let level = rest.bytes().take_while(|byte| *byte == b'.').count();
    // Behind bare dots stands `import`, which is no module.
    let is_bare = level > 0 && rest[level..].starts_with([' ', '\t', '\\']);
    let module = if is_bare { "" } else { first(&rest[level..]) };
    let after = rest[level + module.len()..].trim_start_matches([' ', '\t', '\\', '\r', '\n']);
    let names = after.strip_prefix("import")?.trim_start_matches([' ', '\t']);
    let end = if names.starts_with('(') { names.find(')') } else { names.find(['\n', ';']) };
    let names = names[..end.unwrap_or(names.len())].split(',').map(first);
    Some(ImportLine { level: level as u32, module, names: names.filter(|name| !name.is_empty()).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_read_off_their_lines() {
        let text = "import a.b as c, d\nfrom e.f import g as h, i  # j\nif x:\n    from ..k import (\n        l,\n        m,\n    )\nfrom . import n\nfrom o import *\nimportant = 1\n# import p\n";
        let line =
            |level, module, names: &[&'static str]| ImportLine { level, module, names: names.to_vec() };
        assert_eq!(
            import_lines(text),
            [
                line(0, "a.b", &[]),
                line(0, "d", &[]),
                line(0, "e.f", &["g", "i"]),
                line(2, "k", &["l", "m"]),
                line(1, "", &["n"]),
                line(0, "o", &["*"]),
            ]
        );
    }
}
