//! Evaluation that records graphs nobody walks.

use super::evaluations::{evaluation, is_opaque, is_scoring};
use super::stretches::{called_model, evaluating_stretch, is_dropped, only_evaluates};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::{Draft, Line};
use crate::facts::{Findings, Script, doubted_in_tests};
use crate::interp::modules::FORWARDS;
use crate::report::replay::{Demand, Replay};
use crate::report::{Confidence, Edit, Fix, Place, Severity, Span};
use crate::source::counted;
use crate::syntax::{FnId, Function};
use crate::trace::{At, Forward, LoopId, Over, Sight};
use crate::values::{ClassRef, Heap, Mode, State, Value};
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "missing-no-grad",
    summary: "evaluation builds computation graphs that no `backward()` uses",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Memory,
    page: page!("missing-no-grad"),
    check,
};

struct IdleGraph {
    at: At,
    module: Rc<str>,
    /// What the script calls it, where no class says what it is.
    said: Rc<str>,
    /// The model was put into evaluation mode.
    in_evaluation: bool,
    /// Forwards of the same pass that are left alone, too.
    others: Vec<Place>,
    /// Bytes that its layers keep, at least.
    kept: u64,
    /// Where its input was made volatile.
    volatile: Option<Place>,
    /// A backward pass goes through another call of it.
    trains_as_well: bool,
}

/// What a volatile input said before is said by a context since this release.
const NO_MORE_VOLATILE: (u64, u64) = (0, 4);

/// A longer name of a model is not repeated.
const MOST_NAMED: usize = 40;

/// One fix wraps so many forwards at most.
const MOST_WRAPPED: usize = 100;

/// Where gradients are switched off.
struct Unrecorded {
    /// A decorator of the function; else a block around the loop.
    by_decorator: bool,
    said: String,
    edits: Vec<Edit>,
}

fn check(script: &Script, out: &mut Findings) {
    for forward in idle_graphs(script) {
        let mut finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &forward.at,
                "this forward pass builds a computation graph that no `backward()` uses",
            )
            .note(match forward.in_evaluation {
                true => {
                    format!("`{}` is in evaluation mode, but its parameters still require grad", forward.said)
                }
                false => format!(
                    "nothing is learned from this output, but the parameters of `{}` require grad",
                    forward.said
                ),
            })
            .help(advice(script, &forward));
        if let Some(volatile) = forward.volatile {
            let (major, minor) = NO_MORE_VOLATILE;
            let said = format!("`volatile` has had no effect since PyTorch {major}.{minor}");
            finding = finding.because(volatile, said);
        }
        for other in &forward.others {
            if finding.places().any(|known| known == *other) {
                continue;
            }
            finding = finding.because(*other, "so does this forward");
        }
        let idle = (forward.kept > 0).then(|| {
            let what = format!("the unused graph of one forward of `{}`", forward.module);
            Replay::Memory(Demand { wasted: true, ..Demand::of(what, forward.kept) })
        });
        let fix = unrecorded(script, &forward).map(|fix| {
            let title = match fix.by_decorator {
                true => format!("decorate the function with `@{}()`", fix.said),
                false => format!("wrap it in `with {}():`", fix.said),
            };
            Fix::safe(title, fix.edits)
        });
        out.push(finding.fix(fix).replay(idle), &forward.at);
    }
}

/// The class of a model, or of one that nobody sees into the variable as it is written: `model`.
fn said_here(script: &Script, place: Place, forward: &Forward) -> Rc<str> {
    let draft = script.draft(place.file);
    let written = called_model(draft, place).filter(|_| is_opaque(script, forward.module));
    let written = written.filter(|callee| draft.root(*callee).is_some()).map(|callee| draft.written(callee));
    written.filter(|model| model.len() <= MOST_NAMED).map_or_else(|| forward.name.clone(), Rc::from)
}

/// What runs for training as well records there, and not here.
fn advice(script: &Script, forward: &IdleGraph) -> String {
    let draft = script.draft(forward.at.place.file);
    match (forward.trains_as_well, forward.at.loops.is_empty()) {
        (true, _) => {
            let model = called_model(draft, forward.at.place).map(|callee| draft.written(callee));
            let model = model.filter(|model| model.len() <= MOST_NAMED).unwrap_or("model");
            format!("wrap it in `with torch.set_grad_enabled({model}.training):`, for it trains as well")
        }
        (false, true) => "wrap it in `with torch.no_grad():`".to_owned(),
        (false, false) => "wrap the loop in `with torch.no_grad():`".to_owned(),
    }
}

