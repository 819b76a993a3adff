//! A dataset that is moved to the GPU as a whole.

use super::results::is_local_buffer;
use super::size_on_gpu::{TensorOnGpu, bytes_of};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{FEW_ROWS, Findings, Places, Script};
use crate::report::Severity;
use crate::trace::{At, PlacedOnGpu};
use crate::values::{ClassRef, Graph, Source, State};

pub(super) static RULE: Rule = Rule {
    id: "whole-dataset-on-gpu",
    summary: "the whole dataset stays in GPU memory",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Memory,
    page: page!("whole-dataset-on-gpu"),
    check,
};

/// What a framework puts on the GPU by itself is not noticed below this share of its memory.
const UNNOTICED: f64 = 0.025;

fn check(script: &Script, out: &mut Findings) {
    for data in resident_data(script) {
        let mut finding = script.finding(
            RULE.id,
            data.severity,
            &data.at,
            format!("{} of data stay in GPU memory for the whole run", data.size()),
        );
        if let Some(made) = data.made {
            finding = finding.because(made, data.shape_and_size());
        }
        let (share, card) = (data.share(script), script.target_name());
        out.push(
            finding
                .note(format!("that is {share:.1} % of {card}, before the first batch"))
                .help("keep the data on the CPU, and move each batch to the GPU")
                .replay(data.replay("the dataset")),
            &data.at,
        );
    }
}

/// The data that a script which trains keeps on the GPU, outside of any loop.
pub(super) fn resident_data(script: &Script) -> Vec<TensorOnGpu> {
    if !script.trains() {
        return Vec::new();
    }
    let mut seen = Places::default();
    let mut found: Vec<TensorOnGpu> = Vec::new();
    for (at, placed) in script.observed::<PlacedOnGpu>() {
        if at.loops.is_empty()
            && let Some(data) = resident(script, at, placed)
            && seen.insert(at.place)
        {
            found.push(data);
        }
    }
    // What one script keeps there at the same time fits as a whole, or does not.
    let together: u64 = found.iter().filter(|data| data.at.seeded.is_none()).map(|data| data.bytes).sum();
    for data in &mut found {
        let notable = data.severity > Severity::Note;
        if notable && data.at.seeded.is_none() && together > script.target_bytes() {
            data.severity = Severity::Error;
        }
    }
    found
}

fn resident(script: &Script, at: &At, placed: &PlacedOnGpu) -> Option<TensorOnGpu> {
    let tensor = &placed.tensor;
    let bytes = bytes_of(tensor)?;
    let rows = tensor.shape.as_ref()?.first()?.known()?;
    let few = placed.unasked && (bytes as f64) < script.target_bytes() as f64 * UNNOTICED;
    let severity = if few { Severity::Note } else { script.severity_of_size(bytes, Severity::Note) };
    let is_data = match tensor.source {
        Source::Data => true,
        // A table of zeros is filled later; that it is data only its size says.
        Source::Constant | Source::Unknown => severity > Severity::Note && !is_local_buffer(script, at),
        Source::Output | Source::Loss | Source::Parameter | Source::Mask => false,
    };
    let plain = matches!(tensor.graph, Graph::None) && !tensor.is_leaf;
    let is_data = is_data && !is_of_model(script, at);
    (is_data && plain && rows >= FEW_ROWS).then(|| TensorOnGpu::new(script, at, tensor, bytes, severity))
}

/// Whether the constructor of a model keeps it: each step computes with all of it, as with the queue of a contrast.
fn is_of_model(script: &Script, at: &At) -> bool {
    let draft = script.draft(at.place.file);
    let own = draft.function_around(at.place.span).and_then(|function| draft.function(function).class);
    let heap = &script.rehearsal.heap;
    heap.modules().any(|model| match heap.get(model).class {
        ClassRef::Project(class) => matches!(&heap.get(class).state, State::Class(state)
            if state.file == at.place.file && Some(state.class) == own),
        _ => false,
    })
}
