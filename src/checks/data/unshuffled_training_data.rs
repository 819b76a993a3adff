//! Training that goes through the data in the order in which they are stored.

use super::loaders::{at_loader, epochs, sample_order, training_loops};
use super::order::{Holds, held_by, holds_samples_apart, is_held_in_order, is_order_stated};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Confidence, Fix, Place, Severity};
use crate::trace::{At, Effect, LoopId, Node, Sight, visits};
use crate::values::{Int, ObjId, State};
use rustc_hash::FxHashSet;

pub(super) static RULE: Rule = Rule {
    id: "unshuffled-training-data",
    summary: "training data is not shuffled",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("unshuffled-training-data"),
    check,
};

/// Fewer samples are an example of how to write it.
const FEW_SAMPLES: i64 = 64;

/// A training loader that goes through its data in the order in which they are stored.
struct Unshuffled {
    at: At,
    /// The dataset holds one class after the other.
    by_class: bool,
    /// A framework's stream, which shuffles through a buffer.
    is_stream: bool,
    /// The name of the sampler, where it may be `None`.
    unless: Option<String>,
}

/// How the data are held that a loader gives in that order.
struct Kept {
    by_class: bool,
    is_stream: bool,
    /// The loader's call says so itself.
    stated: bool,
    /// Only where its sampler is `None`.
    unless_sampled: bool,
}

fn check(script: &Script, out: &mut Findings) {
    let in_loops =
        training_loops(script).into_iter().filter_map(|(id, loader)| unshuffled(script, id, loader));
    let fitted = script.sightings().filter_map(|(at, sight)| unshuffled_fit(script, at, sight));
    let mut seen: FxHashSet<Place> = FxHashSet::default();
    for fed in in_loops.chain(fitted).filter(|fed| seen.insert(fed.at.place)) {
        report(script, &fed, out);
    }
}

fn report(script: &Script, fed: &Unshuffled, out: &mut Findings) {
    let message = match (fed.by_class, &fed.unless) {
        (true, None) => "training sees one class after the other: data is sorted by class and not shuffled",
        (false, None) => "training data is not shuffled: every epoch uses the stored order",
        (true, Some(_)) => "training sees one class after the other where the sampler is None",
        (false, Some(_)) => "training data is not shuffled where the sampler is None: each epoch is the same",
    };
    let shuffle = match &fed.unless {
        Some(sampler) => format!("{sampler} is None"),
        None => "True".to_owned(),
    };
    let help = match fed.is_stream {
        true => "shuffle before batching: `.shuffle(buffer_size)`".to_owned(),
        false => format!("pass `shuffle={shuffle}`"),
    };
    let fix = script.with_argument(fed.at.place, "shuffle", &shuffle).filter(|_| !fed.is_stream);
    let finding = script
        .finding(RULE.id, RULE.severity, &fed.at, message)
        .note("consecutive batches are correlated, and the last batches of an epoch have the most influence")
        .fix(fix.map(|edits| Fix::guess(format!("pass `shuffle={shuffle}`"), edits)))
        .help(help);
    out.push(finding, &fed.at);
}

fn unshuffled(script: &Script, id: LoopId, loader: ObjId) -> Option<Unshuffled> {
    let Kept { by_class, is_stream, stated, unless_sampled } = kept_order(script, loader)?;
    let may_go_on = !holds_samples_apart(&script.rehearsal.heap, loader) && runs_sequences(script, id);
    if !surely_trains(script, id) || is_one_batch(script, loader) || may_go_on {
        return None;
    }
    let at = at_loader(script, loader, id)?;
    let unless = unless_sampled.then(|| sampler_of(script, at.place));
    let sure = match (by_class, epochs(script, id)) {
        // Gradients that no optimizer applies are scores of the samples, which are compared in their order.
        _ if !steps_somewhere(script, id) => Confidence::Low,
        (true, _) if !stated && unless.is_none() => Confidence::High,
        // In a single pass each sample comes once, whatever the order.
        (false, None) if !goes_round(script, loader) => Confidence::Low,
        _ => Confidence::Medium,
    };
    let at = At { confidence: at.confidence.min(sure), ..at };
    Some(Unshuffled { at, by_class, is_stream, unless })
}

/// What the call of a loader gives it for its sampler.
fn sampler_of(script: &Script, loader: Place) -> String {
    let draft = script.draft(loader.file);
    let given = draft.call_at(loader.span).and_then(|call| draft.keyword(call, "sampler"));
    given.and_then(|given| draft.plain(given.value)).unwrap_or("sampler").to_owned()
}

