//! Branches on the device: both paths are run, the one that is not taken aside, and what they compute of the
//! same inputs is compared.

use crate::interp::{ArmEnd, Assignment, Branch, Checker, Interp, Return};
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{ExprId, ExprKind, StmtId};
use crate::trace::Exit;
use crate::values::formula::agree;
use crate::values::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker {
    on_device_query: Some(|cx, ()| {
        let now = cx.moment();
        cx.remember(|tests: &mut DeviceTests| tests.asked = now);
    }),
    on_assign: Some(assigned),
    on_branch: Some(enter),
    on_arm_end: Some(arm_ended),
    on_branch_end: Some(leave),
    on_return: Some(returned),
    on_block_exit: Some(rest_for_other_device),
    on_call_end: Some(call_ended),
    ..Checker::SILENT
};

/// Longer paths than this are programs of their own.
const MOST_STATEMENTS: usize = 12;
/// Names of larger frames are not looked through.
const MOST_NAMES: usize = 64;

/// What a name, or the result of the function, is computed of on either path.
pub(super) struct DivergentResult {
    pub name: Option<Ustr>,
    pub one: Formula,
    pub other: Formula,
}

/// What is known of tests of the device so far.
#[derive(Default)]
struct DeviceTests {
    /// The moment at which the script last asked for the device.
    asked: u32,
    /// Names that hold an answer.
    flags: FxHashSet<(FileId, Ustr)>,
    running: Running,
    /// What was returned on one device, until the other returns.
    awaited: Option<Awaited>,
}

/// The paths that run.
#[derive(Default)]
struct Running {
    /// The path that is run aside.
    aside: Option<Path>,
    /// For each `if` around, innermost last, what its arms leave, where it asks for the device.
    branches: Vec<Option<Comparison>>,
}

/// A path that runs, and what it returned so far.
struct Path {
    depth: usize,
    returned: Option<Value>,
}

/// An `if` on the device.
struct Comparison {
    test: Place,
    before: Outcome,
    /// What the arm would leave that is not taken.
    aside: Option<Outcome>,
    path: Path,
    /// What the arms left that ran, and whether they returned.
    arms: Vec<(Outcome, bool)>,
}

/// What one path left: what the frame's tensors are computed of, and what was returned.
#[derive(Default)]
struct Outcome {
    names: Vec<(Ustr, Formula)>,
    returned: Option<Formula>,
}

/// What a function returned on one device, where the rest of it is for the other.
struct Awaited {
    formula: Formula,
    test: Place,
    /// The frame that returned.
    depth: usize,
}

/// `use_cuda = torch.cuda.is_available()`: tests of the name ask for the device, too.
fn assigned(cx: &mut Interp<'_>, assignment: &Assignment) {
    if !matches!(assignment.result.borrow().bare(), Value::Bool(_)) {
        return;
    }
    let file = cx.file();
    if let ExprKind::Name(name) = cx.tree(file).expr(assignment.target).kind {
        cx.remember(|tests: &mut DeviceTests| {
            if tests.asked > assignment.began {
                tests.flags.insert((file, name));
            }
        });
    }
}

/// Whether a test asked for the device when it was evaluated, or names an answer.
fn asks_device(cx: &mut Interp<'_>, test: ExprId, began: u32) -> bool {
    let file = cx.file();
    let tree = cx.tree(file);
    let named = match tree.expr(test).kind {
        ExprKind::Unary { operand, .. } => &tree.expr(operand).kind,
        _ => &tree.expr(test).kind,
    };
    let flag = match named {
        ExprKind::Name(name) => Some((file, *name)),
        _ => None,
    };
    cx.remember(|tests: &mut DeviceTests| {
        tests.asked > began || flag.is_some_and(|flag| tests.flags.contains(&flag))
    })
}

fn enter<'p>(cx: &mut Interp<'p>, branch: &Branch<'p>) {
    let comparison = compared(cx, branch);
    cx.remember(|tests: &mut DeviceTests| tests.running.branches.push(comparison));
}

/// Prepares the comparison of the arms of a branch on the device: the arm that is not taken runs aside.
fn compared<'p>(cx: &mut Interp<'p>, branch: &Branch<'p>) -> Option<Comparison> {
    let [(test, body)] = branch.arms else { return None };
    if !asks_device(cx, *test, branch.began) || !name_inputs(cx) {
        return None;
    }
    let before = outcome(cx, None);
    let other = match branch.taken {
        Some(0) => branch.otherwise,
        Some(_) => body,
        None => &[],
    };
    let aside = if other.is_empty() { None } else { aside(cx, other) };
    let path = Path { depth: cx.frame_depth(), returned: None };
    Some(Comparison { test: cx.expr_place(*test), before, aside, path, arms: Vec::new() })
}

