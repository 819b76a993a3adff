//! Objects in words: what a module holds and does, what an optimizer owns, what a loader gives. An object is
//! called by the name under which it is kept, else by its class.

use super::words::{Words, device_name, last_part, listed};
use crate::values::*;
use std::fmt::Write;

/// So many objects are called by name.
const MOST_NAMES: usize = 3;

impl Words<'_> {
    pub(super) fn object(&self, id: ObjId, depth: usize) -> String {
        let object = self.heap.get(id);
        match &object.state {
            State::Plain => self.instance(object, depth),
            State::Frame => "frame".to_owned(),
            State::Class(state) => format!("class {}", self.class_statement(state)),
            State::List(items) => self.list(items, depth),
            State::Dict(entries) => self.entries(entries, depth),
            State::Module(module) => self.module(id, object, module),
            State::Optimizer(optimizer) => self.optimizer(object, optimizer),
            State::Loader(loader) => self.loader(object, loader, depth),
            State::Sampler(sampler) => format!("{}, {}", self.class(object), orders(sampler.orders)),
            State::Scaler => self.class(object),
        }
    }

    fn instance(&self, object: &Object, depth: usize) -> String {
        let class = self.class(object);
        if object.attrs.is_empty() || depth > 0 {
            return class;
        }
        format!("{class} with {}", self.attributes(&object.attrs, depth))
    }

    fn list(&self, items: &Items, depth: usize) -> String {
        match &items.exact {
            Some(exact) => format!("[{}]", self.items(exact, depth)),
            None => {
                let length = match &items.len.int {
                    Int::Unknown => String::new(),
                    known => format!("{} × ", self.int(known)),
                };
                format!("[{length}{}]", self.brief(&items.any, depth))
            }
        }
    }

    fn module(&self, id: ObjId, object: &Object, module: &ModuleState) -> String {
        let mut text = self.class(object);
        text.push_str(match module.mode {
            Mode::Train => ", train",
            Mode::Eval => ", eval",
            Mode::Unknown => ", mode ?",
        });
        if module.device != Device::Unknown {
            let _ = write!(text, ", {}", device_name(module.device));
        }
        if let Some(dtype) = module.dtype {
            let _ = write!(text, ", {}", dtype.name());
        }
        let _ = write!(text, ", {}", self.weights(id));
        if module.managed {
            text.push_str(", managed");
        }
        text
    }

    /// How many parameters a module and all in it have, and whether they learn.
    fn weights(&self, id: ObjId) -> String {
        let mut count = Int::Known(0);
        let mut frozen: Vec<Option<bool>> = Vec::new();
        for part in self.heap.descendants(id).iter() {
            let object = self.heap.get(part);
            let Some(module) = object.module() else { continue };
            let own = own_parameters(object, module);
            if own != Int::Known(0) {
                frozen.push(module.frozen);
            }
            count = count.add(&own);
        }
        let what = match count {
            Int::Known(0) => return "no parameters".to_owned(),
            Int::Unknown => "parameters".to_owned(),
            Int::Known(1) => "1 parameter".to_owned(),
            known => format!("{} parameters", self.int(&known)),
        };
        let all = |state: Option<bool>| frozen.iter().all(|one| *one == state);
        match (all(Some(true)), all(Some(false))) {
            (true, _) => format!("{what}, frozen"),
            (_, true) => what,
            _ if frozen.contains(&None) => format!("{what}, perhaps frozen"),
            _ => format!("{what}, some frozen"),
        }
    }

    fn optimizer(&self, object: &Object, optimizer: &OptimizerState) -> String {
        let class = self.class(object);
        let managed = if optimizer.managed { ", managed" } else { "" };
        let owned = match (optimizer.owns.is_empty(), optimizer.others) {
            (true, true) => "parameters".to_owned(),
            (true, false) => "nothing".to_owned(),
            (false, true) => format!("{} and others", self.all_names(&optimizer.owns)),
            (false, false) => self.all_names(&optimizer.owns),
        };
        format!("{class} over {owned}{managed}")
    }

    fn loader(&self, object: &Object, loader: &LoaderState, depth: usize) -> String {
        let mut text = self.class(object);
        let dataset = match &loader.dataset {
            Value::Unknown => "Unknown".to_owned(),
            known => self.brief(known, depth),
        };
        let _ = write!(text, " over {dataset}, batch size {}", self.brief(&loader.batch_size, depth));
        match loader.sample_order.in_order {
            Some(true) => text.push_str(", in order"),
            Some(false) => text.push_str(", shuffled"),
            None => {}
        }
        if let Some(workers) = loader.sample_order.workers.filter(|workers| workers.any()) {
            let _ = match workers {
                Workers::Known(count) => write!(text, ", {count} workers"),
                Workers::PerProcessor => write!(text, ", a worker per processor"),
            };
        }
        if depth == 0 {
            let _ = write!(text, ", gives {}", self.nested(&loader.batch, depth + 1));
        }
        text
    }

    /// The name of its class, without the packages around it.
    pub(super) fn class(&self, object: &Object) -> String {
        match object.class {
            ClassRef::Project(class) => match &self.heap.get(class).state {
                State::Class(state) => self.class_statement(state),
                _ => "instance".to_owned(),
            },
            ClassRef::Api(name) => last_part(&name),
            ClassRef::Builtin => match object.state {
                State::Module(_) => "module".to_owned(),
                State::Optimizer(_) => "optimizer".to_owned(),
                State::Loader(_) => "loader".to_owned(),
                _ => "object".to_owned(),
            },
        }
    }

    fn class_statement(&self, state: &ClassState) -> String {
        self.project.module(state.file).tree.class(state.class).name.to_string()
    }

    /// What an object is called where it is kept, in quotes; else `a` with its class.
    pub(super) fn name(&self, id: ObjId) -> String {
        match self.names.of(id) {
            Some(name) => format!("`{name}`"),
            None => format!("a {}", self.class(self.heap.get(id))),
        }
    }

    /// The names of several, without those that are part of another of them.
    pub(super) fn all_names(&self, objects: &ObjSet) -> String {
        let mut named: Vec<String> = objects.iter().map(|id| self.name(id)).collect();
        named.sort();
        named.dedup();
        let whole = |name: &String| !named.iter().any(|other| is_part(name, other));
        let mut named: Vec<String> = named.iter().filter(|name| whole(name)).cloned().collect();
        let all = named.len();
        named.truncate(MOST_NAMES);
        listed(named, all)
    }
}

/// `model.fc` and `model[0]` are parts of `model`; both names are in quotes.
fn is_part(name: &str, of: &str) -> bool {
    let rest = name.strip_prefix(of.trim_end_matches('`'));
    rest.is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// The parameters of a layer, without those of its parts.
fn own_parameters(object: &Object, module: &ModuleState) -> Int {
    let counted = match module.weights {
        Learned::Nothing => Int::Known(0),
        Learned::Own(own) => own.map_or(Int::Unknown, Int::Known),
        Learned::Opaque => Int::Unknown,
    };
    let held = object.attrs.iter().filter_map(|(_, value)| value.as_tensor());
    held.filter(|held| held.is_parameter()).fold(counted, |all, held| all.add(&held.numel()))
}

fn orders(orders: Orders) -> String {
    let all = [
        (Orders::SEQUENTIAL, "in order"),
        (Orders::RANDOM, "at random"),
        (Orders::SHARED, "a part of each process"),
        (Orders::SHARED_RANDOM, "a part of each process at random"),
        (Orders::UNKNOWN, "in an order that is not known"),
    ];
    let met: Vec<&str> = all.iter().filter(|(one, _)| orders.meets(*one)).map(|(_, name)| *name).collect();
    met.join(" or ")
}