/// Whether what goes through a loader begins with it again.
fn goes_round(script: &Script, loader: ObjId) -> bool {
    matches!(&script.rehearsal.heap.get(loader).state, State::Loader(state) if state.rounds)
}

/// A framework's own training on a stream, or on a loader that a hook gives it: nobody sees which model goes along that.
fn unshuffled_fit(script: &Script, at: &At, sight: &Sight) -> Option<Unshuffled> {
    let heap = &script.rehearsal.heap;
    let (data, loader) = match sight {
        Sight::Fit { data, .. } => {
            let stream = data.as_obj().filter(|stream| is_held_in_order(heap, *stream))?;
            (stream, script.drives(stream))
        }
        Sight::GoneThrough { loader, trains: true } if !script.knows_recurrent() => (*loader, *loader),
        _ => return None,
    };
    let Kept { by_class, is_stream, unless_sampled, .. } = kept_order(script, data)?;
    if is_one_batch(script, loader) {
        return None;
    }
    let place = heap.get(loader).site;
    let at = At { place, confidence: at.confidence.min(Confidence::Medium), ..at.clone() };
    let unless = unless_sampled.then(|| sampler_of(script, place));
    Some(Unshuffled { at, by_class, is_stream, unless })
}

fn kept_order(script: &Script, loader: ObjId) -> Option<Kept> {
    let heap = &script.rehearsal.heap;
    if let Some(sample_order) = sample_order(script, loader) {
        let unless_sampled = sample_order.unless_sampled;
        let in_order = unless_sampled || sample_order.in_order == Some(true);
        let holds = held_by(heap, loader).filter(|_| in_order)?;
        let (by_class, stated) = (holds == Holds::ByClass, is_order_stated(heap, loader));
        return Some(Kept { by_class, is_stream: false, stated, unless_sampled });
    }
    let stream = Kept { by_class: false, is_stream: true, stated: false, unless_sampled: false };
    is_held_in_order(heap, loader).then_some(stream)
}

/// Whether the batch is the dataset, whose order is nothing then, or there are next to no samples.
fn is_one_batch(script: &Script, loader: ObjId) -> bool {
    script.sightings().any(|(_, sight)| match sight {
        Sight::Loader { length, loader: made, .. }
            if *made == loader && length.known().is_some_and(|length| length < FEW_SAMPLES) =>
        {
            true
        }
        Sight::Loader { loader: made, length, batch_size, .. } if *made == loader => {
            match (batch_size.as_int(), length) {
                (Some(size @ Int::Sum(_)), length) => size == length,
                (Some(size), length) => {
                    size.known().zip(length.known()).is_some_and(|(size, length)| size >= length)
                }
                _ => false,
            }
        }
        _ => false,
    })
}

/// Whether a model in a loop goes along sequences: these may be meant to follow each other.
fn runs_sequences(script: &Script, id: LoopId) -> bool {
    let heap = &script.rehearsal.heap;
    let recurrent = |object: ObjId| heap.get(object).module().is_some_and(|module| module.recurrent);
    script.sightings().any(|(at, sight)| match sight {
        Sight::Forward(forward) if at.loops.contains(&id) => {
            heap.descendants(forward.module).iter().any(recurrent)
        }
        _ => false,
    })
}

/// Whether each iteration of a loop trains, whatever its conditions are.
fn surely_trains(script: &Script, id: LoopId) -> bool {
    script.rehearsal.entries.iter().any(|entry| find_loop(&entry.nodes, id).is_some_and(trains_always))
}

fn steps_somewhere(script: &Script, id: LoopId) -> bool {
    let steps = |effect: &Effect| {
        matches!(effect, Effect::Step { .. } | Effect::NamedStep { .. } | Effect::UnseenStep)
    };
    let entries = &script.rehearsal.entries;
    entries.iter().filter_map(|entry| find_loop(&entry.nodes, id)).any(|body| !visits(body, steps).is_empty())
}

fn find_loop(nodes: &[Node], wanted: LoopId) -> Option<&[Node]> {
    nodes.iter().find_map(|node| match node {
        Node::Loop { id, body } if *id == wanted => Some(body.as_slice()),
        Node::Loop { body, .. } | Node::Call { body, .. } => find_loop(body, wanted),
        Node::Branch { arms, .. } => arms.iter().find_map(|arm| find_loop(arm, wanted)),
        _ => None,
    })
}

fn trains_always(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Event(event) => matches!(event.effect, Effect::Backward { .. } | Effect::Step { .. }),
        Node::Loop { body, .. } | Node::Call { body, .. } => trains_always(body),
        Node::Branch { arms, .. } => arms.iter().all(|arm| trains_always(arm)),
        Node::Exit(_) => false,
    })
}