fn arm_ended(cx: &mut Interp<'_>, end: &ArmEnd) {
    let Some(returned) = cx.remember(|tests: &mut DeviceTests| {
        let innermost = tests.running.branches.last_mut()?.as_mut()?;
        Some(innermost.path.returned.take())
    }) else {
        return;
    };
    let arm = (outcome(cx, returned.as_ref()), end.exit == Some(Exit::Return));
    cx.remember(|tests: &mut DeviceTests| {
        if let Some(Some(innermost)) = tests.running.branches.last_mut() {
            innermost.arms.push(arm);
        }
    });
}

fn leave<'p>(cx: &mut Interp<'p>, branch: &Branch<'p>) {
    let Some(comparison) = cx.remember(|tests: &mut DeviceTests| tests.running.branches.pop()?) else {
        return;
    };
    match branch.taken {
        Some(taken) => compare_with_aside(cx, comparison, branch, taken),
        None => compare_arms(cx, comparison, branch),
    }
}

/// The tests decide which arm runs on this machine; the other one ran aside.
fn compare_with_aside(cx: &mut Interp<'_>, comparison: Comparison, branch: &Branch<'_>, taken: usize) {
    let Comparison { test, before, aside, arms, .. } = comparison;
    let Some((here, has_returned)) = arms.into_iter().next() else { return };
    let arm = |index: usize| branch.arms.get(index).map_or(branch.otherwise, |(_, body)| body);
    let (body, other) = (arm(taken), arm(1 - taken.min(1)));
    match aside {
        Some(aside) if body.is_empty() => await_return(cx, test, aside.returned),
        Some(aside) => compare(cx, test, &before, (&here, &aside)),
        None if has_returned && other.is_empty() => await_return(cx, test, here.returned),
        None => {}
    }
}

/// Either arm may run on this machine.
fn compare_arms(cx: &mut Interp<'_>, comparison: Comparison, branch: &Branch<'_>) {
    let Comparison { test, before, arms, .. } = comparison;
    let mut arms = arms.into_iter();
    let (Some((one, has_returned)), Some((other, _))) = (arms.next(), arms.next()) else { return };
    compare(cx, test, &before, (&one, &other));
    if branch.otherwise.is_empty() && has_returned {
        await_return(cx, test, one.returned);
    }
}

/// One path has returned this, and the other goes on.
fn await_return(cx: &mut Interp<'_>, test: Place, returned: Option<Formula>) {
    let depth = cx.frame_depth();
    let awaited = returned.map(|formula| Awaited { formula, test, depth });
    cx.remember(|tests: &mut DeviceTests| tests.awaited = awaited);
}

/// What the running frame returned on one device, where the other is awaited.
fn awaited(cx: &mut Interp<'_>) -> Option<Awaited> {
    let depth = cx.frame_depth();
    cx.remember(|tests: &mut DeviceTests| tests.awaited.take_if(|awaited| awaited.depth == depth))
}

/// What a path that is not taken would leave; nothing of it stays.
fn aside<'p>(cx: &mut Interp<'p>, block: &'p [StmtId]) -> Option<Outcome> {
    if block.len() > MOST_STATEMENTS {
        return None;
    }
    let path = Path { depth: cx.frame_depth(), returned: None };
    let inside = Running { aside: Some(path), branches: Vec::new() };
    let outside = cx.remember(|tests: &mut DeviceTests| std::mem::replace(&mut tests.running, inside));
    let outcome = cx.aside(block, |cx| {
        let returned = cx.remember(|tests: &mut DeviceTests| tests.running.aside.take()?.returned);
        outcome(cx, returned.as_ref())
    });
    cx.remember(|tests: &mut DeviceTests| tests.running = outside);
    outcome
}

/// A function returns: what it returned on the other device is compared, and the paths that run keep it.
fn returned(cx: &mut Interp<'_>, returned: &Return<'_>) {
    if let Some(here) = awaited(cx)
        && let Some(there) = returned.value.as_tensor().and_then(|tensor| cx.formula_of(tensor))
    {
        report(cx, here.test, None, (&here.formula, &there));
    }
    let depth = cx.frame_depth();
    let mut running = cx.remember(|tests: &mut DeviceTests| std::mem::take(&mut tests.running));
    let branches = running.branches.iter_mut().flatten().map(|comparison| &mut comparison.path);
    for path in running.aside.iter_mut().chain(branches).filter(|path| path.depth == depth) {
        path.returned = Some(match path.returned.take() {
            None => returned.value.clone(),
            Some(earlier) => cx.heap.join(&earlier, returned.value),
        });
    }
    cx.remember(|tests: &mut DeviceTests| tests.running = running);
}

