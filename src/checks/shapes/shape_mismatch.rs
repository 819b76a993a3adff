//! Shapes that an operation does not take.

use super::faults::Fault;
use super::fractions::fractions;
use super::misfits::{Misfit, Subject};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::names::{guards, subject_of};
use crate::report::{Diagnostic, FileId, Fix, Place, Severity, Span, units};
use crate::syntax::{Expr, ExprId, ExprKind, StmtKind, Tree};
use crate::trace::At;
use crate::values::{Int, Shape, Tensor};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

pub(super) static RULE: Rule = Rule {
    id: "shape-mismatch",
    summary: "an operation receives a tensor of an incompatible shape",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("shape-mismatch"),
    check,
};

/// Before this release a sum over everything had one dimension, as had all other tensors of one number.
const SCALARS: (&str, (u64, u64)) = ("torch", (0, 4));

/// Before this release a reduction along an axis kept it.
const REDUCED: (&str, (u64, u64)) = ("torch", (0, 2));

/// Before this release as many channels were normalized as there were numbers for.
const PER_CHANNEL: (&str, (u64, u64)) = ("torchvision", (0, 3));

/// Since this release what is computed of a transposed tensor lies in memory as that does.
const COPIES: (&str, (u64, u64)) = ("torch", (1, 7));

fn check(script: &Script, out: &mut Findings) {
    fractions(script, out);
    let mut seen = Places::default();
    let mut guarded = Guarded::default();
    // What was called so says more than what was put together so.
    let (tried, called): (Vec<_>, Vec<_>) =
        script.observed::<Misfit>().partition(|(_, misfit)| misfit.in_trial);
    for (at, misfit) in called.into_iter().chain(tried) {
        let asked = || misfit.undecided && is_asked_about(script, at.place);
        let without_scalars = || is_of_scalar(misfit) && !script.pins.allow_since(SCALARS.0, SCALARS.1);
        // Older releases laid a comparison out as it is counted.
        let laid_out = || {
            matches!(&misfit.fault, Fault::Scattered(turned) if turned.is_copy)
                && !script.pins.allow_since(COPIES.0, COPIES.1)
        };
        let kept = || {
            matches!(misfit.fault, Fault::Reduced(_))
                && !misfit.input.is_array
                && !script.pins.allow_since(REDUCED.0, REDUCED.1)
        };
        let by_pairs = || {
            matches!(misfit.fault, Fault::PerChannel { .. })
                && !script.pins.allow_since(PER_CHANNEL.0, PER_CHANNEL.1)
        };
        if misfit.excused.get()
            || by_pairs()
            || kept()
            || laid_out()
            || without_scalars()
            || misfit.in_trial && !is_called(script, misfit)
            || guarded.holds(script, at.place)
            || asked()
            || !seen.insert(at.place)
        {
            continue;
        }
        let words = Words { script, misfit, place: at.place };
        let mut finding = script.finding(RULE.id, RULE.severity, at, words.message());
        finding = words.origins(finding, at);
        if let Some(note) = words.note() {
            finding = finding.note(note);
        }
        let fix = words.fix();
        out.push(finding.fix(fix).note(words.outcome()).help(words.help()), at);
    }
}

/// Whether the stack that a layer was put into is called as a whole by what it is called: who goes through it, or takes
/// layers out of it, may do something in between.
fn is_called(script: &Script, misfit: &Misfit) -> bool {
    let Some(stack) = misfit.stack.get() else { return false };
    let module = script.project.module(stack.file);
    let (tree, function) = (&module.tree, script.draft(stack.file).function_around(stack.span));
    let is_called = |target: &ExprId| {
        let subject = subject_of(tree, &module.names, *target, function);
        subject.is_some_and(|subject| module.relations().calls_of(subject).next().is_some())
    };
    tree.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Assign { targets, value } if tree.expr(*value).span == stack.span => {
            targets.iter().any(is_called)
        }
        _ => false,
    })
}