fn idle_graphs(script: &Script) -> Vec<IdleGraph> {
    let mut found: Vec<IdleGraph> = Vec::new();
    let mut seen = FxHashSet::default();
    let trained = trained_places(script);
    for (at, sight) in script.sightings() {
        let Sight::Forward(forward) = sight else { continue };
        let recorded = is_live(&script.rehearsal.heap, &forward.output) || is_lost(script, forward);
        let records = forward.grad == Some(true) && forward.learns && recorded;
        let graph = &forward.graph;
        let walked = script.rehearsal.backpropagated.contains(graph);
        let unused = !walked && !script.rehearsal.returned.contains(graph);
        if !records || !unused {
            continue;
        }
        // What another call of the same function goes back through itself is recorded for that one.
        if trained.contains(&(at.place, forward.mode)) && goes_back_around(script, at) {
            continue;
        }
        // A graph that is recorded once is worth a word where it was the evaluation of what the script trains.
        let matters = || !at.loops.is_empty() || is_scoring(script, at, forward);
        // Without `eval()` it is what becomes of the output that says so.
        let by_use = || evaluation(script, at, forward).filter(|_| !at.loops.is_empty());
        let evaluates = match forward.mode {
            Mode::Eval => Some(Confidence::High),
            _ => by_use(),
        };
        if evaluates.is_none() || !matters() {
            continue;
        }
        let heeded = forward.volatile.is_some() && !script.pins.allow_since("torch", NO_MORE_VOLATILE);
        if heeded || may_walk_in(script, at) || differentiates(script, at) || is_dropped(script, at) {
            continue;
        }
        let (inner, at) = (at.place, &called_by_evaluation(script, at));
        // The layer itself is named beside the call that leads to it.
        let lifted = (inner != at.place).then_some(inner);
        if !seen.insert(at.place) {
            continue;
        }
        // One context around them helps all forwards of a function, or of a loop that evaluates.
        let is_with = |known: &&mut IdleGraph| {
            known.at.calls == at.calls && same_loop(&known.at, at) || same_evaluation(script, &known.at, at)
        };
        let known = counted(found.iter_mut()).find(is_with);
        match known {
            Some(known) => known.others.extend([at.place].into_iter().chain(lifted)),
            None => {
                let (module, kept) = (forward.name.clone(), forward.kept);
                let volatile = forward.volatile.filter(|place| place.file == at.place.file);
                let mut at = doubted_in_tests(at);
                at.confidence = evaluates.map_or(at.confidence, |sure| at.confidence.min(sure));
                // Code that is not seen got hold of the output: a metric, most likely.
                if script.rehearsal.is_used(graph) {
                    at.confidence = at.confidence.min(Confidence::Medium);
                }
                let in_evaluation = forward.mode == Mode::Eval;
                let others = Vec::from_iter(lifted);
                let trains_as_well = trained.iter().any(|(place, _)| *place == inner);
                let said = said_here(script, inner, forward);
                found.push(IdleGraph {
                    at,
                    module,
                    said,
                    in_evaluation,
                    others,
                    kept,
                    volatile,
                    trains_as_well,
                });
            }
        }
    }
    found
}

/// Whether the function that a forward is written in goes back itself.
fn goes_back_around(script: &Script, at: &At) -> bool {
    let draft = script.draft(at.place.file);
    let Some(function) = draft.function_around(at.place.span) else { return false };
    script.passes().any(|(other, sight)| {
        matches!(sight, Sight::Backward { .. })
            && other.place.file == at.place.file
            && draft.function_around(other.place.span) == Some(function)
    })
}

/// Where forwards are called that a backward pass goes through, in one of their calls, and in which mode.
fn trained_places(script: &Script) -> FxHashSet<(Place, Mode)> {
    let walked = &script.rehearsal.backpropagated;
    let trains = |(at, sight): (&At, &Sight)| match sight {
        Sight::Forward(forward) if walked.contains(&forward.graph) => Some((at.place, forward.mode)),
        _ => None,
    };
    script.sightings().filter_map(trains).collect()
}

/// Whether two forwards run in one loop that evaluates, whoever calls them there.
fn same_evaluation(script: &Script, one: &At, other: &At) -> bool {
    let evaluating = |at: &At| at.loops.iter().copied().find(|id| !script.trains_in(*id));
    one.seeded == other.seeded && evaluating(one).is_some_and(|id| evaluating(other) == Some(id))
}

/// Where gradients can be switched off for the evaluation alone: a method that the model's forward pass calls as well
/// runs in training, too, and the place is the call of it. So it is for the layers of a model that evaluates itself.
fn called_by_evaluation(script: &Script, at: &At) -> At {
    let mut at = at.clone();
    while let Some(((site, _), outer)) = at.calls.split_last()
        && (is_part_of_forward(script, at.place) || is_step_of_model(script, &at, *site))
    {
        at = At { place: *site, calls: outer.into(), ..at };
    }
    at
}

