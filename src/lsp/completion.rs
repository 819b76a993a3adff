//! What can be written next in a comment that suppresses findings: directives, then rules and groups.

use super::server::Server;
use crate::checks::Group;
use crate::engine::selection::known_rules;
use gen_lsp_types::CompletionParams;
use lsp_server::{RequestId, ResponseError};
use serde_json::{Value, json};

/// What follows `# trainlint:`, and what it does.
const DIRECTIVES: [(&str, &str); 4] = [
    ("ignore", "on this line, or on the statement below a line of its own"),
    ("file-ignore", "in this file"),
    ("disable", "from here on"),
    ("enable", "ends a `disable`"),
];

/// `CompletionItemKind.EnumMember`.
const MEMBER: u8 = 20;

impl Server {
    /// Answered from the text alone, so that it need not wait for an analysis.
    pub(crate) fn asked_for_completions(
        &mut self,
        id: RequestId,
        params: CompletionParams,
    ) -> Result<(), ResponseError> {
        let asked = params.text_document_position_params;
        let seat = self.documents.seat(&asked.text_document.uri.0);
        let text = seat.and_then(|seat| Some(seat.document.part(seat.cell)?.1));
        let line = text.map(|text| text.line(asked.position.line)).unwrap_or_default();
        let encoding = self.client.can.encoding;
        let before = &line[..encoding.byte(line, asked.position.character)];
        let items: Vec<Value> = begun(before).map_or_else(Vec::new, |begun| {
            let from = encoding.width(&before[..before.len() - begun.word.len()]);
            let row = asked.position.line;
            let range = json!({
                "start": { "line": row, "character": from },
                "end": { "line": row, "character": asked.position.character },
            });
            let item = |(name, about, text): (&str, &str, String)| {
                json!({
                    "label": name, "kind": MEMBER, "detail": about, "filterText": name,
                    "textEdit": { "range": range, "newText": text },
                })
            };
            proposals(begun.is_in_list).into_iter().map(item).collect()
        });
        self.client.respond(id, Ok(json!(items)));
        Ok(())
    }
}

/// The word that is being written.
#[derive(Debug, PartialEq, Eq)]
struct Begun<'a> {
    word: &'a str,
    /// It names a rule, and no directive.
    is_in_list: bool,
}

/// What is begun at the end of a line; nothing outside of our comments.
fn begun(before: &str) -> Option<Begun<'_>> {
    let comment = &before[before.rfind('#')? + 1..];
    let said = comment.trim_start().strip_prefix("trainlint")?.trim_start().strip_prefix(':')?;
    let rest = said.rsplit(']').next().unwrap_or(said);
    match rest.rsplit_once('[') {
        Some((_, list)) => {
            let word = list.rsplit(',').next().unwrap_or(list).trim_start();
            Some(Begun { word, is_in_list: true })
        }
        // After a list comes a reason, in anyone's words.
        None if said.contains(']') => None,
        None => Some(Begun { word: rest.trim_start(), is_in_list: false }),
    }
}

/// Each with what it is about, and what is written for it.
fn proposals(is_in_list: bool) -> Vec<(&'static str, &'static str, String)> {
    if !is_in_list {
        return DIRECTIVES.map(|(name, about)| (name, about, format!("{name}["))).to_vec();
    }
    let rules = known_rules().into_iter().map(|rule| (rule.id, rule.summary, rule.id.to_owned()));
    let groups = Group::ALL.into_iter().map(Group::name);
    rules.chain(groups.map(|group| (group, "all rules of this group", group.to_owned()))).collect()
}

#[test]
fn comments_of_ours_are_completed() {
    let word = |text| begun(text).map(|begun| (begun.word, begun.is_in_list));
    assert_eq!(word("x = 1  # trainlint: ignore[unsafe-l"), Some(("unsafe-l", true)));
    assert_eq!(word("# trainlint: file-ignore[memory, miss"), Some(("miss", true)));
    assert_eq!(word("# trainlint: ig"), Some(("ig", false)));
    assert_eq!(word("# trainlint: ignore[a] because"), None);
    assert_eq!(word("x = [1, "), None);
    assert_eq!(word("# noqa: F4"), None);
}