/// Whether a misfit is that something has no dimensions.
fn is_of_scalar(misfit: &Misfit) -> bool {
    match misfit.fault {
        Fault::Indices { rank, .. } | Fault::Axis { rank, .. } | Fault::Axes { rank, .. } => rank == 0,
        Fault::Rank { gets, .. } => gets == 0,
        _ => false,
    }
}

/// What checks of versions, or of what there is, decide about, by file.
#[derive(Default)]
struct Guarded(FxHashMap<FileId, Vec<Span>>);

impl Guarded {
    /// Whether one decides whether a place runs.
    fn holds(&mut self, script: &Script, place: Place) -> bool {
        let spans =
            self.0.entry(place.file).or_insert_with(|| guards(&script.project.module(place.file).tree));
        // They are apart from each other: it is the last that begins before.
        let next = spans.partition_point(|guard| guard.start <= place.span.start);
        spans[..next].last().is_some_and(|guard| guard.contains(place.span))
    }
}

/// A misfit in words.
struct Words<'s, 'a> {
    script: &'s Script<'a>,
    misfit: &'s Misfit,
    place: Place,
}

impl Words<'_, '_> {
    fn size(&self, size: &Int) -> String {
        let name = |symbol: crate::values::Symbol| {
            let names = &self.script.rehearsal.symbols;
            names.get(symbol.0 as usize).map_or_else(|| "?".to_owned(), ToString::to_string)
        };
        size.written(name).unwrap_or_else(|| "?".to_owned())
    }

    fn sizes(&self, sizes: &[Int]) -> String {
        format!("[{}]", sizes.iter().map(|size| self.size(size)).collect::<Vec<_>>().join(", "))
    }

    fn shape(&self, shape: Option<&Shape>) -> String {
        shape.map_or_else(|| "[…]".to_owned(), |shape| self.sizes(shape))
    }

    fn subject(&self) -> String {
        match &self.misfit.what {
            Subject::Layer { written, .. } => format!("`{written}`"),
            Subject::Function(name) => {
                format!("`{}`", name.as_str().rsplit('.').next().unwrap_or_default())
            }
            Subject::Operator(sign) if sign.len() > 2 => (*sign).to_owned(),
            Subject::Operator(sign) => format!("`{sign}`"),
            Subject::Index => "this index".to_owned(),
        }
    }

    fn message(&self) -> String {
        let what = self.subject();
        let input = self.shape(self.misfit.input.shape.as_ref());
        match &self.misfit.fault {
            Fault::Several => {
                format!(
                    "{what} expects one element per tensor in a list, but receives a tensor of shape {input}"
                )
            }
            Fault::Size { gets, wants, unit } => {
                format!("{what} receives {} {unit}, but expects {}", self.size(gets), self.size(wants))
            }
            Fault::Rank { gets, wants } => {
                let wants: Vec<String> = wants.iter().map(|rank| format!("{rank}-D")).collect();
                format!("{what} receives a {gets}-D tensor, {input}, but expects {}", wants.join(" or "))
            }
            Fault::Trailing { wants } => {
                format!("{what} receives {input}, but expects the last dimensions {}", self.sizes(wants))
            }
            Fault::Product { left, right, .. } => {
                format!("{what}: shapes {} and {} cannot be multiplied", self.sizes(left), self.sizes(right))
            }
            Fault::Count { wanted } => {
                format!("{what}: shape {} is invalid for input of shape {input}", self.sizes(wanted))
            }
            Fault::Scattered(_) => {
                format!(
                    "{what} merges dimensions that are not contiguous in memory after they were transposed"
                )
            }
            Fault::Rows { sample, row } => {
                let (sample, row) = (units::count(*sample), units::count(*row));
                format!("{what} splits samples of {sample} elements into rows of {row}")
            }
            Fault::Broadcast { left, right, .. } => {
                format!("{what}: shapes {} and {} cannot be broadcast", self.sizes(left), self.sizes(right))
            }
            Fault::PerChannel { numbers, channels } => {
                let unit = if *channels == 1 { "channel" } else { "channels" };
                format!("{what} has {numbers} means or standard deviations for images of {channels} {unit}")
            }
            Fault::Reduced(lost) => {
                let axis = lost.axis;
                format!(
                    "{what} aligns a reduction over dimension {axis} with another dimension of its operand"
                )
            }
            Fault::Join { left, right, .. } => {
                format!("{what}: shapes {} and {} do not match", self.sizes(left), self.sizes(right))
            }
            Fault::Scalar => format!("{what}: a tensor without dimensions cannot be concatenated"),
            Fault::Axis { axis, rank } => {
                format!("{what}: dimension {axis} is out of range for a {rank}-D tensor, {input}")
            }
            Fault::Axes { gets, rank } => {
                format!("{what} lists {gets} dimensions of a {rank}-D tensor, {input}")
            }
            Fault::Multiple { number, of } => {
                format!("{what}: {number} is not divisible by {of}")
            }
            Fault::Window { window, room } => {
                format!(
                    "the kernel of {what} has size {}, but its input only {}",
                    self.size(window),
                    self.size(room)
                )
            }
            Fault::Indices { indices, rank } => {
                let kind = if self.misfit.input.is_array { "array" } else { "tensor" };
                format!("too many indices: {indices} for a {rank}-D {kind}, {input}")
            }
            Fault::Bounds { index, size, .. } => {
                format!("index {index} is out of bounds for a dimension of size {size}")
            }
            Fault::State { gets, wants } => {
                format!(
                    "{what} receives an initial state of shape {}, but expects {}",
                    self.sizes(gets),
                    self.sizes(wants)
                )
            }
            Fault::Classes { target, .. } | Fault::Pairs { target } => {
                format!(
                    "this loss receives predictions of shape {input} and targets of shape {}",
                    self.sizes(target)
                )
            }
        }
    }

