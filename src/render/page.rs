//! A rule's page on a terminal: Markdown as it is, minus the marks that colour replaces.

use super::{BOLD, CYAN, DIM, paint};

/// The page of a rule for a terminal, or plain.
pub fn page(markdown: &str, color: bool) -> String {
    let mut out = String::new();
    let mut code = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
            continue;
        }
        if code {
            out.push_str(&format!("    {}", paint(line, DIM, color && !line.is_empty())));
        } else if let Some(heading) =
            line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim_start())
        {
            out.push_str(&paint(heading, BOLD, color));
        } else {
            out.push_str(&inline(line, color));
        }
        let kept = out.trim_end_matches(' ').len();
        out.truncate(kept);
        out.push('\n');
    }
    out
}

/// Code in cyan and strong words in bold; without colours the marks stay, since they then say it alone.
fn inline(line: &str, color: bool) -> String {
    if !color {
        return line.to_owned();
    }
    let coded = pairs(line, "`", CYAN);
    pairs(&coded, "**", BOLD)
}

fn pairs(line: &str, mark: &str, code: &str) -> String {
    let parts: Vec<&str> = line.split(mark).collect();
    // An even number of parts has an odd number of marks: the last one opens nothing.
    if parts.len().is_multiple_of(2) {
        return line.to_owned();
    }
    let painted = parts.iter().enumerate().map(|(place, part)| paint(part, code, place % 2 == 1));
    painted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_readable_without_and_with_colours() {
        let markdown = "# title\n\nuse `x` **now**\n\n```python\na = 1\n\nb = 2\n```\nend\n";
        assert_eq!(page(markdown, false), "title\n\nuse `x` **now**\n\n    a = 1\n\n    b = 2\nend\n");
        let colored = page(markdown, true);
        assert!(colored.starts_with("\x1b[1mtitle\x1b[0m\n"));
        assert!(colored.contains("use \x1b[36mx\x1b[0m \x1b[1mnow\x1b[0m\n"));
    }
}
