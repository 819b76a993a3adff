//! Functions and classes that a function defines: the step that a factory hands to an engine, the class that it returns.
//! Where nothing here calls them they are rehearsed after the function that defined them, with what it bound around them.
//! A decorator of the project defines one, too, and puts it in the place of what it decorates: that is run by it.

use super::{Call, Interp};
use crate::report::{FileId, Place};
use crate::syntax::{ClassId, FnId, Function};
use crate::trace::FnKey;
use crate::values::{Closure, ObjId, Value};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What was defined within functions that ran, as the last of them left it.
#[derive(Default)]
pub(super) struct Nested {
    functions: FxHashMap<FnKey, Rc<Closure>>,
    classes: FxHashMap<(FileId, ClassId), ObjId>,
    /// What decorators have put in the place of functions.
    wrappers: FxHashMap<FnKey, Rc<Closure>>,
}

impl<'p> Interp<'p> {
    pub(super) fn note_nested_function(&mut self, definition: &Function, function: &Value) {
        if let (Some(_), None, Value::Function(closure)) = (definition.parent, definition.class, function) {
            let key = FnKey { file: closure.file, function: closure.function };
            self.loaded.nested.functions.insert(key, closure.clone());
        }
    }

    pub(super) fn note_decorated(&mut self, function: &Value, decorated: &Value) {
        let (Value::Function(function), Value::Function(wrapper)) = (function, decorated) else { return };
        let key = FnKey { file: function.file, function: function.function };
        if (wrapper.file, wrapper.function) != (key.file, key.function) {
            self.loaded.nested.functions.insert(key, function.clone());
            self.loaded.nested.wrappers.insert(key, wrapper.clone());
        }
    }

    /// What a name stands for that a function was defined under: the function, or what its decorator made of it.
    pub(super) fn defined_as(&self, key: FnKey, found: Value) -> Option<Rc<Closure>> {
        match found {
            Value::Function(closure) if (closure.file, closure.function) == (key.file, key.function) => {
                Some(closure)
            }
            Value::Function(_) => self.loaded.nested.functions.get(&key).cloned(),
            _ => None,
        }
    }

    /// A call of a function by whoever it is decorated by.
    pub(super) fn inline_decorated(
        &mut self,
        closure: &Rc<Closure>,
        receiver: Option<&Value>,
        call: &Call,
    ) -> Value {
        let key = FnKey { file: closure.file, function: closure.function };
        let wrapper = self.loaded.nested.wrappers.get(&key).cloned();
        self.inline(wrapper.as_ref().unwrap_or(closure), receiver, call)
    }

    pub(super) fn note_nested_class(&mut self, file: FileId, class: ClassId, object: ObjId) {
        if self.tree(file).class(class).parent.is_some() {
            self.loaded.nested.classes.insert((file, class), object);
        }
    }

    /// What a class of a file is bound to, once its statement has run.
    pub(crate) fn class_object(&self, file: FileId, class: ClassId) -> Option<ObjId> {
        let definition = self.tree(file).class(class);
        if definition.parent.is_some() {
            return self.loaded.nested.classes.get(&(file, class)).copied();
        }
        let env = self.module_names(file)?;
        self.heap.attr(env, definition.name)?.as_obj()
    }

    /// The functions of a file within which one lies that matters, outermost first.
    pub(super) fn enclosing(&self, file: FileId, mattering: &[bool]) -> Vec<bool> {
        let tree = self.tree(file);
        let mut encloses = vec![false; tree.functions.len()];
        for (index, definition) in tree.functions.iter().enumerate() {
            let mut around = definition.parent.filter(|_| mattering[index]);
            while let Some(outer) = around {
                encloses[outer.0 as usize] = true;
                around = tree.function(outer).parent;
            }
        }
        encloses
    }

    /// Those that matter, were defined and that nothing called.
    pub(super) fn uncalled_inside(&mut self, file: FileId, mattering: &[bool]) {
        let tree = self.tree(file);
        for (index, definition) in tree.functions.iter().enumerate() {
            let key = FnKey { file, function: FnId(index as u32) };
            let is_inside = definition.parent.is_some() && definition.name != "<lambda>" && mattering[index];
            let ran = self.out.called.contains(&key) || self.supposed.entered.contains(&key);
            if !is_inside || ran {
                continue;
            }
            if self.is_out_of_fuel() {
                self.out.out_of_fuel = true;
                return;
            }
            self.budget.exhausted.remove(&key);
            self.on_a_ration(key, |interp| match definition.class {
                Some(_) => interp.seed(key, definition),
                None => interp.seed_nested(key, definition),
            });
        }
    }

    fn seed_nested(&mut self, key: FnKey, definition: &'p Function) {
        let Some(closure) = self.loaded.nested.functions.get(&key).cloned() else { return };
        self.push_frame(closure.env, key.file, definition.parent, None);
        let place = Place::new(key.file, definition.name_span);
        self.run_seeded(key, &closure, None, definition, place);
        self.end_seed();
    }
}
