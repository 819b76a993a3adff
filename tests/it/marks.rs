//! What a fixture says it expects, read from its comments:
//!
//! - `optimizer.step()  # expect: missing-zero-grad` at the end of the line;
//! - `# expect-pedantic: id` for a finding that only `--pedantic` shows;
//! - a line of carets under the primary span: `#   ^^^^ id: part of the message`.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// From 1.
    pub line: u32,
    /// First column and the one after the last, from 1, in characters; only of carets.
    pub columns: Option<(u32, u32)>,
    pub rule: String,
    /// Part of the message, or nothing.
    pub message: String,
    /// Expected from `--pedantic` only.
    pub hidden: bool,
}

/// All marks of a script, or the first one that makes no sense.
pub fn marks(text: &str) -> Result<Vec<Mark>, String> {
    let mut found = Vec::new();
    let mut above: Option<(u32, &str)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((columns, rest)) = carets(line) {
            let (line, code) = above.ok_or_else(|| format!("line {number}: carets under nothing"))?;
            found.push(caret_mark(line, code, columns, rest).map_err(|why| format!("line {number}: {why}"))?);
            continue;
        }
        above = Some((number, line));
        found.extend(trailing(number, line).map_err(|why| format!("line {number}: {why}"))?);
    }
    Ok(found)
}

/// The columns of a line of carets and what follows them.
fn carets(line: &str) -> Option<((u32, u32), &str)> {
    let rest = line.trim_start().strip_prefix('#')?;
    let rest = rest.trim_start();
    if !rest.starts_with('^') {
        return None;
    }
    let before = line.chars().count() - rest.chars().count();
    let after = rest.trim_start_matches('^');
    let start = u32::try_from(before).ok()? + 1;
    let end = start + u32::try_from(rest.len() - after.len()).ok()?;
    Some(((start, end), after.trim()))
}

fn caret_mark(line: u32, code: &str, columns: (u32, u32), rest: &str) -> Result<Mark, String> {
    let (rule, message) = rest.split_once(':').unwrap_or((rest, ""));
    if !is_id(rule.trim()) {
        return Err(format!("`{rest}` does not start with the id of a rule"));
    }
    let at = |column: u32| code.chars().nth(column as usize - 1).unwrap_or(' ');
    if at(columns.0) == ' ' || at(columns.1 - 1) == ' ' {
        return Err(format!("the carets do not lie under code of line {line}"));
    }
    let (rule, message) = (rule.trim().to_owned(), message.trim().to_owned());
    Ok(Mark { line, columns: Some(columns), rule, message, hidden: false })
}

fn trailing(number: u32, line: &str) -> Result<Vec<Mark>, String> {
    let Some((code, comment)) = line.rsplit_once("# expect") else { return Ok(Vec::new()) };
    let (hidden, list) = match comment.strip_prefix("-pedantic") {
        Some(list) => (true, list),
        None => (false, comment),
    };
    let list = list.strip_prefix(':').ok_or("a mark is written `# expect: id`")?;
    if code.trim().is_empty() {
        return Err("`# expect` belongs at the end of the line that it is about".to_owned());
    }
    let mark = |rule: &str| match is_id(rule.trim()) {
        true => Ok(Mark {
            line: number,
            columns: None,
            rule: rule.trim().to_owned(),
            message: String::new(),
            hidden,
        }),
        false => Err(format!("`{}` is no id of a rule", rule.trim())),
    };
    list.split(',').map(mark).collect()
}

fn is_id(text: &str) -> bool {
    text.contains('-') && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

#[test]
fn trailing_marks_name_one_rule_or_several() {
    let found = marks("a = 1\nb()  # expect: some-rule, other-rule\nc()  # expect-pedantic: third-rule\n");
    let found = found.unwrap();
    let short: Vec<_> = found.iter().map(|mark| (mark.line, mark.rule.as_str(), mark.hidden)).collect();
    assert_eq!(short, [(2, "some-rule", false), (2, "other-rule", false), (3, "third-rule", true)]);
}

#[test]
fn carets_point_at_the_line_above_them() {
    let text = "def f():\n    loss.backward()\n    # ^^^^ a-rule\n#   ^^^^ b-rule: some words\n";
    let found = marks(text).unwrap();
    assert_eq!(found[0].columns, Some((7, 11)));
    assert_eq!(found[1].columns, Some((5, 9)));
    assert_eq!((found[1].line, found[1].message.as_str()), (2, "some words"));
}

#[test]
fn marks_that_make_no_sense_are_refused() {
    for (text, why) in [
        ("# ^^^ a-rule\n", "under nothing"),
        ("a = 1\n# ^^^^^^^^^^ a-rule\n", "under code"),
        ("abcdefgh\n# ^^^ What is this\n", "id of a rule"),
        ("# expect: a-rule\n", "end of the line"),
        ("a  # expect: nothing here\n", "no id"),
        ("a  # expected\n", "is written"),
    ] {
        let error = marks(text).unwrap_err();
        assert!(error.contains(why), "{text:?} gives {error:?}");
    }
}
