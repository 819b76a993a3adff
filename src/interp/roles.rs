//! What something is that nobody here makes: solved from what its file does with it, and from how that stands to
//! what is done with others. The call that is missing must not be the only evidence that counts.

use super::walked::{is_number_of_tensor, loss_of};
use super::{Interp, modules::FORWARDS};
use crate::apis::{Role, Verb};
use crate::names::{Act, LoopIndex, Origin, Relations, Subject, subject_of};
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{Arg, ExprId, ExprKind, FnId, Stmt, StmtKind, Tree};
use crate::trace::FnKey;
use crate::values::Value;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::Ustr;

/// A role that something unknown has, and what says so.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub role: Role,
    pub confidence: Confidence,
    /// In words, and where.
    pub because: (&'static str, Place),
}

/// What was found out about a file so far.
#[derive(Default)]
pub(super) struct Roles {
    files: FxHashMap<FileId, Rc<Losses>>,
    taken: FxHashMap<(FileId, Subject), Option<Taken>>,
    /// Whether functions of a file speak of what training is about.
    of_training: FxHashMap<FileId, bool>,
}

/// The backward passes of a file.
pub(super) struct Losses {
    pub backwards: Vec<Backward>,
}

pub(super) struct Backward {
    pub act: Act,
    /// The calls that the loss may come from, at any distance from it.
    pub origins: Vec<Origin>,
}

/// Whether nothing but a method's name says what a value is: models are moved and cast as tensors are.
pub(super) fn is_guessed(value: &Value) -> bool {
    match value {
        Value::Unknown => true,
        Value::Tensor(tensor) => tensor.confidence < Confidence::High && tensor.shape.is_none(),
        _ => false,
    }
}

impl Interp<'_> {
    /// What an unknown variable or attribute is taken for.
    pub(super) fn taken_for(&mut self, file: FileId, subject: Subject) -> Option<Taken> {
        if let Some(known) = self.supposed.roles.taken.get(&(file, subject)) {
            return known.clone();
        }
        // Functions may hand something on to each other in circles.
        self.supposed.roles.taken.insert((file, subject), None);
        let found = self.solved(file, subject).or_else(|| self.taken_by_others(file, subject));
        self.supposed.roles.taken.insert((file, subject), found.clone());
        found
    }

    /// A parameter, as what gets it takes it.
    fn taken_by_others(&mut self, file: FileId, subject: Subject) -> Option<Taken> {
        let takers = self.takers(file, subject);
        takers.into_iter().find_map(|taker| {
            let (role, sure) = match self.role_by_use(taker.file, taker.subject) {
                Some(role) => (role, Confidence::Medium),
                None => {
                    self.taken_for(taker.file, taker.subject).map(|taken| (taken.role, taken.confidence))?
                }
            };
            matches!(role, Role::Module | Role::Optimizer | Role::Device | Role::Criterion).then(|| Taken {
                role,
                confidence: sure.min(Confidence::Medium),
                because: taker.because,
            })
        })
    }

    fn solved(&mut self, file: FileId, subject: Subject) -> Option<Taken> {
        let of_module = matches!(subject, Subject::Local(None, _));
        if self.apis.role_by_name(subject.name()) == Some(Role::Device) {
            return self.taken_for_device(file, subject);
        }
        if !of_module && !self.speaks_of_training(file) {
            return None;
        }
        let losses = self.losses(file);
        let solver = Solver { interp: self, file, subject, losses: &losses };
        solver
            .optimizer()
            .or_else(|| solver.scheduler())
            .or_else(|| solver.scaler())
            .or_else(|| solver.called())
    }

    fn speaks_of_training(&mut self, file: FileId) -> bool {
        let speaks = || self.project.module(file).names.speaks_of(self.apis.protocol_words());
        *self.supposed.roles.of_training.entry(file).or_insert_with(speaks)
    }

    pub(super) fn losses(&mut self, file: FileId) -> Rc<Losses> {
        if let Some(known) = self.supposed.roles.files.get(&file) {
            return known.clone();
        }
        let (module, relations) = (self.module(file), self.module(file).relations());
        let mut backwards = Vec::new();
        // A pass of a framework gives nothing that could get a name: layers that are written by hand give gradients.
        let is_bound = |call: ExprId| {
            let is_it = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Assign { value, .. } if value == call);
            !relations.is_discarded(call) && module.tree.stmts.iter().any(is_it)
        };
        let acts = relations.acts_where(|method| self.apis.walks_back(method));
        for act in acts.filter(|act| !is_bound(act.call)) {
            let walked = loss_of(&module.tree, act);
            let mut origins: Vec<Origin> = walked
                .values
                .into_iter()
                .flat_map(|loss| module.origins_inside(loss, act.function))
                .collect();
            // What is told a loss, and was made before the iteration, is an engine.
            let in_iteration =
                |made: &Act| made.function == act.function && relations.is_inside(made.within, act.within);
            let receiver =
                walked.receiver.into_iter().flat_map(|base| module.origins_inside(base, act.function));
            origins.extend(
                receiver
                    .filter(|origin| !walked.is_told || relations.act(origin.call).is_none_or(in_iteration)),
            );
            backwards.push(Backward { act: act.clone(), origins });
        }
        let made = Rc::new(Losses { backwards });
        self.supposed.roles.files.insert(file, made.clone());
        made
    }

    /// Whether a function mentions a backward pass.
    pub(super) fn goes_back(&self, key: FnKey) -> bool {
        let mentions = &self.module(key.file).names.scope(key.function).mentions;
        let mut words = self.apis.protocol_words().iter();
        words.any(|word| self.apis.walks_back(*word) && mentions.contains(*word))
    }
}