/// Whether a forward runs in a method of one model that a method of another, or of the same, calls for a batch.
fn is_step_of_model(script: &Script, at: &At, site: Place) -> bool {
    let of_model = |place: Place| {
        let tree = &script.project.module(place.file).tree;
        let own = script.draft(place.file).function_around(place.span)?;
        let class = tree.function(own).class?;
        let is_forward =
            |function: &Function| function.class == Some(class) && FORWARDS.contains(&function.name.as_str());
        tree.functions.iter().any(is_forward).then_some(tree.function(own).span)
    };
    let Some(method) = of_model(at.place) else { return false };
    // What goes through batches evaluates by itself; what goes through layers, or counts steps, is one of its parts.
    let over_batches = |id: &LoopId| {
        let info = script.rehearsal.loop_info(*id);
        let here = info.place.file == at.place.file && method.contains(info.place.span);
        here && match info.over {
            Over::Loader(_) => true,
            Over::Other => !runs_what_it_binds(script, at.place, info.place.span),
            Over::Counter => false,
        }
    };
    of_model(site).is_some() && !at.loops.iter().any(over_batches)
}

/// Whether the layer that runs at a place is what the loop goes through: `for layer in self.layers: x = layer(x)`.
fn runs_what_it_binds(script: &Script, forward: Place, around: Span) -> bool {
    let draft = script.draft(forward.file);
    let root = called_model(draft, forward).and_then(|callee| draft.root(callee));
    root.is_some_and(|root| draft.binds(around, root))
}

/// Whether a place lies in a forward, or in a method that a forward of its class calls, by others of its methods, too.
fn is_part_of_forward(script: &Script, place: Place) -> bool {
    let module = script.project.module(place.file);
    let Some(own) = script.draft(place.file).function_around(place.span) else { return false };
    let Some(class) = module.tree.function(own).class else { return false };
    let of_class = |(_, function): &(usize, &Function)| function.class == Some(class);
    let methods: Vec<(usize, &Function)> =
        module.tree.functions.iter().enumerate().filter(of_class).collect();
    let mut called = vec![own.0 as usize];
    let mut at = 0;
    while let Some(name) = called.get(at).map(|index| module.tree.functions[*index].name) {
        let callers = methods
            .iter()
            .map(|(index, _)| *index)
            .filter(|index| module.names.scopes[*index].mentions.contains(name));
        let fresh: Vec<usize> = callers.filter(|index| !called.contains(index)).collect();
        called.extend(fresh);
        at += 1;
    }
    called.iter().any(|index| FORWARDS.contains(&module.tree.functions[*index].name.as_str()))
}

/// Whether the innermost loop around a place holds a backward of something that we do not see.
fn may_walk_in(script: &Script, forward: &At) -> bool {
    let Some(own) = forward.loops.last() else { return false };
    let blind = |sight: &Sight| matches!(sight, Sight::BlindBackward | Sight::BlindWalk);
    script.passes().any(|(at, sight)| blind(sight) && at.loops.contains(own))
}

/// Whether a forward, or the function around it, takes gradients itself: it adapts its weights, and does not run
/// without them.
fn differentiates(script: &Script, forward: &At) -> bool {
    script.passes().any(|(at, sight)| {
        let beside = (&at.calls, at.seeded) == (&forward.calls, forward.seeded);
        if matches!(sight, Sight::Walked { .. }) && beside && is_in_function(script, at.place, forward.place)
        {
            return true;
        }
        let walks = matches!(
            sight,
            Sight::Walked { .. } | Sight::Backward { .. } | Sight::BlindBackward | Sight::BlindWalk
        );
        walks && at.calls.iter().any(|(site, _)| *site == forward.place)
    })
}

/// Whether two places lie in one function.
fn is_in_function(script: &Script, one: Place, other: Place) -> bool {
    let function = |place: Place| script.draft(place.file).function_around(place.span);
    one.file == other.file && function(one).is_some() && function(one) == function(other)
}

/// Whether one of two places lies in all loops of the other.
fn same_loop(a: &At, b: &At) -> bool {
    let shared = a.loops.len().min(b.loops.len());
    a.loops[..shared] == b.loops[..shared]
}

