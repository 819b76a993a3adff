//! Switches that a person sets by hand: `TRAIN = False` at the top of a script, with the training behind a test of it.
//! Whoever trains sets it the other way, so that it decides no more than an option with this default.

use super::Interp;
use crate::report::{FileId, Span};
use crate::syntax::*;
use crate::values::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use ustr::Ustr;

/// By the scope that they are set in.
#[derive(Default)]
struct Switches(FxHashMap<(FileId, Option<FnId>), Rc<FxHashSet<Ustr>>>);

/// A name that is set once in its scope, and to what.
struct Switch {
    name: Ustr,
    is_on: bool,
}

/// What a name is bound to: a literal that a person sets by hand is a value that is given.
pub(super) fn set_by_hand(interp: &mut Interp, name: Ustr, written: ExprId, value: Value) -> Value {
    let tree = interp.here();
    let is_literal = matches!(tree.expr(written).kind, ExprKind::True | ExprKind::False);
    if !is_literal || !interp.switches_here().contains(&name) {
        return value;
    }
    let origin = Origin { place: interp.expr_place(written), name: Rc::from(name.as_str()), given: true };
    Value::Given(Rc::new(Given { value, origin: Rc::new(origin) }))
}

impl Interp<'_> {
    fn switches_here(&mut self) -> Rc<FxHashSet<Ustr>> {
        let Some(key) = self.frames.last().map(|frame| (frame.file, frame.function)) else {
            return Rc::default();
        };
        let known = self.remember(|switches: &mut Switches| switches.0.get(&key).cloned());
        known.unwrap_or_else(|| {
            let found = Rc::new(self.switches_in(key.0, key.1));
            self.remember(|switches: &mut Switches| switches.0.insert(key, Rc::clone(&found)));
            found
        })
    }

    /// The switches of a scope behind which something trains that is never run as they are.
    fn switches_in(&mut self, file: FileId, function: Option<FnId>) -> FxHashSet<Ustr> {
        let tree = self.tree(file);
        let scope = function.map(|function| tree.function(function).span);
        let is_within = |span: Span| scope.is_none_or(|scope| scope.contains(span));
        let mut hidden: Vec<(Ustr, Vec<&[StmtId]>)> = Vec::new();
        for switch in set_once(tree, &is_within) {
            let tests = tree.stmts.iter().filter(|stmt| is_within(stmt.span));
            let blocks: Vec<&[StmtId]> =
                tests.flat_map(|stmt| hidden_by(tree, &switch, &stmt.kind)).collect();
            if !blocks.is_empty() {
                hidden.push((switch.name, blocks));
            }
        }
        if hidden.is_empty() {
            return FxHashSet::default();
        }
        let named = names_within(tree, &hidden);
        let words = self.words_of_training(file, &named);
        let trains = |blocks: &Vec<&[StmtId]>| {
            let spans: Vec<Span> =
                blocks.iter().copied().flatten().map(|stmt| tree.stmt(*stmt).span).collect();
            tree.exprs.iter().any(|expr| match expr.kind {
                ExprKind::Name(name) | ExprKind::Attribute { name, .. } => {
                    words.contains(&name) && spans.iter().any(|span| span.contains(expr.span))
                }
                _ => false,
            })
        };
        hidden.iter().filter(|(_, blocks)| trains(blocks)).map(|(name, _)| *name).collect()
    }

    /// What goes back by its name, and what leads to it in a file, in those that were read so far, and among the functions
    /// that the file imports by one of these names.
    fn words_of_training(&mut self, file: FileId, named: &FxHashSet<Ustr>) -> FxHashSet<Ustr> {
        let walks = self.apis.protocol_words().iter().copied().filter(|word| self.apis.walks_back(*word));
        let walks: Vec<Ustr> = walks.collect();
        let mut words: FxHashSet<Ustr> = walks.iter().copied().collect();
        let imported = self.imported_functions(file, |name| named.contains(&name));
        words.extend(imported.into_iter().filter(|(_, key)| self.goes_back(*key)).map(|(name, _)| name));
        let known: Vec<FileId> = self.read_files().chain([file]).collect();
        for file in known {
            let functions = &self.tree(file).functions;
            let mut leads = vec![false; functions.len()];
            self.mark_callers(file, &mut leads, walks.clone());
            let leading = functions
                .iter()
                .zip(leads)
                .filter(|(function, leads)| *leads && !function.name.starts_with("__"));
            words.extend(leading.map(|(function, _)| function.name));
        }
        words
    }
}

/// All that is named in these blocks.
fn names_within(tree: &Tree, hidden: &[(Ustr, Vec<&[StmtId]>)]) -> FxHashSet<Ustr> {
    let blocks = hidden.iter().flat_map(|(_, blocks)| blocks.iter().copied().flatten());
    let spans: Vec<Span> = blocks.map(|stmt| tree.stmt(*stmt).span).collect();
    let inside = tree.exprs.iter().filter(|expr| spans.iter().any(|span| span.contains(expr.span)));
    inside
        .filter_map(|expr| match expr.kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        })
        .collect()
}

/// Names that a scope binds once, to a literal.
fn set_once(tree: &Tree, is_within: &dyn Fn(Span) -> bool) -> Vec<Switch> {
    let mut times: FxHashMap<Ustr, usize> = FxHashMap::default();
    let mut literal: Vec<Switch> = Vec::new();
    for stmt in tree.stmts.iter().filter(|stmt| is_within(stmt.span)) {
        tree.each_target(&stmt.kind, &mut |target| {
            if let ExprKind::Name(name) = tree.expr(target).kind {
                *times.entry(name).or_default() += 1;
            }
        });
        let StmtKind::Assign { targets, value } = &stmt.kind else { continue };
        let is_on = match tree.expr(*value).kind {
            ExprKind::True => true,
            ExprKind::False => false,
            _ => continue,
        };
        if let [target] = &**targets
            && let ExprKind::Name(name) = tree.expr(*target).kind
        {
            literal.push(Switch { name, is_on });
        }
    }
    literal.retain(|switch| times.get(&switch.name) == Some(&1));
    literal
}

/// The arms of an `if` that a switch keeps from running.
fn hidden_by<'t>(tree: &'t Tree, switch: &Switch, stmt: &'t StmtKind) -> Vec<&'t [StmtId]> {
    let StmtKind::If { arms, otherwise } = stmt else { return Vec::new() };
    for (at, (test, body)) in arms.iter().enumerate() {
        match outcome(tree, switch, *test) {
            Some(false) => return vec![&**body],
            Some(true) => {
                let behind = arms[at + 1..].iter().map(|(_, body)| &**body);
                return behind.chain([&**otherwise]).filter(|body| !body.is_empty()).collect();
            }
            None => {}
        }
    }
    Vec::new()
}

/// How a test comes out, if the switch alone says so.
fn outcome(tree: &Tree, switch: &Switch, test: ExprId) -> Option<bool> {
    match &tree.expr(test).kind {
        ExprKind::Name(name) if *name == switch.name => Some(switch.is_on),
        ExprKind::Unary { op: UnaryOp::Not, operand } => outcome(tree, switch, *operand).map(|holds| !holds),
        ExprKind::Bool { and, items } => {
            let mut outcomes = items.iter().map(|item| outcome(tree, switch, *item));
            outcomes.any(|outcome| outcome == Some(!*and)).then_some(!*and)
        }
        _ => None,
    }
}
