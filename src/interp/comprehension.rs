//! Comprehensions and generator expressions: their clauses are loops and branches like any other, and what
//! they gather is a container.

use super::{
    Interp,
    call_path::Hop,
    expr::key_of,
    listing::{doubted, rechosen},
    python,
    stmt::Flow,
};
use crate::syntax::*;
use crate::trace::Over;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// What a comprehension has come to.
#[derive(Default)]
struct Gathered {
    /// Elements, or keys with values.
    result: Vec<(Value, Option<Value>)>,
    /// They are known one by one.
    exact: bool,
    /// The iterator that a generator draws from.
    source: Option<Value>,
    /// Who says from outside how many there are.
    given: Option<Rc<Origin>>,
}

impl<'p> Interp<'p> {
    /// Comprehensions bind their targets in the frame around them, and what the names stood for there comes back:
    /// by Python's rules they are their own.
    pub(super) fn comprehension(&mut self, id: ExprId, comprehension: &'p Comprehension) -> Value {
        let mut gathered = Gathered { exact: true, ..Gathered::default() };
        let before = self.bound_before(comprehension);
        self.clauses(&comprehension.clauses, 0, comprehension, &mut gathered);
        before.into_iter().for_each(|(name, value)| self.set_name(name, value));
        let Gathered { result, exact, source, given } = gathered;
        let place = self.expr_place(id);
        if comprehension.kind == ComprehensionKind::Dict {
            let mut entries = Entries::default();
            for (key, value) in result {
                match key_of(&key) {
                    Some(key) if exact => entries.set(key, value.unwrap_or_default()),
                    _ => self.other_entry(&mut entries, value.unwrap_or_default()),
                }
            }
            if !exact && entries.other.is_none() {
                entries.other = Some(Value::Unknown);
            }
            return self.dict(place, entries);
        }
        let values: Vec<Value> = result.into_iter().map(|(value, _)| value).collect();
        if comprehension.kind == ComprehensionKind::Set && exact {
            return python::set_of(self, place, &Items::exact(values));
        }
        let gathered = if exact {
            let items = Items { len: Num { from: given, ..Num::default() }, ..Items::exact(values) };
            Value::Obj(self.alloc(place, ClassRef::Builtin, State::List(items)))
        } else {
            let any = union_of(&values);
            let any = any.or_else(|| self.heap.any_of(&Items::exact(values))).unwrap_or_default();
            self.list_of(place, any)
        };
        self.comprehended(comprehension, gathered, source, place)
    }

    /// What the names of the targets stand for in the frame around.
    fn bound_before(&self, comprehension: &'p Comprehension) -> Vec<(Ustr, Value)> {
        let (Some(frame), tree) = (self.frames.last(), self.here()) else { return Vec::new() };
        let mut names = Vec::new();
        let mut open: Vec<ExprId> = comprehension.clauses.iter().map(|clause| clause.target).collect();
        while let Some(target) = open.pop() {
            match &tree.expr(target).kind {
                ExprKind::Name(name) => names.push(*name),
                ExprKind::Tuple(targets) | ExprKind::List(targets) => open.extend(targets),
                _ => {}
            }
        }
        let bound = |name: Ustr| Some((name, self.heap.attr(frame.env, name)?.clone()));
        names.into_iter().filter_map(bound).collect()
    }

    fn clauses(
        &mut self,
        clauses: &'p [Clause],
        at: usize,
        whole: &'p Comprehension,
        gathered: &mut Gathered,
    ) {
        /// Longer displays are one value for all.
        const LISTED: usize = 64;
        /// So many rounds of a counter are run one by one.
        const FEW: i64 = 4;
        /// What lies deeper in each other is not followed.
        const DEEPEST: usize = 32;
        if at >= DEEPEST {
            gathered.exact = false;
            return gathered.result.push((Value::Unknown, whole.value.map(|_| Value::Unknown)));
        }
        let Some(clause) = clauses.get(at) else {
            let element = self.eval(whole.element);
            let value = whole.value.map(|value| self.eval(value));
            gathered.result.push((element, value));
            return;
        };
        let iterable = self.eval(clause.iter);
        let place = self.expr_place(clause.iter);
        match whole.kind {
            ComprehensionKind::Generator => {
                gathered.source.get_or_insert_with(|| iterable.clone());
            }
            _ => self.spend(&iterable, place),
        }
        let items = self.iterate(&iterable, place);
        gathered.given = gathered.given.take().or_else(|| items.len.from.clone());
        let rows = match items.exact {
            None => self.told_apart(clause.target, &items.any, &clause.conditions, false),
            Some(_) => None,
        };
        if let Some(rows) = rows {
            gathered.exact = false;
            return self.told_clause(clause, &items.any, rows, &mut |interp| {
                interp.clauses(clauses, at + 1, whole, gathered);
            });
        }
        let values = match items.exact {
            Some(values) if values.len() <= LISTED && gathered.result.len() <= LISTED => values,
            Some(values) => {
                gathered.exact = false;
                self.heap.any_of(&Items::exact(values)).into_iter().collect()
            }
            None => match items.len.int.known() {
                Some(len @ 1..=FEW) if matches!(items.any, Value::Int(_)) => vec![items.any; len as usize],
                _ => {
                    gathered.exact = false;
                    vec![items.any]
                }
            },
        };
        // A dictionary is made of the parts of a batch, not of batches.
        if let ([any], false) = (&values[..], gathered.exact)
            && whole.kind != ComprehensionKind::Dict
            && let Some(over) = self.batches_of(&iterable, any)
        {
            return self.looped_clause(clauses, at, whole, gathered, (over, any.clone()));
        }
        let path = self.sites.path;
        let several = u32::from(!gathered.exact);
        self.symbols.several += several;
        for (index, value) in values.into_iter().enumerate() {
            self.sites.path = path;
            self.enter_path(Hop::Nth(place, index as u32));
            self.clause_of(clauses, at, whole, gathered, value);
        }
        self.symbols.several -= several;
        self.sites.path = path;
    }

