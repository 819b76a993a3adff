//! Sizes that are floats: `/` divides integers into one, even where nothing is left over.

use super::shape_mismatch::RULE;
use crate::apis::{Dim, Need, Slot, Transfer};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Interp, Invocation};
use crate::report::{Confidence, Edit, Fix, Place, Span};
use crate::syntax::{BinaryOp, ExprKind};
use crate::values::Value;
use ustr::Ustr;

pub(super) static CHECKER: Checker =
    Checker { on_arguments: Some(made), on_call: Some(called), ..Checker::SILENT };

/// Before this release `/` of two integers was an integer.
const TRUE_DIVISION: (&str, (u64, u64)) = ("python", (3, 0));

/// A float was given as a size.
struct Fraction {
    to: Ustr,
    /// The argument, where it has a name of its own.
    argument: Option<Ustr>,
    value: Option<f64>,
}

/// `Linear(hidden / 2, 10)`: its weights have sides of these lengths.
fn made(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let Some(class) = &call.api.class else { return };
    let dims = class.parameters.iter().flat_map(|parameter| &parameter.dims);
    let sizes = dims.filter_map(|dim| match dim {
        Dim::Of(name) => Some(*name),
        _ => None,
    });
    let mut floats = sizes.filter_map(|name| Some((name, float_in(&call.get(&name), MOST_NESTED)?)));
    if let Some((name, float)) = floats.next() {
        note(cx, call, Some(name), &float);
    }
}

/// `torch.zeros(n / 2)`, `x.view(-1, n / 2)`
fn called(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let is_count = |need: Need| matches!(need, Need::Count | Need::CountEach);
    let laid_out = call.api.needs.iter().filter(|need| is_count(need.verb)).flat_map(|need| &need.args[1..]);
    let made = call.position(Slot::Size).map(|_| call.operand(Slot::Size));
    let sizes = laid_out.map(|operand| call.value_of(operand)).chain(made);
    // `x.new([0.5, 2])` makes a tensor of these very numbers.
    let depth = if call.api.transfer() == Some(Transfer::NewFactory) { 1 } else { MOST_NESTED };
    if let Some(float) = sizes.into_iter().find_map(|sizes| float_in(&sizes, depth)) {
        note(cx, call, None, &float);
    }
}

/// `zeros((3, n / 2))`: sizes that are given one by one may be a tuple of them.
const MOST_NESTED: usize = 2;

fn float_in(sizes: &Value, depth: usize) -> Option<Value> {
    match sizes.bare() {
        Value::Float(_) => Some(sizes.bare().clone()),
        Value::Tuple(sizes) if depth > 0 => sizes.iter().find_map(|size| float_in(size, depth - 1)),
        _ => None,
    }
}

fn note(cx: &mut Interp<'_>, call: &Invocation<'_>, argument: Option<Ustr>, value: &Value) {
    if !call.open && !cx.is_provided_for() {
        let value = value.as_num();
        cx.observe(call.place, Fraction { to: call.api.name, argument, value }, Confidence::High);
    }
}

pub(super) fn fractions(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once::<Fraction>() {
        let (release, since) = TRUE_DIVISION;
        if !script.pins.allow_since(release, since) || script.is_python2(at.place) {
            continue;
        }
        let called = seen.to.rsplit('.').next().unwrap_or_default();
        let of = seen.argument.map_or_else(String::new, |name| format!(" as `{name}`"));
        let value = seen.value.map_or_else(String::new, |value| format!(", {value:?}"));
        let fix = whole_division(script, at.place)
            .map(|edits| Fix::safe("divide with `//`, which gives an integer", edits));
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                at,
                format!("`{called}` receives a float{of}{value}: a size is an integer"),
            )
            .note("this raises a TypeError even if the float is a whole number: in Python 3 `/` always gives a float")
            .help("divide with `//`, or convert the size with `int(...)`")
            .fix(fix);
        out.push(finding, at);
    }
}

/// `//` in place of the only division among the arguments.
fn whole_division(script: &Script, place: Place) -> Option<Vec<Edit>> {
    let draft = script.draft(place.file);
    let call = draft.call_at(place.span)?;
    let mut divisions = call.args.iter().filter_map(|arg| match draft.expr(arg.value).kind {
        ExprKind::Binary { op: BinaryOp::Div, left, right } => {
            Some((draft.expr(left).span, draft.expr(right).span))
        }
        _ => None,
    });
    let (left, right) = divisions.next()?;
    if divisions.next().is_some() {
        return None;
    }
    let between = Span::new(left.end, right.start);
    let sign = draft.text(between);
    sign.contains('/').then(|| vec![draft.replace(between, sign.replacen('/', "//", 1))])
}