/// Whether a forward records what nobody gets hold of: its output hangs on none of it, as an `argmax` does, or
/// perhaps only. What an object that is not a tensor holds of it, a distribution for one, is not known.
fn is_lost(script: &Script, forward: &Forward) -> bool {
    let parts = &script.rehearsal.parts[forward.parts.start as usize..forward.parts.end as usize];
    let unused =
        !parts.is_empty() && parts.iter().all(|part| part.walks.is_empty() && !part.escaped && !part.told);
    unused && forward.output.as_obj().is_none()
}

/// Whether a forward gives something with a graph, on its own or in a list or a dictionary.
fn is_live(heap: &Heap, value: &Value) -> bool {
    let any = |values: &[Value]| values.iter().any(is_live_itself);
    match value {
        Value::Obj(object) => match &heap.get(*object).state {
            // What a distribution holds of the graph is asked of what it gives.
            State::Plain if matches!(heap.get(*object).class, ClassRef::Api(_)) => false,
            State::List(items) => {
                items.exact.as_ref().map_or_else(|| is_live_itself(&items.any), |all| any(all))
            }
            State::Dict(entries) => {
                entries.known.iter().map(|(_, value)| value).chain(&entries.other).any(is_live_itself)
            }
            // What a model returns as an object of its own: a named tuple, a dataclass.
            State::Plain => heap.get(*object).attrs.iter().any(|(_, value)| is_live_itself(value)),
            _ => false,
        },
        other => is_live_itself(other),
    }
}

fn is_live_itself(value: &Value) -> bool {
    match value {
        Value::Tensor(tensor) => tensor.graph.is_live(),
        Value::Tuple(items) => items.iter().any(is_live_itself),
        _ => false,
    }
}

/// Switches gradients off in the function around an evaluation, if it does nothing else, or around its loop.
fn unrecorded<'a>(script: &Script<'a>, idle: &IdleGraph) -> Option<Unrecorded> {
    let place = idle.at.place;
    let draft = script.draft(place.file);
    if is_part_of_forward(script, place) {
        return None;
    }
    let (said, mut edits) = draft.say(script.apis.repair("no-gradients")?)?;
    if let Some(at) = function_to_decorate(script, place, draft) {
        edits.push(draft.insert(at.start, format!("{}@{said}()\n", at.indent)));
        return Some(Unrecorded { by_decorator: true, said, edits });
    }
    // Each is looked for in all of the file.
    if idle.others.len() > MOST_WRAPPED {
        return None;
    }
    let mut stretches: Vec<Line<'a>> = Vec::new();
    for place in idle.others.iter().chain([&place]).filter(|other| other.file == place.file) {
        let stretch = evaluating_stretch(script, &idle.at, *place, draft)?;
        if !stretches.iter().any(|other| other.stmt == stretch.stmt) {
            stretches.push(stretch);
        }
    }
    let header = format!("with {said}():");
    let runs = runs(draft, stretches);
    let blocks = runs.iter().map(|(first, last)| draft.put_under(&header, *first, *last));
    edits.extend(blocks.collect::<Option<Vec<_>>>()?);
    Some(Unrecorded { by_decorator: false, said, edits })
}

/// Where the `def` begins of a function that evaluates and does nothing else.
fn function_to_decorate<'a>(script: &Script<'a>, place: Place, draft: Draft<'a>) -> Option<DefLine<'a>> {
    let line = def_line(draft, draft.function_around(place.span)?)?;
    (only_evaluates(script, place.file, line.span, draft) && !line.is_special).then_some(line)
}

/// Where a function's `def` stands.
struct DefLine<'a> {
    span: Span,
    /// Where its line begins.
    start: u32,
    indent: &'a str,
    /// A generator or a coroutine.
    is_special: bool,
}

fn def_line<'a>(draft: Draft<'a>, function: FnId) -> Option<DefLine<'a>> {
    let span = draft.function_span(function);
    let (start, indent) = draft.line_start(span.start);
    let function = draft.function(function);
    let is_special = function.is_generator || function.is_async;
    indent.trim().is_empty().then_some(DefLine { span, start, indent, is_special })
}

/// Statements that follow each other, as the first and the last of each run.
fn runs<'a>(draft: Draft<'a>, mut lines: Vec<Line<'a>>) -> Vec<(Line<'a>, Line<'a>)> {
    lines.sort_by_key(|line| line.code.start);
    let mut runs: Vec<(Line<'a>, Line<'a>)> = Vec::new();
    for line in lines {
        let follows = |last: &Line<'a>| {
            let next = draft.beside(last.stmt).and_then(|(block, at)| block.get(at + 1));
            next == Some(&line.stmt)
        };
        match runs.last_mut().filter(|(_, last)| follows(last)) {
            Some((_, last)) => *last = line,
            None => runs.push((line, line)),
        }
    }
    runs
}