    /// One value of a clause, and what follows of it.
    fn clause_of(
        &mut self,
        clauses: &'p [Clause],
        at: usize,
        whole: &'p Comprehension,
        gathered: &mut Gathered,
        value: Value,
    ) {
        let clause = &clauses[at];
        self.assign(clause.target, value);
        let mut keep = true;
        for condition in &clause.conditions {
            let test = self.eval(*condition);
            match self.truth(&test) {
                Some(false) => keep = false,
                Some(true) => {}
                None => gathered.exact = false,
            }
        }
        if keep {
            self.clauses(clauses, at + 1, whole, gathered);
        }
    }

    /// What a clause goes over, where that is data of which nobody knows how much there is.
    fn batches_of(&self, iterable: &Value, any: &Value) -> Option<Over> {
        let over = self.over(iterable, any);
        match over {
            Over::Loader(_) => Some(over),
            // The parts of what is known are no batches.
            Over::Other => iterable.is_unknown().then_some(over),
            Over::Counter => None,
        }
    }

    /// A clause over batches is a loop as any other.
    fn looped_clause(
        &mut self,
        clauses: &'p [Clause],
        at: usize,
        whole: &'p Comprehension,
        gathered: &mut Gathered,
        (over, any): (Over, Value),
    ) {
        let (target, place) = (clauses[at].target, self.expr_place(whole.element));
        let any = match over {
            Over::Loader(loader) => self.parts_of_batch(target, any, loader),
            _ => self.parts_of_unknown(target, any),
        };
        let before = gathered.result.len();
        let mut run = |interp: &mut Interp<'p>| {
            gathered.result.truncate(before);
            let value = interp.this_pass(&any);
            interp.clause_of(clauses, at, whole, gathered, value);
            Flow::Next
        };
        self.run_loop(place, over, true, &mut run);
    }

    /// A clause over parameters whose conditions choose among them.
    fn told_clause(
        &mut self,
        clause: &'p Clause,
        any: &Value,
        rows: Vec<Value>,
        rest: &mut dyn FnMut(&mut Interp<'p>),
    ) {
        let (path, place) = (self.sites.path, self.expr_place(clause.iter));
        let mut chosen = false;
        for (index, row) in rows.into_iter().enumerate() {
            self.sites.path = path;
            self.enter_path(Hop::Nth(place, index as u32));
            self.assign(clause.target, row.clone());
            let tests: Vec<Value> = clause.conditions.iter().map(|test| self.eval(*test)).collect();
            let truths: Vec<Option<bool>> = tests.iter().map(|test| self.truth(test)).collect();
            if truths.contains(&Some(false)) {
                continue;
            }
            if truths.contains(&None) {
                self.assign(clause.target, doubted(&row));
            }
            chosen = true;
            rest(self);
        }
        self.sites.path = path;
        if !chosen {
            self.assign(clause.target, rechosen(any, &|_| Vec::new()));
            rest(self);
        }
    }
}

/// The parameters that a comprehension chose one by one.
fn union_of(values: &[Value]) -> Option<Value> {
    let chosen = |value: &Value| match value {
        Value::Params(params) if params.only.is_some() => Some(params.clone()),
        _ => None,
    };
    let chosen: Vec<Rc<Params>> = values.iter().map(chosen).collect::<Option<_>>()?;
    let (first, rest) = chosen.split_first()?;
    let all = rest.iter().fold((**first).clone(), |all, params| all.union(params));
    Some(Value::Params(Rc::new(all)))
}