    /// What comes of it: of sizes that a caller chooses, one may be right.
    fn outcome(&self) -> String {
        match &self.misfit.fault {
            Fault::Size { gets, wants, .. } if gets.known().is_some() && !gets.surely_differs(wants) => {
                "with the default sizes, this raises an error".to_owned()
            }
            Fault::Size { gets, wants, .. } if !gets.surely_differs(wants) => {
                format!("this raises an error unless {} equals {}", self.size(gets), self.size(wants))
            }
            Fault::Reduced(_) => {
                "this raises an error, or broadcasts where the sizes happen to be equal".to_owned()
            }
            _ => "this raises an error".to_owned(),
        }
    }

    /// The error that the framework raises, as far as the sizes are known.
    fn note(&self) -> Option<String> {
        match &self.misfit.fault {
            Fault::Size { gets, wants, unit } => Some(format!(
                "its weights have {} {unit}, its input has {}",
                self.size(wants),
                self.size(gets)
            )),
            Fault::Product { gets, wants, .. } => Some(format!(
                "the inner dimensions, {} and {}, must be equal",
                self.size(gets),
                self.size(wants)
            )),
            Fault::Broadcast { gets, wants, .. } => {
                Some(format!("sizes {} and {} differ, and neither is 1", self.size(gets), self.size(wants)))
            }
            Fault::Scattered(_) => Some(
                "PyTorch raises `RuntimeError: view size is not compatible with input tensor's size and stride`"
                    .to_owned(),
            ),
            Fault::Reduced(_) => Some(
                "the reduced dimension is gone, so that the result for a row is applied to a column".to_owned(),
            ),
            Fault::Several => Some(
                "PyTorch raises `ValueError: only one element tensors can be converted to Python scalars`"
                    .to_owned(),
            ),
            Fault::Rows { sample, row } => Some(format!(
                "if {sample}·batch is divisible by {row}, rows mix values of several samples; otherwise this raises an error"
            )),
            _ => None,
        }
    }

