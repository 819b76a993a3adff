//! Cells of a notebook that is kept as a script: each is a function that an app decorates, takes what it uses as
//! parameters, and returns what it binds. The app runs each once, after those whose names it takes.

use super::{Call, Interp, Passed};
use crate::report::{FileId, Place};
use crate::syntax::*;
use crate::values::{ClassRef, Value};
use rustc_hash::FxHashMap;
use ustr::Ustr;

/// The part that such an app owns, and its method that makes a cell of a function.
const CELLS: &str = "cells";
const CELL: &str = "cell";

/// Runs the cells of a file, whose body has run.
pub(super) fn run(interp: &mut Interp<'_>, file: FileId) {
    interp.run_cells(file);
}

impl<'p> Interp<'p> {
    fn run_cells(&mut self, file: FileId) {
        let tree = self.tree(file);
        let mut waiting: Vec<FnId> = (0..tree.functions.len() as u32).map(FnId).collect();
        waiting.retain(|function| self.is_cell(*function));
        let mut bound: FxHashMap<Ustr, Value> = FxHashMap::default();
        while !self.is_out_of_fuel() {
            let is_ready = |function: &FnId| {
                tree.function(*function).params.iter().all(|param| bound.contains_key(&param.name))
            };
            // Where no cell is left whose names are there, another has failed, and these do not run.
            let Some(next) = waiting.iter().position(is_ready) else { return };
            let cell = waiting.remove(next);
            self.run_cell(file, cell, &mut bound);
        }
    }

    fn is_cell(&mut self, function: FnId) -> bool {
        let tree = self.here();
        let definition = tree.function(function);
        definition.parent.is_none()
            && definition.class.is_none()
            && definition.decorators.iter().any(|decorator| {
                let named = match tree.expr(*decorator).kind {
                    ExprKind::Call { callee, .. } => callee,
                    _ => *decorator,
                };
                match tree.expr(named).kind {
                    ExprKind::Attribute { base, name, .. } if name == CELL => self.runs_cells(base),
                    _ => false,
                }
            })
    }

    fn runs_cells(&mut self, app: ExprId) -> bool {
        let app = self.quietly(|interp| interp.eval(app));
        let class = app.as_obj().map(|object| self.heap.get(object).class);
        matches!(class, Some(ClassRef::Api(name)) if self.apis.owns(name).iter().any(|part| part == CELLS))
    }

    fn run_cell(&mut self, file: FileId, cell: FnId, bound: &mut FxHashMap<Ustr, Value>) {
        let tree = self.tree(file);
        let definition = tree.function(cell);
        let mut call = Call::new(Place::new(file, definition.name_span));
        for param in &definition.params {
            let value = bound.get(&param.name).cloned().unwrap_or_default();
            call.keywords.push((param.name, Passed { value, place: Place::new(file, param.span) }));
        }
        let Value::Function(closure) = self.closure(cell) else { return };
        let result = self.inlined(&closure, None, &call);
        let names = returned_names(tree, definition);
        let values = match &result {
            Value::Tuple(values) if values.len() == names.len() => values.to_vec(),
            _ => vec![Value::Unknown; names.len()],
        };
        bound.extend(names.into_iter().zip(values));
    }
}

/// What a cell binds for the others: it returns a tuple of their names.
fn returned_names(tree: &Tree, cell: &Function) -> Vec<Ustr> {
    let FunctionBody::Block(body) = &cell.body else { return Vec::new() };
    let Some(last) = body.last() else { return Vec::new() };
    let StmtKind::Return(Some(returned)) = tree.stmt(*last).kind else { return Vec::new() };
    let ExprKind::Tuple(items) = &tree.expr(returned).kind else { return Vec::new() };
    let name = |item: &ExprId| match tree.expr(*item).kind {
        ExprKind::Name(name) => name,
        _ => Ustr::from(""),
    };
    items.iter().map(name).collect()
}
