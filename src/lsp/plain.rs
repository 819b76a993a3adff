//! Markdown of ours as text for clients that show nothing else: the words stay, and of the marks those that help
//! to read them.

/// Without bold marks, with links as addresses, the rows of tables as lines, and code indented.
pub(crate) fn text(markdown: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut is_code = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            out.push(format!("    {line}").trim_end().to_owned());
        } else if is_rule(line) {
            // What is above the line of a table are the names of its columns, which say nothing that rows don't.
            out.pop_if(|above| line.starts_with('|') && !above.is_empty());
        } else {
            out.push(words(line));
        }
    }
    out.join("\n")
}

/// A line between the head and the body of a table, or between sections.
fn is_rule(line: &str) -> bool {
    line.contains("---") && line.chars().all(|letter| matches!(letter, '|' | '-' | ':' | ' '))
}

fn words(line: &str) -> String {
    let row = line.strip_prefix("| ").and_then(|rest| rest.strip_suffix(" |"));
    let line = row.map_or_else(|| line.to_owned(), |row| row.replace(" | ", ": ").replace("\\|", "|"));
    let heading = line.trim_start_matches('#');
    let line = if heading.len() < line.len() { heading.trim_start() } else { &line };
    // Between backticks two stars are a power.
    let parts = line.split('`').enumerate();
    let parts: Vec<String> =
        parts.map(|(at, part)| if at % 2 == 0 { part.replace("**", "") } else { part.to_owned() }).collect();
    linked(&parts.join("`"))
}

/// `[name](address)` as `name (address)`.
fn linked(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let (Some((lead, name)), Some((address, tail))) = (before.rsplit_once('['), after.split_once(')'))
        else {
            break;
        };
        out.push_str(&format!("{lead}{name} ({address})"));
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_stay() {
        let markdown = "**a-rule** · error\n\nwhat `a ** b` is\n\n| where | what |\n| --- | --- |\n| line 3 | a \\| b |\n\
                        \n[about a-rule](https://x.y/z), [b](c)\n\n---\n\n# Page\n```python\nx[0](1)\n\n# no heading\n```";
        assert_eq!(
            text(markdown),
            "a-rule · error\n\nwhat `a ** b` is\n\nline 3: a | b\n\nabout a-rule (https://x.y/z), b (c)\n\n\nPage\n    \
             x[0](1)\n\n    # no heading"
        );
        assert_eq!(text("a[0] ](b"), "a[0] ](b");
    }

    #[test]
    fn pages_have_no_marks_left_but_code() {
        for rule in crate::checks::all() {
            for line in text(rule.page).lines().filter(|line| !line.starts_with("    ")) {
                let mut said = line.split('`').step_by(2);
                assert!(said.all(|words| !words.contains("**")), "{}: {line}", rule.id);
                assert!(!line.starts_with(['#', '|']) && !line.contains("```"), "{}: {line}", rule.id);
            }
        }
    }
}