    fn help(&self) -> String {
        match &self.misfit.fault {
            Fault::Size { unit: "channels", .. } if self.has_channels_last() => {
                "the input is channels-last: move the channels to dimension 1 with `permute(0, 3, 1, 2)`"
                    .to_owned()
            }
            Fault::Size { gets, .. } => match self.misfit.argument {
                Some(argument) => {
                    format!("set `{argument}` to {}, or change the layer before it", self.size(gets))
                }
                None => "make both sizes equal".to_owned(),
            },
            Fault::Scattered(_) => "use `reshape`, or call `contiguous()` first".to_owned(),
            Fault::Several => "join the tensors with `stack` or `cat` instead".to_owned(),
            Fault::Rank { .. } => {
                "add or remove a dimension with `unsqueeze`, `squeeze` or `flatten`".to_owned()
            }
            Fault::Trailing { .. } => {
                "set the normalized shape to the last dimensions of the input".to_owned()
            }
            Fault::Product { .. } => "transpose one operand, or change its size".to_owned(),
            Fault::Count { .. } => "use a shape with the same number of elements".to_owned(),
            Fault::Rows { sample, .. } => {
                format!(
                    "keep the batch dimension, `flatten(1)`, and set the next layer's input size to {sample}"
                )
            }
            Fault::Broadcast { .. } => "make the sizes equal, or one of them 1".to_owned(),
            Fault::PerChannel { channels: 1, .. } => {
                "pass one value, `(0.5,)`, or convert the images with `Grayscale(3)` first".to_owned()
            }
            Fault::PerChannel { .. } => "pass one value per channel".to_owned(),
            Fault::Reduced(_) => {
                let keeps = if self.misfit.input.is_array { "keepdims" } else { "keepdim" };
                format!("keep the reduced dimension: `{keeps}=True`")
            }
            Fault::Join { axis: Some(_), .. } => {
                "all dimensions but the concatenated one must have equal sizes".to_owned()
            }
            Fault::Join { .. } => "all tensors must have the same shape".to_owned(),
            Fault::Scalar => "use `stack`, which adds a dimension".to_owned(),
            Fault::Axis { rank, .. } => format!("dimensions range from 0 to {}", rank.saturating_sub(1)),
            Fault::Axes { .. } => "list every dimension exactly once".to_owned(),
            Fault::Multiple { of, .. } => format!("use a multiple of {of}"),
            Fault::Window { .. } => {
                "use a smaller kernel, more padding, or fewer downsampling layers".to_owned()
            }
            Fault::Indices { rank: 0, .. } => "read its value with `.item()`".to_owned(),
            Fault::Indices { rank, .. } => format!("use at most {rank}"),
            Fault::Bounds { size, .. } => format!("the last index is {}", size - 1),
            Fault::Classes { wants, indices: true, .. } => {
                format!("class indices must have shape {}", self.sizes(wants))
            }
            Fault::Classes { wants, .. } => format!(
                "pass class indices of shape {}, or class probabilities of the predictions' shape",
                self.sizes(wants)
            ),
            Fault::State { wants, .. } => format!("create the state with shape {}", self.sizes(wants)),
            Fault::Pairs { .. } => "make both shapes equal".to_owned(),
        }
    }

    /// The size that a layer wants of the channels is the last one, as in images of most libraries.
    fn has_channels_last(&self) -> bool {
        let (Fault::Size { wants, .. }, Some(shape)) = (&self.misfit.fault, &self.misfit.input.shape) else {
            return false;
        };
        shape.len() == 4 && shape.last() == Some(wants)
    }

    /// Where what arrived comes from, and where the layer was made.
    fn origins(&self, mut finding: Diagnostic, at: &At) -> Diagnostic {
        for tensor in self.misfit.tensors() {
            if let Some(made) = tensor.made.filter(|made| *made != at.place) {
                let said = match tensor.rank() {
                    Some(0) => "it".to_owned(),
                    _ => self.written(tensor),
                };
                finding = finding.because(made, format!("{said} is computed here"));
            }
        }
        if let Fault::Scattered(turned) = &self.misfit.fault {
            finding = finding.because(turned.at, "the dimensions are reordered here");
        }
        if let Fault::Reduced(lost) = &self.misfit.fault {
            finding = finding.because(lost.at, "the dimension is reduced here");
        }
        if let Some(called) = self.misfit.stack.get().filter(|_| !self.misfit.in_trial) {
            finding = finding.because(called, "it is called here");
        }
        match &self.misfit.what {
            Subject::Layer { written, made } if *made != at.place => {
                finding.because(*made, format!("`{written}` is created here"))
            }
            _ => finding,
        }
    }