/// Behind `if cuda: return …` the rest of the block is what the other device runs.
fn rest_for_other_device<'p>(cx: &mut Interp<'p>, rest: &'p [StmtId]) {
    let Some(here) = awaited(cx) else { return };
    let Some(there) = aside(cx, rest).and_then(|outcome| outcome.returned) else { return };
    report(cx, here.test, None, (&here.formula, &there));
}

/// Whoever comes to be as deep as a frame that is left is another.
fn call_ended(cx: &mut Interp<'_>, (): ()) {
    let depth = cx.frame_depth();
    cx.remember(|tests: &mut DeviceTests| {
        tests.awaited.take_if(|awaited| awaited.depth > depth);
    });
}

/// Gives the tensors of the running frame that are not followed a formula each: what they are here.
fn name_inputs(cx: &mut Interp<'_>) -> bool {
    let Some(env) = cx.locals() else { return false };
    let attrs = &cx.heap.get(env).attrs;
    if attrs.len() > MOST_NAMES {
        return false;
    }
    let found: Vec<(Ustr, Rc<Tensor>)> = attrs
        .iter()
        .filter_map(|(name, value)| match value {
            Value::Tensor(tensor) => Some((*name, tensor.clone())),
            _ => None,
        })
        .collect();
    let mut known: FxHashMap<*const Tensor, Rc<Tensor>> = FxHashMap::default();
    for (name, tensor) in &found {
        if let Some(numbers) = tensor.numbers.clone() {
            name_content(cx, &numbers, *name);
            continue;
        }
        let followed = match known.get(&Rc::as_ptr(tensor)) {
            Some(followed) => followed.clone(),
            None => {
                let numbers = Some(Rc::new(Numbers::of(cx.fresh_input(*name))));
                Rc::new(Tensor { numbers, ..(**tensor).clone() })
            }
        };
        known.insert(Rc::as_ptr(tensor), followed.clone());
        cx.heap.get_mut(env).set_attr(*name, Value::Tensor(followed));
    }
    !found.is_empty()
}

/// What nobody has written into a buffer is an input, too.
fn name_content(cx: &mut Interp<'_>, numbers: &Numbers, name: Ustr) {
    if let Some(buffer) = numbers.buffer
        && numbers.formula.is_none()
        && cx.is_blank(buffer)
    {
        let input = cx.fresh_input(name);
        cx.fill(buffer, input);
    }
}

fn outcome(cx: &Interp<'_>, returned: Option<&Value>) -> Outcome {
    let of = |value: &Value| cx.formula_of(value.as_tensor()?).filter(Formula::is_known);
    let attrs = cx.locals().map_or(&[][..], |env| &cx.heap.get(env).attrs);
    let names = attrs.iter().filter_map(|(name, value)| Some((*name, of(value)?))).collect();
    Outcome { names, returned: returned.and_then(of) }
}

/// Says where two paths leave different functions of the same inputs under one name.
fn compare(cx: &mut Interp<'_>, test: Place, before: &Outcome, (one, other): (&Outcome, &Outcome)) {
    let of = |outcome: &'_ Outcome, name: Ustr| {
        outcome.names.iter().find(|(known, _)| *known == name).map(|(_, formula)| formula.clone())
    };
    for (name, here) in &one.names {
        let Some(there) = of(other, *name) else { continue };
        let was = of(before, *name);
        let changed = |now: &Formula| was.as_ref().is_none_or(|was| !was.same(now));
        if changed(here) && changed(&there) {
            report(cx, test, Some(*name), (here, &there));
        }
    }
    if let (Some(here), Some(there)) = (&one.returned, &other.returned) {
        report(cx, test, None, (here, there));
    }
}

fn report(cx: &mut Interp<'_>, test: Place, name: Option<Ustr>, (one, other): (&Formula, &Formula)) {
    if one.is_number() || other.is_number() || agree(one, other) != Some(false) {
        return;
    }
    cx.observe(test, DivergentResult { name, one: one.clone(), other: other.clone() }, Confidence::High);
}
