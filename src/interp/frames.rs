//! The frames of what is running: functions, modules and the contexts around them.

use super::call_path::CallPath;
use super::{Interp, stmt};
use crate::report::{FileId, Place};
use crate::syntax::*;
use crate::trace::FnKey;
use crate::values::*;
use ustr::Ustr;

/// The frame of a running function or module.
pub(super) struct Frame<'p> {
    pub(super) env: ObjId,
    pub(super) file: FileId,
    /// Of the file: each expression asks for it.
    pub(super) tree: &'p Tree,
    pub(super) function: Option<FnId>,
    /// The call whose result a statement takes apart, and into how many names.
    pub(super) unpacks: Option<(Place, usize)>,
    /// Values returned so far, and what the heap was at those returns.
    pub(super) returned: Vec<Value>,
    pub(super) exits: Vec<heap::Writes>,
    pub(super) yielded: Option<Value>,
    /// The call of the function itself that was not followed any further.
    pub(super) cut_off: Option<Place>,
    /// The loader that a generator hands on, and how many loops ran around its frame.
    pub(super) hands_on: Option<ObjId>,
    pub(super) around_loops: usize,
    pub(super) receiver: Option<Value>,
    pub(super) class: Option<ObjId>,
    pub(super) site: Option<(Place, Ustr)>,
    /// The body of the `with` statement that this generator is the context of.
    pub(super) around: Option<Around<'p>>,
    /// What follows the statement in its block, and whether the statement has run that, too.
    pub(super) rest: &'p [StmtId],
    pub(super) rest_ran: bool,
    /// Tells it from all other frames.
    pub(super) serial: u32,
}

/// A running frame, as checkers see it.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    /// Tells it from all other frames.
    pub serial: u32,
    pub file: FileId,
    /// `None` for the body of a module or class.
    pub function: Option<FnId>,
    pub receiver: Option<ObjId>,
    /// The call that it runs for.
    pub site: Option<Place>,
}

/// What a generator that is a context runs where it yields.
#[derive(Clone, Copy)]
pub(super) struct Around<'p> {
    pub(super) target: Option<ExprId>,
    /// The statement's further contexts.
    pub(super) rest: &'p [WithItem],
    pub(super) body: &'p [StmtId],
    pub(super) path: CallPath,
    /// How the body ended, once it ran.
    pub(super) flow: Option<stmt::Flow>,
}

impl<'p> Interp<'p> {
    pub(super) fn push_frame(
        &mut self,
        env: ObjId,
        file: FileId,
        function: Option<FnId>,
        site: Option<(Place, Ustr)>,
    ) {
        self.sites.frames += 1;
        self.frames.push(Frame {
            env,
            file,
            tree: self.tree(file),
            function,
            unpacks: None,
            returned: Vec::new(),
            exits: Vec::new(),
            yielded: None,
            cut_off: None,
            hands_on: None,
            around_loops: self.active.len(),
            receiver: None,
            class: None,
            site,
            around: None,
            rest: &[],
            rest_ran: false,
            serial: self.sites.frames,
        });
    }

    /// Whether what runs follows a branch, and runs for one of its ways.
    pub(crate) fn is_apart(&self) -> bool {
        self.passes.apart
    }

    /// What follows the statement that runs; the blocks in it have something else behind them.
    pub(super) fn take_rest(&mut self) -> &'p [StmtId] {
        self.frames.last_mut().map_or(&[], |frame| std::mem::take(&mut frame.rest))
    }

    pub(super) fn has_run_rest(&mut self) -> bool {
        // What a block ends early leaves nothing behind for the statements around it.
        self.take_rest();
        self.frames.last_mut().is_some_and(|frame| std::mem::take(&mut frame.rest_ran))
    }

    /// The tree of the running frame's file.
    pub(super) fn here(&self) -> &'p Tree {
        self.frames.last().map_or_else(|| self.tree(FileId(0)), |frame| frame.tree)
    }

    /// The file of the running frame.
    pub fn file(&self) -> FileId {
        self.frames.last().map_or(FileId(0), |frame| frame.file)
    }

    /// The frames that are running, outermost first.
    pub(crate) fn running(&self) -> impl DoubleEndedIterator<Item = Running> {
        self.frames.iter().map(|frame| Running {
            serial: frame.serial,
            file: frame.file,
            function: frame.function,
            receiver: frame.receiver.as_ref().and_then(Value::as_obj),
            site: frame.site.map(|(place, _)| place),
        })
    }

    /// The files that ran, or are running.
    pub(crate) fn read_files(&self) -> impl Iterator<Item = FileId> {
        self.out.read.iter().copied()
    }

    /// The functions of a file that are running.
    pub(crate) fn running_functions(&self, file: FileId) -> Vec<FnId> {
        self.frames.iter().filter(|frame| frame.file == file).filter_map(|frame| frame.function).collect()
    }

    /// How many calls and modules run, one in another.
    pub(crate) fn frame_depth(&self) -> usize {
        self.frames.len()
    }

    /// The object that holds the names of the running frame.
    pub(crate) fn locals(&self) -> Option<ObjId> {
        self.frames.last().map(|frame| frame.env)
    }

    /// The object that holds the names of a module that runs or has run.
    pub(crate) fn module_names(&self, file: FileId) -> Option<ObjId> {
        self.loaded.modules.get(&file).map(|module| module.env)
    }

    /// Whether the constructor of an object runs.
    pub(super) fn is_constructing(&self, object: ObjId) -> bool {
        self.frames.iter().any(|frame| {
            frame.site.is_some_and(|(_, name)| name == "__init__")
                && frame.receiver.as_ref().and_then(Value::as_obj) == Some(object)
        })
    }

    /// The function that runs, and what it is a method of.
    pub(crate) fn running_method(&self) -> Option<(FnKey, Option<ObjId>)> {
        let frame = self.frames.last()?;
        let receiver = frame.receiver.as_ref().and_then(Value::as_obj);
        frame.function.map(|function| (FnKey { file: frame.file, function }, receiver))
    }

    /// The frame that holds a name bound from here.
    pub(super) fn binding_env(&self, env: ObjId, name: Ustr) -> ObjId {
        let Some(scope) = self.loaded.scopes.get(&env) else { return env };
        let Some(function) = scope.function else { return env };
        let names = &self.module(scope.file).names.scopes[function.0 as usize];
        if names.globals.contains(name) {
            return self.loaded.modules.get(&scope.file).map_or(env, |module| module.env);
        }
        if names.nonlocals.contains(name) {
            let mut outer = scope.parent;
            while let Some(parent) = outer {
                if self.heap.attr(parent, name).is_some() {
                    return parent;
                }
                outer = self.loaded.scopes.get(&parent).and_then(|scope| scope.parent);
            }
        }
        env
    }
}
