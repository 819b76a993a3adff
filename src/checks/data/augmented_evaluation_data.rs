//! Scores on samples that a random transform changes each time.

use super::augmentations::Augmented;
use super::loaders::{sample_order, scored_on};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Confidence, Place, Severity};
use crate::trace::{At, Sight};
use crate::values::ObjId;
use rustc_hash::FxHashSet;

pub(super) static RULE: Rule = Rule {
    id: "augmented-evaluation-data",
    summary: "a model is validated or tested on randomly augmented samples",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("augmented-evaluation-data"),
    check,
};

/// A loader that a model is evaluated on, and where.
struct Evaluated<'s> {
    at: &'s At,
    scored: &'s At,
    augmented: &'s Augmented,
}

fn check(script: &Script, out: &mut Findings) {
    // Loaders of one transform are one mistake.
    let mut by_transform: Vec<(Place, Vec<Evaluated>)> = Vec::new();
    let mut seen: FxHashSet<Place> = FxHashSet::default();
    for (at, augmented) in script.observed::<Augmented>() {
        let Some((transform, _)) = augmented.transforms.first() else { continue };
        if rereads_training_data(script, augmented.loader) {
            continue;
        }
        let Some(scored) = scored_on(script, augmented.loader).filter(|_| seen.insert(at.place)) else {
            continue;
        };
        let evaluated = Evaluated { at, scored, augmented };
        match by_transform.iter_mut().find(|(known, _)| known == transform) {
            Some((_, all)) => all.push(evaluated),
            None => by_transform.push((*transform, vec![evaluated])),
        }
    }
    for (transform, all) in &by_transform {
        report(script, *transform, all, out);
    }
}

/// Whether a loader goes once more through all that is trained on, for statistics or a score of the training.
fn rereads_training_data(script: &Script, loader: ObjId) -> bool {
    let unsampled = sample_order(script, loader).is_some_and(|order| order.unsampled);
    let dataset = |wanted: ObjId| {
        script.sightings().find_map(|(_, sight)| match sight {
            Sight::Loader { loader, dataset, .. } if *loader == wanted => dataset.as_obj(),
            _ => None,
        })
    };
    let Some(own) = dataset(loader).filter(|_| unsampled) else { return false };
    script.sightings().any(|(_, sight)| match sight {
        Sight::Loader { loader, dataset, .. } => {
            dataset.as_obj() == Some(own) && script.feeds_training(*loader)
        }
        _ => false,
    })
}

fn report(script: &Script, transform: Place, all: &[Evaluated], out: &mut Findings) {
    let Some((Evaluated { at, scored, augmented }, others)) = all.split_first() else { return };
    let Some((_, name)) = augmented.transforms.first() else { return };
    let at = At { confidence: at.confidence.min(scored.confidence).min(Confidence::Medium), ..(*at).clone() };
    let message = format!("evaluation samples go through `{name}`, so the score changes from run to run");
    let mut finding = script.finding(RULE.id, RULE.severity, &at, message);
    let told = [(transform, "random for each sample"), (scored.place, "the model is evaluated here")];
    let others = others.iter().map(|other| (other.at.place, "and so do the samples of this loader"));
    for (place, words) in told.into_iter().chain(others) {
        if let Some(place) = at.beside(Some(place)) {
            finding = finding.because(place, words);
        }
    }
    let note = "augmented samples are harder than real ones, and two scores of one model differ by chance";
    let help = "evaluate on a dataset without augmentation; parts of one dataset share its transform";
    out.push(finding.note(note).help(help), &at);
}