    fn written(&self, tensor: &Tensor) -> String {
        match (&tensor.shape, &tensor.last) {
            (None, Some(last)) => {
                let mut text = String::from("[…, ");
                let _ = write!(text, "{}]", self.size(last));
                text
            }
            (shape, _) => self.shape(shape.as_ref()),
        }
    }

    /// `reshape` in the place of `view`: it copies where it has to.
    fn reshaped(&self) -> Option<Fix> {
        let draft = self.script.draft(self.place.file);
        let call = draft.call_at(self.place.span)?;
        let (receiver, _) = draft.receiver(call)?;
        let (receiver, whole) = (draft.expr(receiver).span, self.place.span);
        let behind = Span::new(receiver.end, whole.end);
        let method = draft.text(behind).find("view")? as u32 + behind.start;
        let name = Span::new(method, method + "view".len() as u32);
        Some(Fix::safe("use `reshape`", vec![draft.replace(name, "reshape")]))
    }

    /// The number of the constructor, where that is written out.
    fn fix(&self) -> Option<Fix> {
        if let Fault::Scattered(_) = self.misfit.fault {
            return self.reshaped();
        }
        let (Fault::Size { gets: Int::Known(gets), wants: Int::Known(wants), .. }, Some(argument)) =
            (&self.misfit.fault, self.misfit.argument)
        else {
            return None;
        };
        let Subject::Layer { made, .. } = &self.misfit.what else { return None };
        if self.has_channels_last() {
            return None;
        }
        let draft = self.script.draft(made.file);
        let call = draft.call_at(made.span)?;
        let passed = draft.keyword(call, &argument).or_else(|| draft.positional(call, 0))?;
        let number = draft.expr(passed.value);
        let text = draft.text(number.span);
        let product =
            text.split('*').map(|factor| factor.trim().parse::<i64>().ok()).product::<Option<i64>>();
        let written = product == Some(*wants);
        let title = format!("set `{argument}` to {gets}");
        let edits = vec![draft.replace(number.span, gets.to_string())];
        written.then(|| Fix::guess(title, edits))
    }
}

/// Whether a test around, which nobody knows the outcome of, asks about what the operation is given.
fn is_asked_about(script: &Script, place: Place) -> bool {
    let tree = &script.project.module(place.file).tree;
    let inside = names_in(tree, place.span);
    let asks = |test: ExprId| names_in(tree, tree.expr(test).span).iter().any(|name| inside.contains(name));
    let of_statement =
        tree.stmts.iter().filter(|stmt| stmt.span.contains(place.span)).any(|stmt| match &stmt.kind {
            StmtKind::If { arms, .. } => {
                let tests = arms.iter().map(|(test, _)| *test);
                !arms.iter().any(|(test, _)| tree.expr(*test).span.contains(place.span))
                    && tests.into_iter().any(asks)
            }
            _ => false,
        });
    of_statement
        || tree.exprs.iter().filter(|expr| expr.span.contains(place.span)).any(|expr| match &expr.kind {
            ExprKind::Conditional { test, .. } => !tree.expr(*test).span.contains(place.span) && asks(*test),
            ExprKind::Bool { items, .. } => items.first().is_some_and(|first| asks(*first)),
            _ => false,
        })
}

/// Names, and attributes of `self`, that are read in a part of a text.
fn names_in(tree: &Tree, span: Span) -> Vec<String> {
    let inside = tree.exprs.iter().filter(|expr| span.contains(expr.span));
    let name = |expr: &Expr| match &expr.kind {
        ExprKind::Name(name) if name != "self" => Some(name.to_string()),
        ExprKind::Attribute { base, name, .. } => match tree.expr(*base).kind {
            ExprKind::Name(base) if base == "self" => Some(format!("self.{name}")),
            _ => None,
        },
        _ => None,
    };
    inside.filter_map(name).collect()
}
