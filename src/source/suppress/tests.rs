use super::*;
use crate::source::logical_lines;

/// Comments by a search for `#`; the texts here have none in strings.
fn collect(text: &str) -> Suppressions {
    let mut comments = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(hash) = line.find('#') {
            comments.push(Span::new((at + hash) as u32, (at + line.trim_end().len()) as u32));
        }
        at += line.len();
    }
    Suppressions::collect(text, &comments, || logical_lines(text))
}

fn at(text: &str, what: &str) -> Span {
    let start = text.find(what).unwrap() as u32;
    Span::new(start, start + what.len() as u32)
}

/// Which of the words `f1`, `f2`, … of the text are covered for the rule `a`.
fn covered(text: &str) -> Vec<usize> {
    let mut suppressions = collect(text);
    assert_eq!(suppressions.malformed(), [], "{text}");
    let names = (1..10).filter(|number| text.contains(&format!("f{number}")));
    names.filter(|number| suppressions.covers(&["a"], at(text, &format!("f{number}")))).collect()
}

#[test]
fn after_code_covers_the_line() {
    let text = "f1()\nf2()  # trainlint: ignore[a]\nf3()\n";
    assert_eq!(covered(text), [2]);
    assert_eq!(covered("f1()  #trainlint:ignore[ b ,a ]"), [1]);
    assert_eq!(covered("f1()  # trainlint: ignore[b]\n"), [0; 0]);
    assert_eq!(covered("f1()  # type: ignore # trainlint: ignore[a]\r\nf2()"), [1]);
    assert_eq!(covered("f1()  # TrainLint: Ignore[a]\n"), [1]);
}

#[test]
fn first_and_last_lines_stand_for_their_statement() {
    assert_eq!(covered("f1(  # trainlint: ignore[a]\n  f2,\n  f3)\nf4()\n"), [1, 2, 3]);
    assert_eq!(covered("f1(\n  f2,\n)  # trainlint: ignore[a]\nf3()\n"), [1, 2]);
    assert_eq!(covered("f1(\n  f2,  # trainlint: ignore[a]\n  f3)\n"), [2]);
    assert_eq!(covered("for f1 in x:  # trainlint: ignore[a]\n  f2()\n"), [1]);
    assert_eq!(covered("f1()\n)  # trainlint: ignore[a]"), [0; 0]);
}

#[test]
fn alone_covers_the_next_logical_line() {
    assert_eq!(covered("f1()\n# trainlint: ignore[a]\n\n# why\nf2(\n  f3)\nf4()\n"), [2, 3]);
    assert_eq!(covered("# trainlint: ignore[a]\n@f1\n@f2(\n3)\ndef f3(x,\n  y=f4):\n  f5()\n"), [1, 2, 3, 4]);
    assert_eq!(covered("f1(\n  # trainlint: ignore[a]\n  # why\n  f2,\n  f3)\n"), [2]);
    assert_eq!(covered("f1()\n# trainlint: ignore[a]\n"), [0; 0]);
    assert_eq!(covered("f1(\n# trainlint: ignore[a]\n"), [0; 0]);
}

#[test]
fn files_and_ranges() {
    assert_eq!(covered("f1()\nf2()\n# trainlint: file-ignore[a]"), [1, 2]);
    let text = "f1()\n# trainlint: disable[a, b]\nf2()\n# trainlint: enable[b]\nf3()\n# trainlint: enable[a]\nf4()\n";
    assert_eq!(covered(text), [2, 3]);
    assert_eq!(covered("f1()\nf2() # trainlint: disable[a]\nf3()"), [2, 3]);
}

#[test]
fn reasons_and_neighbours_are_no_matter() {
    for comment in [
        "# trainlint: ignore[a] -- tiny data",
        "# trainlint: ignore[a]  # see the paper",
        "# trainlint: ignore[a] because it is small",
        "# trainlint: ignore[b], ignore[a] -- both",
        "# trainlint: ignore[b] ignore[a]",
        "# noqa: E501  # trainlint: ignore[a]",
    ] {
        assert_eq!(covered(&format!("f1()  {comment}\n")), [1], "{comment}");
    }
}

#[test]
fn only_a_bare_noqa_is_ours() {
    for comment in ["# noqa", "#NOQA", "# noqa  # why", "# type: ignore # noqa", "# noqa - long"] {
        assert_eq!(covered(&format!("f1()  {comment}\nf2()\n")), [1], "{comment}");
    }
    for comment in ["# noqa: E501", "# noqa:E501", "# noqa : E501", "# noqas", "# flake8: noqa", "# no noqa"]
    {
        assert_eq!(covered(&format!("f1()  {comment}\n")), [0; 0], "{comment}");
    }
    assert_eq!(covered("# noqa\nf1()\n"), [0; 0]);
    assert_eq!(collect("f1()  # noqa\n").unused(), []);
}

