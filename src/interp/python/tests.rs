//! The functions of the language on an interpreter without a script.

mod any_arguments;
mod configurations;
mod containers_and_iteration;
mod numbers;
mod outside_values;
mod strings;

use super::super::{Call, Interp, Passed, Settings};
use super::{call, compare, iterate, method};
use crate::apis::Apis;
use crate::names::Project;
use crate::report::{FileId, Place, Span};
use crate::source::SourceFile;
use crate::syntax::{BinaryOp, CompareOp, UnaryOp};
use crate::values::*;
use std::path::Path;
use ustr::ustr;

/// Runs a test on a fresh interpreter.
fn with(settings: &[(&str, &str)], test: impl FnOnce(&mut Interp)) {
    let project = Project::new();
    project.add(SourceFile::from_bytes(Path::new("script.py"), b"").expect("an empty script"));
    let values = settings.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    let settings = Settings { values, fuel: Some(1000) };
    let hooks = crate::interp::Hooks::default();
    let mut interp = Interp::new(&project, Apis::builtin(), &hooks, &settings);
    test(&mut interp);
}

fn at(start: u32) -> Place {
    Place::new(FileId(0), Span::new(start, start + 1))
}

fn keyword(call: &mut Call, name: &str, value: Value, place: Place) {
    call.keywords.push((ustr(name), Passed { value, place }));
}

fn run(interp: &mut Interp, name: &str, start: u32, values: Vec<Value>) -> Value {
    call(interp, name, &Call::with(at(start), values)).expect("modelled")
}

fn exact(interp: &mut Interp, value: &Value) -> Vec<Value> {
    iterate(interp, value, at(900)).exact.expect("known one by one")
}

fn attr(interp: &Interp, object: &Value, name: &str) -> Value {
    interp.heap.attr(object.as_obj().expect("an object"), ustr(name)).cloned().expect("an attribute")
}

/// An interpreter in the second pass of a loop, so that objects made before are older.
fn enter_loop(interp: &mut Interp) {
    interp.epoch = 5;
    let active = super::super::ActiveLoop {
        id: crate::trace::LoopId(0),
        since: 5,
        breaks: Vec::new(),
        continues: Vec::new(),
        arms: 0,
        frames: 0,
        escapes: false,
        leaves: false,
        written: Vec::new(),
        tail: None,
        goes_back_before: false,
        left_behind: Vec::new(),
    };
    interp.active.push(active);
}
