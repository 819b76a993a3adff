//! What is taken for granted where callers are not seen: who plays which role, and how far that is to be trusted.

use super::Interp;
use super::roles::{Roles, Taken};
use crate::apis::Role;
use crate::names::Subject;
use crate::report::{Confidence, FileId};
use crate::trace::{Assumption, FnKey};
use crate::values::{ObjId, Value};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) struct Supposed {
    /// What unknown values are taken for.
    pub(super) roles: Roles,
    /// Instances of classes whose methods nothing called.
    pub(super) instances: FxHashMap<ObjId, Value>,
    /// Instances that the script has made of its classes, while methods that it does not call run on them.
    pub(super) made: FxHashMap<ObjId, ObjId>,
    /// Datasets that only an annotation tells of: a loader of one goes by its class, too.
    pub(super) annotated: FxHashSet<ObjId>,
    /// The function that is rehearsed without its callers.
    pub seeded: Option<FnKey>,
    /// Objects from here on were made since it began.
    pub since: u32,
    /// Objects before this one the script itself has made.
    pub(super) scripted: u32,
    /// Functions that were run from one that nothing called.
    pub(super) entered: FxHashSet<FnKey>,
    /// Functions that constructors of these instances ran.
    pub(super) constructing: FxHashSet<FnKey>,
    /// Whether what is rehearsed says nothing of training: whoever calls it may have switched gradients off.
    pub(super) beside_training: bool,
    /// The confidence of what is being rehearsed: low where parameters were typed by their names.
    pub(super) trust: Confidence,
}

impl Default for Supposed {
    fn default() -> Supposed {
        Supposed {
            roles: Roles::default(),
            instances: FxHashMap::default(),
            made: FxHashMap::default(),
            annotated: FxHashSet::default(),
            seeded: None,
            since: 0,
            scripted: 0,
            entered: FxHashSet::default(),
            constructing: FxHashSet::default(),
            beside_training: false,
            trust: Confidence::High,
        }
    }
}

impl Interp<'_> {
    /// Puts down what is taken for granted, once.
    pub(super) fn assume(&mut self, file: FileId, subject: Subject, taken: &Taken) {
        let tree = self.tree(file);
        let within = match subject {
            Subject::Local(function, _) => function.map(|function| tree.function(function).span),
            Subject::Own(class, _) | Subject::OwnPart(class, ..) => Some(tree.class(class).span),
            Subject::Part(function, ..) => function.map(|function| tree.function(function).span),
        };
        let (name, (reason, because)) = (subject.name(), taken.because);
        let known = |known: &Assumption| (known.name, known.because) == (name, because);
        if !self.out.assumptions.iter().any(known) {
            let role = in_words(taken.role);
            self.out.assumptions.push(Assumption { name, role, reason, because, within });
        }
    }
}

fn in_words(role: Role) -> &'static str {
    match role {
        Role::Module => "a model",
        Role::Criterion => "a loss function",
        Role::Scheduler => "a learning rate scheduler",
        Role::Scaler => "a gradient scaler",
        _ => "an optimizer",
    }
}
