//! The arguments of a call, as they are written: by position, by name, and `*items` and `**entries` spread out.

use super::{Call, Interp, Passed};
use crate::report::Place;
use crate::syntax::*;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// More keywords than this are not told apart.
const MOST_KEYWORDS: usize = 1024;

impl<'p> Interp<'p> {
    pub(super) fn arguments(&mut self, place: Place, args: &'p [Arg]) -> Call {
        let mut call = Call::new(place);
        for arg in args {
            let value = self.eval(arg.value);
            let at = self.expr_place(arg.value);
            let passed = Passed { value, place: at };
            match arg.kind {
                ArgKind::Positional if call.each.is_some() => call.behind.push(passed),
                ArgKind::Positional => call.positional.push(passed),
                ArgKind::Keyword(name) => call.keywords.push((name, passed)),
                ArgKind::Star => self.spread_items(&passed, &mut call),
                ArgKind::DoubleStar => self.spread(&passed, &mut call),
            }
        }
        if call.keywords.len() > MOST_KEYWORDS {
            call.keywords.truncate(MOST_KEYWORDS);
            call.open = true;
        }
        call
    }

    fn spread_items(&mut self, passed: &Passed, call: &mut Call) {
        let items = self.iterate(&passed.value, passed.place);
        let layers = || super::stacked::layers_of_list(self, &passed.value);
        match items.exact.or_else(layers) {
            Some(values) => {
                let passed = |value| Passed { value, place: passed.place };
                let given = if call.each.is_some() { &mut call.behind } else { &mut call.positional };
                given.extend(values.into_iter().map(passed));
            }
            None => {
                call.open = true;
                call.each = Some(Rc::new(Items { exact: None, ..items }));
            }
        }
    }

    fn spread(&mut self, passed: &Passed, call: &mut Call) {
        let entries = passed.value.as_obj().and_then(|object| match &self.heap.get(object).state {
            State::Dict(entries) => Some(entries.clone()),
            _ => None,
        });
        let Some(entries) = entries else {
            call.open = true;
            return;
        };
        if let Some(other) = entries.other {
            call.open = true;
            call.each = Some(Rc::new(Items::any(other)));
        }
        for (key, value) in entries.known {
            if let Key::Str(name) = key {
                call.keywords.push((Ustr::from(&name), Passed { value, place: passed.place }));
            }
        }
    }
}
