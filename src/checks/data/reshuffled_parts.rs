//! Parts of a stream that is shuffled anew each time it is gone through: `take` and `skip` give other samples in each
//! epoch, so that those of one part come into the other. A concern of `leaked-test-data`.

use super::leaked_test_data::RULE;
use super::tf_data_order::trains_on;
use crate::apis::{Slot, Transfer};
use crate::facts::{Findings, Script};
use crate::interp::{ApiResult, Checker, Interp};
use crate::report::{Confidence, Place};
use crate::values::ObjId;
use rustc_hash::FxHashMap;
use std::rc::Rc;

pub(super) static CHECKER: Checker =
    Checker { on_api_result: Some(made), on_end: Some(paired), ..Checker::SILENT };

/// Streams that are shuffled anew each time.
#[derive(Default)]
struct Reshuffled(FxHashMap<ObjId, Shuffle>);

#[derive(Clone, Copy)]
struct Shuffle {
    place: Place,
    /// The call that reads a folder does it by itself.
    by_reader: bool,
}

/// What was cut from streams that are shuffled anew.
#[derive(Default)]
struct Cuts(Vec<Cut>);

#[derive(Clone)]
struct Cut {
    /// What the part is of, and what is made of the part.
    source: ObjId,
    made: Vec<ObjId>,
    place: Place,
    is_rest: bool,
    /// After how many samples, as it is written.
    at: Rc<str>,
}

/// Two parts of one stream, which have other samples in each epoch.
struct MixedParts {
    shuffle: Shuffle,
    head: Vec<ObjId>,
    rest: Vec<ObjId>,
}

fn made(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let Some(transfer) = result.call.gives.map(|gives| gives.verb) else { return };
    let Some(stream) = result.value.as_obj() else { return };
    let place = result.call.place;
    let source = result.call.nth(0).as_obj();
    match transfer {
        Transfer::DatasetShuffled | Transfer::LabelledStream => {
            let anew = result.call.operand(Slot::Flag).as_bool() == Some(true);
            let by_reader = transfer == Transfer::LabelledStream;
            note(cx, stream, anew.then_some(Shuffle { place, by_reader }));
        }
        Transfer::DatasetCached => note(cx, stream, None),
        Transfer::DatasetBatch | Transfer::DatasetFiltered | Transfer::DatasetMap => {
            let known = source.and_then(|source| reshuffled(cx, source));
            note(cx, stream, known);
        }
        Transfer::DatasetSkip | Transfer::DatasetTake => {
            let known = source.and_then(|source| reshuffled(cx, source));
            note(cx, stream, known);
            if let (Some(source), Some(_)) = (source, known) {
                let count = result.call.place_of("count").unwrap_or(place);
                let cut = Cut {
                    source,
                    made: vec![stream],
                    place,
                    is_rest: transfer == Transfer::DatasetSkip,
                    at: Rc::from(cx.words(count)),
                };
                cx.remember(|cuts: &mut Cuts| {
                    cuts.0.retain(|known| known.place != place);
                    cuts.0.push(cut);
                });
            }
        }
        _ => return,
    }
    if let Some(source) = source {
        cx.remember(|cuts: &mut Cuts| {
            for cut in cuts.0.iter_mut().filter(|cut| cut.made.contains(&source)) {
                if !cut.made.contains(&stream) {
                    cut.made.push(stream);
                }
            }
        });
    }
}

fn reshuffled(cx: &mut Interp<'_>, stream: ObjId) -> Option<Shuffle> {
    cx.remember(|known: &mut Reshuffled| known.0.get(&stream).copied())
}

fn note(cx: &mut Interp<'_>, stream: ObjId, shuffle: Option<Shuffle>) {
    cx.remember(|known: &mut Reshuffled| {
        known.0.remove(&stream);
        known.0.extend(shuffle.map(|shuffle| (stream, shuffle)));
    });
}

/// The head of a stream, and the rest of it from there on.
fn paired(cx: &mut Interp<'_>, _: ()) {
    let Cuts(cuts) = cx.recall();
    for head in cuts.iter().filter(|cut| !cut.is_rest) {
        let is_rest = |cut: &&Cut| cut.is_rest && cut.source == head.source && cut.at == head.at;
        let Some(rest) = cuts.iter().find(is_rest) else { continue };
        let Some(shuffle) = reshuffled(cx, head.source) else { continue };
        let parts = MixedParts { shuffle, head: head.made.clone(), rest: rest.made.clone() };
        cx.observe(rest.place, parts, Confidence::High);
    }
}

pub(super) fn check(script: &Script, out: &mut Findings) {
    let trains = |parts: &[ObjId]| parts.iter().any(|part| trains_on(script, *part));
    let is_one_trained_on = |seen: &MixedParts| trains(&seen.head) != trains(&seen.rest);
    for (at, seen) in script.observed_once_where(|_, seen| is_one_trained_on(seen)) {
        let message = "validation data leaks into training: the dataset is reshuffled each epoch, before `take` and `skip`";
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        if let Some(shuffled) = at.beside(Some(seen.shuffle.place)) {
            finding = finding.because(shuffled, "reshuffled each time the dataset is iterated");
        }
        let help = match seen.shuffle.by_reader {
            true => {
                "let `validation_split=` and `subset=` split the files, or cut what is read with `shuffle=False`"
            }
            false => "pass `reshuffle_each_iteration=False`, or cut first and shuffle only the training part",
        };
        let finding = finding
            .note("`take` and `skip` give other samples each time: over the epochs the model trains on nearly all of them")
            .help(help);
        out.push(finding, at);
    }
}