struct Solver<'s, 'p> {
    interp: &'s Interp<'p>,
    file: FileId,
    subject: Subject,
    losses: &'s Losses,
}

impl<'p> Solver<'_, 'p> {
    fn tree(&self) -> &'p Tree {
        &self.interp.module(self.file).tree
    }

    fn relations(&self) -> &'p Relations {
        self.interp.module(self.file).relations()
    }

    fn name(&self) -> Ustr {
        self.subject.name()
    }

    fn does(&self, act: &Act, role: Role, verb: Verb) -> bool {
        act.method.is_some_and(|name| self.interp.apis.method_does(role, name, verb))
    }

    fn args(&self, act: &Act) -> &'p [Arg] {
        match &self.tree().expr(act.call).kind {
            ExprKind::Call { args, .. } => args,
            _ => &[],
        }
    }

    fn taken(&self, role: Role, sure: Confidence, because: &'static str, call: ExprId) -> Option<Taken> {
        let named = self.interp.apis.role_by_name(self.name());
        let confidence = match named {
            Some(known) if known == role => Confidence::High.min(sure.max(Confidence::Medium)),
            Some(_) => Confidence::Low,
            None => sure.min(Confidence::Medium),
        };
        let place = Place::new(self.file, self.tree().expr(call).span);
        Some(Taken { role, confidence, because: (because, place) })
    }

    /// It steps, told nothing, where something goes backward; or a scaler steps it.
    fn optimizer(&self) -> Option<Taken> {
        let relations = self.relations();
        let through = relations
            .given(self.subject)
            .find(|act| self.is_of_scaler(act) && !self.interp.calls_own_method(self.file, act));
        if let Some(act) = through {
            return self.taken(Role::Optimizer, Confidence::High, "a scaler steps it", act.call);
        }
        if self.is_engine() || self.is_schedule_of_cleared() {
            return None;
        }
        let steps: Vec<&Act> = self.steps().collect();
        let told = steps.iter().any(|step| self.is_told(step));
        let first = steps.iter().find(|step| self.applies(step)).filter(|_| !told)?;
        self.taken(Role::Optimizer, Confidence::High, "it steps after a backward pass", first.call)
    }

    /// `args.scaler`, a part of something unknown, that does what only a scaler does; or that is called one, steps what it
    /// is told and chooses the next scale: what scales a loss may be the call that is forgotten.
    fn scaler(&self) -> Option<Taken> {
        let acts: Vec<&Act> = self.relations().acts_of(self.subject).collect();
        let used: Vec<Ustr> = acts.iter().filter_map(|act| act.method).collect();
        let first = acts.first()?;
        if self.interp.apis.role_by_use(&used, false) == Some(Role::Scaler) {
            return self.taken(Role::Scaler, Confidence::High, "it scales a loss", first.call);
        }
        let updates = acts.iter().any(|act| self.does(act, Role::Scaler, Verb::UpdateScale));
        let is_step = |act: &&&Act| self.does(act, Role::Scaler, Verb::Step) && !self.args(act).is_empty();
        let step = acts.iter().find(is_step).filter(|_| updates && self.is_called(Role::Scaler))?;
        self.taken(Role::Scaler, Confidence::High, "it steps an optimizer", step.call)
    }

    /// Environments are stepped with something, too, and never choose a scale.
    fn is_of_scaler(&self, act: &Act) -> bool {
        let apis = self.interp.apis;
        let scales = |receiver: Subject| {
            let named = apis.role_by_name(receiver.name()) == Some(Role::Scaler);
            let mut acts = self.relations().acts_of(receiver);
            named || acts.any(|act| self.does(act, Role::Scaler, Verb::UpdateScale))
        };
        self.does(act, Role::Scaler, Verb::Unscale)
            || self.does(act, Role::Scaler, Verb::Step) && act.receiver.is_none_or(scales)
    }

    fn steps(&self) -> impl Iterator<Item = &'p Act> {
        let acts = self.relations().acts_of(self.subject);
        acts.filter(|act| self.does(act, Role::Optimizer, Verb::Step))
    }

    /// It has a backward pass of its own, or is called: it may clear its gradients itself.
    fn is_engine(&self) -> bool {
        let relations = self.relations();
        let walks = |act: &Act| self.does(act, Role::Tensor, Verb::Backward);
        relations.calls_of(self.subject).next().is_some() || relations.acts_of(self.subject).any(walks)
    }

    /// An environment is told an action, a schedule a metric; an optimizer a function at most.
    fn is_told(&self, step: &Act) -> bool {
        let tree = self.tree();
        self.args(step).iter().any(|arg| match &tree.expr(arg.value).kind {
            ExprKind::Lambda(_) => false,
            ExprKind::Name(name) => !self.is_function(*name, step.function),
            _ => true,
        })
    }

    fn is_function(&self, name: Ustr, scope: Option<FnId>) -> bool {
        let functions = &self.tree().functions;
        functions.iter().any(|function| function.name == name && function.parent == scope)
    }

    /// Whether a step has a backward pass in its own iteration, and no other step comes nearer.
    fn applies(&self, step: &Act) -> bool {
        self.walks_within(step, step.within) && !self.rivals(step).any(|rival| self.is_nearer(rival, step))
    }

    /// Whether there is a backward pass in a loop of the function in which something steps.
    fn walks_within(&self, step: &Act, within: Option<LoopIndex>) -> bool {
        let backwards = self.losses.backwards.iter().map(|backward| &backward.act);
        let mut here = backwards.filter(|act| act.function == step.function);
        here.any(|backward| self.relations().is_inside(backward.within, within))
    }

    /// Others that step in the same function, told nothing.
    fn rivals(&self, step: &Act) -> impl Iterator<Item = &'p Act> {
        let named: Option<Ustr> = step.method;
        let all = named.into_iter().flat_map(|name| self.relations().acts_named(name));
        let function = step.function;
        all.filter(move |act| {
            act.function == function && act.receiver.is_some() && act.receiver != Some(self.subject)
        })
    }

    /// Whether a rival is the optimizer, and this a schedule: it steps in a loop further inside, where the backward
    /// is; or in the same one, first, and nothing speaks against it.
    fn is_nearer(&self, rival: &Act, step: &Act) -> bool {
        let relations = self.relations();
        if rival.within != step.within {
            return relations.is_inside(rival.within, step.within)
                && (self.walks_within(step, rival.within) || self.is_one_of_several(rival));
        }
        let name = |subject: Option<Subject>| self.interp.apis.role_by_name(subject?.name());
        match (name(step.receiver), name(rival.receiver)) {
            (Some(Role::Optimizer), _) => false,
            (Some(Role::Scheduler), _) | (_, Some(Role::Optimizer)) => true,
            // A scaler steps one of them; two optimizers clear both or none, and are told apart by that.
            _ => rival.call < step.call && !self.is_of_its_kind(rival),
        }
    }

    /// `for optimizer in optimizers: optimizer.step()`: it clears as well, which this does not, and no name says that
    /// this is one, too.
    fn is_one_of_several(&self, rival: &Act) -> bool {
        let is_item = |rival: Subject| self.relations().is_item(rival) && self.clears(rival);
        rival.receiver.is_some_and(is_item) && !self.clears(self.subject) && !self.is_called(Role::Optimizer)
    }

    /// Two that both clear gradients, or of which the text says nothing else.
    fn is_of_its_kind(&self, rival: &Act) -> bool {
        rival.receiver.is_some_and(|rival| self.clears(rival) && self.clears(self.subject))
    }

    fn clears(&self, subject: Subject) -> bool {
        self.relations().acts_of(subject).any(|act| self.does(act, Role::Optimizer, Verb::Clear))
    }

    /// It is called a schedule and clears nothing, and what is called an optimizer clears beside it.
    fn is_schedule_of_cleared(&self) -> bool {
        self.is_called(Role::Scheduler)
            && !self.clears(self.subject)
            && self.steps().any(|step| self.is_beside_cleared(step))
    }

    fn is_called(&self, role: Role) -> bool {
        self.interp.apis.role_by_name(self.name()) == Some(role)
    }

    /// Whether what is called an optimizer clears gradients in the function in which something steps.
    fn is_beside_cleared(&self, step: &Act) -> bool {
        let apis = self.interp.apis;
        let mut clears =
            self.relations().acts_where(|method| apis.method_does(Role::Optimizer, method, Verb::Clear));
        clears.any(|act| {
            let name = act.receiver.map(Subject::name);
            let named = name.and_then(|name| apis.role_by_name(name));
            act.function == step.function && named == Some(Role::Optimizer)
        })
    }

    /// It steps where something else is the optimizer.
    fn scheduler(&self) -> Option<Taken> {
        if self.is_engine() || !self.is_called(Role::Scheduler) {
            return None;
        }
        let step = self.steps().next()?;
        let beside = self.rivals(step).next().is_some() || self.is_beside_cleared(step);
        let sure = if beside { Confidence::High } else { Confidence::Low };
        self.taken(Role::Scheduler, sure, "it steps beside an optimizer", step.call)
    }

    /// Something that is called: a criterion or a model.
    fn called(&self) -> Option<Taken> {
        let relations = self.relations();
        let computes = |act: &&Act| act.method.is_some_and(|method| FORWARDS.contains(&method.as_str()));
        let forwards = relations.acts_of(self.subject).filter(computes);
        let calls: Vec<&Act> = relations.calls_of(self.subject).chain(forwards).take(MOST_CALLS).collect();
        if calls.is_empty() {
            return self.asked_for_loss();
        }
        if let Some(call) = calls.iter().find(|call| self.gives_loss(call)) {
            return self.of_loss(call);
        }
        let call =
            calls.iter().find(|call| self.is_scored(call) && !relations.gives_back(self.tree(), call))?;
        self.taken(Role::Module, Confidence::High, "a loss is computed from its output", call.call)
    }

    /// `loss = model.compute_loss(batch)`: what is called a model, and gives the loss by a method of its own.
    fn asked_for_loss(&self) -> Option<Taken> {
        let mut acts = self.relations().acts_of(self.subject).filter(|_| self.is_called(Role::Module));
        let call = acts.find(|act| self.gives_loss(act))?;
        self.taken(Role::Module, Confidence::Medium, "a method of it gives the loss", call.call)
    }

    /// Whether a backward pass, or a sum of losses, starts from what a call gives.
    fn gives_loss(&self, call: &Act) -> bool {
        // `loss * schedule(step)`: one factor is the loss, and the other is made of nothing that was computed.
        let computes = || {
            let named = self.interp.apis.role_by_name(self.name());
            matches!(named, Some(Role::Module | Role::Criterion))
                || self.args(call).iter().any(|arg| self.comes_from_call(arg.value, call.function))
        };
        // What is called a model may give the loss behind its output: `_, loss = model(x, y)`.
        let counts = |origin: &Origin| {
            origin.is_first() || origin.item.is_some() && !origin.among && self.is_called(Role::Module)
        };
        let first =
            |origin: &Origin| origin.call == call.call && counts(origin) && (!origin.scaled || computes());
        let walked = self.losses.backwards.iter().any(|backward| backward.origins.iter().any(first));
        walked || self.added(call.function).iter().any(first)
    }

    /// Where the values of `total += loss.item()` come from.
    fn added(&self, function: Option<FnId>) -> Vec<Origin> {
        let module = self.interp.module(self.file);
        let relations = self.relations();
        let here = relations
            .added()
            .iter()
            .filter(|(value, within)| *within == function && is_number_of_tensor(&module.tree, *value));
        here.flat_map(|(value, within)| module.origins_inside(*value, *within)).collect()
    }

    /// What gives a loss: a criterion of what a model gave, or the model itself.
    fn of_loss(&self, call: &Act) -> Option<Taken> {
        let made = self.args(call).iter().any(|arg| self.comes_from_call(arg.value, call.function));
        let named = self.interp.apis.role_by_name(self.name());
        if named == Some(Role::Module) || (!made && named != Some(Role::Criterion)) {
            let batch = self.args(call).iter().any(|arg| self.is_of_batch(arg.value, call.function));
            let sure = if batch { Confidence::High } else { Confidence::Medium };
            return self.taken(Role::Module, sure, "its result is the loss", call.call);
        }
        self.taken(Role::Criterion, Confidence::High, "its result is the loss", call.call)
    }

    /// Whether a value is made of what something of this file, called as it is, gave.
    fn comes_from_call(&self, value: ExprId, function: Option<FnId>) -> bool {
        let mut front = self.interp.module(self.file).origins(value, function);
        for _ in 0..FARTHEST {
            let callees = || front.iter().filter_map(|origin| self.relations().act(origin.call)?.callee);
            if callees().any(|by| by != self.subject && !is_of_module(by)) {
                return true;
            }
            // What a function of a library gives is made of what it is given.
            front = front.iter().flat_map(|origin| self.given_to(origin.call, function)).collect();
        }
        false
    }

    fn is_of_batch(&self, value: ExprId, function: Option<FnId>) -> bool {
        let module = self.interp.module(self.file);
        let mut at = value;
        for _ in 0..4 {
            if let Some(subject) = subject_of(&module.tree, &module.names, at, function)
                && self.relations().is_item(subject)
            {
                return true;
            }
            at = match module.tree.expr(at).kind {
                ExprKind::Subscript { base, .. } | ExprKind::Attribute { base, .. } => base,
                ExprKind::Call { callee, .. } => callee,
                _ => return false,
            };
        }
        false
    }

    /// Whether a loss is computed of what a call gave, if by way of other models; another function may ask for the loss.
    fn is_scored(&self, call: &Act) -> bool {
        let backwards = self.losses.backwards.iter();
        let origins = backwards.flat_map(|it| it.origins.iter().map(|origin| (*origin, it.act.function)));
        let added = self.added(call.function).into_iter().map(|origin| (origin, call.function));
        let is_here = |(origin, of): &(Origin, Option<FnId>)| origin.inside.or(*of) == call.function;
        let mut front: Vec<Origin> = origins.chain(added).filter(is_here).map(|(origin, _)| origin).collect();
        let mut seen: Vec<ExprId> = Vec::new();
        for _ in 0..FARTHEST {
            let mut next = Vec::new();
            for origin in front.drain(..) {
                if seen.contains(&origin.call) || seen.len() >= MOST_SEEN {
                    continue;
                }
                seen.push(origin.call);
                next.extend(self.given_to(origin.call, call.function));
            }
            if next.iter().any(|origin| origin.call == call.call) {
                return true;
            }
            front = next;
        }
        false
    }

    /// Where the arguments of a call come from.
    fn given_to(&self, call: ExprId, function: Option<FnId>) -> Vec<Origin> {
        let Some(act) = self.relations().act(call).filter(|act| act.function == function) else {
            return Vec::new();
        };
        let from = |arg: &Arg| self.interp.module(self.file).origins(arg.value, function);
        self.args(act).iter().flat_map(from).collect()
    }
}

/// `F.softmax`, and functions of a file: what they give depends on what they are given.
fn is_of_module(subject: Subject) -> bool {
    matches!(subject, Subject::Part(None, ..))
}

/// So many models may lie between one and the loss.
const FARTHEST: usize = 4;
/// More calls are not looked at on the way.
const MOST_SEEN: usize = 48;

/// More calls of one subject are not looked at.
const MOST_CALLS: usize = 8;