#[test]
fn what_is_unused_is_told_id_by_id() {
    let text = "f1()  # trainlint: ignore[a, b]\n# trainlint: enable[c]\n# trainlint: disable[d]\nf2()\n# trainlint: enable[d]\n";
    let mut suppressions = collect(text);
    assert!(suppressions.covers(&["a"], at(text, "f1")));
    assert!(!suppressions.covers(&["d"], at(text, "f1")));
    let unused = suppressions.unused();
    let whats: Vec<&str> = unused.iter().map(|unused| unused.what.as_str()).collect();
    assert_eq!(
        whats,
        [
            "`ignore[b]` suppresses nothing",
            "`enable[c]` ends no `disable[c]`",
            "`disable[d]` suppresses nothing"
        ]
    );
    assert_eq!(&text[unused[0].span.range()], "b");
    assert_eq!(&text[unused[0].comment.range()], "# trainlint: ignore[a, b]");
    assert!(suppressions.covers(&["d"], at(text, "f2")));
    assert_eq!(suppressions.unused().len(), 2);
}

#[test]
fn named_rules_have_their_places() {
    let text = "é  # trainlint: ignore[a, bé-c,]\n";
    let suppressions = collect(text);
    let named: Vec<_> = suppressions.rules().collect();
    assert_eq!(named.len(), 2);
    for named in named {
        assert_eq!(&text[named.span.range()], named.rule);
    }
}

#[test]
fn malformed_directives_say_what_was_meant() {
    for (comment, place, message, help) in [
        (
            "# trainlint: ingore[a]",
            "ingore",
            "`ingore` is no directive of trainlint",
            "did you mean `ignore`?",
        ),
        ("# trainlint: ignore", "ignore", "`ignore` names no rule", "name the rules: `ignore[rule-id]`"),
        (
            "# trainlint: disable=a",
            "disable",
            "`disable` names no rule",
            "name the rules: `disable[rule-id]`",
        ),
        (
            "# trainlint: ignore[ , ]",
            "[ , ]",
            "the list of `ignore` is empty",
            "name the rules: `ignore[rule-id]`",
        ),
        (
            "# trainlint: ignore[a, b",
            "[a, b",
            "the list of `ignore` has no `]`",
            "name the rules: `ignore[rule-id]`",
        ),
        (
            "# trainlint ignore[a]",
            "# trainlint ignore[a]",
            "there is no `:` after `trainlint`",
            "write `# trainlint: ignore[rule-id]`",
        ),
        ("# trainlint:", "# trainlint:", "`trainlint:` says nothing", "write `# trainlint: ignore[rule-id]`"),
    ] {
        let text = format!("f1()  {comment}\n");
        let mut suppressions = collect(&text);
        let [malformed] = suppressions.malformed() else { panic!("{comment}") };
        assert_eq!((malformed.message.as_str(), malformed.help.as_str()), (message, help));
        assert_eq!(&text[malformed.span.range()], place, "{comment}");
        assert!(!suppressions.covers(&["a"], at(&text, "f1")), "{comment}");
    }
    let far = collect("# trainlint: whatever[a]\n");
    assert_eq!(far.malformed()[0].help, "there are `ignore`, `file-ignore`, `disable` and `enable`");
}

#[test]
fn prose_is_left_alone() {
    for text in ["# trainlint is strict\n", "# see trainlint: docs\n", "# trainlints: x\n", "#\n", "# [a]\n"]
    {
        let suppressions = collect(text);
        assert_eq!(suppressions.malformed(), [], "{text}");
        assert_eq!(suppressions.rules().count(), 0, "{text}");
    }
}

#[test]
fn logical_lines_are_asked_for_only_when_needed() {
    let text = "x = 1  # plain\n";
    let mut suppressions = Suppressions::collect(text, &[at(text, "# plain")], || panic!("not needed"));
    assert!(!suppressions.covers(&["a"], at(text, "x")));
}

#[test]
fn files_without_suppressions_are_told_by_their_text() {
    let mentions = |text: &str| super::mentions_suppression(text);
    for text in ["x # noqa", "x # NoQA\r\n", "x  # trainlint: ignore[a]", "# x # TrainLint ignore[a]"] {
        assert!(mentions(text), "{text}");
    }
    for text in
        ["", "x # noqa: F401", "x # noqa : F401, E1", "import trainlint\n# x", "# x\ntrainlint = noqa"]
    {
        assert!(!mentions(text), "{text}");
    }
}
