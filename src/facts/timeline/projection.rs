//! From the trace to the timeline of one optimizer: each effect becomes the events that it is for this optimizer,
//! and what neither holds an event nor changes the way is left out.

use super::view::OptimizerView;
use super::{Kind, OptimizerEvent, Pace, Touched};
use crate::report::Place;
use crate::trace::{ArmTest, Asked, Does, Effect, Event, Exit, LoopId, Node, ScalerAct, When};
use crate::values::{ObjId, ObjSet};
use std::rc::Rc;
use ustr::Ustr;

type Projected = Node<Rc<OptimizerEvent>>;

pub(super) struct Projection<'v, 'h> {
    view: &'v OptimizerView<'h>,
    loops: Vec<LoopId>,
    calls: Vec<(Place, Ustr)>,
    /// The same, as the events beside each other share them.
    context: Option<Context>,
    /// Of the branch that comes next.
    coming: Option<Rc<OptimizerEvent>>,
    asked: Option<Rc<[ArmTest]>>,
    /// The answer to a question that is taken for granted: arms that it excludes are left out.
    supposed: Option<Asked>,
    /// Questions that decide about an event, once for each branch that they decide.
    pub(super) questions: Vec<u32>,
    /// Of the branches around.
    pace: Option<Pace>,
    conditional: bool,
}

type Context = (Rc<[LoopId]>, Rc<[(Place, Ustr)]>);

/// Where paths through a part of the tree lead, and whether they meet an event.
#[derive(Clone, Copy, Default)]
pub(super) struct Paths {
    has_events: bool,
    next: bool,
    breaks: bool,
    continues: bool,
    returns: bool,
}

impl Paths {
    fn through() -> Paths {
        Paths { next: true, ..Paths::default() }
    }

    fn exit(exit: Exit) -> Paths {
        Paths {
            breaks: exit == Exit::Break,
            continues: exit == Exit::Continue,
            returns: exit == Exit::Return,
            ..Paths::default()
        }
    }

    fn or(self, other: Paths) -> Paths {
        Paths {
            has_events: self.has_events || other.has_events,
            next: self.next || other.next,
            breaks: self.breaks || other.breaks,
            continues: self.continues || other.continues,
            returns: self.returns || other.returns,
        }
    }

    /// These, and from where they lead on those of what follows.
    fn then(self, after: Paths) -> Paths {
        let after =
            if self.next { after } else { Paths { has_events: after.has_events, ..Paths::default() } };
        Paths { next: after.next, ..self.or(after) }
    }

    /// Leaving it out changes nothing.
    fn is_inert(self) -> bool {
        self.next && !(self.has_events || self.breaks || self.continues || self.returns)
    }
}

impl<'v, 'h> Projection<'v, 'h> {
    pub(crate) fn new(view: &'v OptimizerView<'h>, supposed: Option<Asked>) -> Projection<'v, 'h> {
        Projection {
            view,
            asked: None,
            supposed,
            questions: Vec::new(),
            loops: Vec::new(),
            calls: Vec::new(),
            context: None,
            coming: None,
            pace: None,
            conditional: false,
        }
    }

    pub(crate) fn sequence(&mut self, nodes: &[Node]) -> (Vec<Projected>, Paths) {
        let mut out = Vec::new();
        let mut paths = Paths::through();
        for node in nodes {
            let own = self.node(node, &mut out);
            paths = paths.then(own);
        }
        (out, paths)
    }

    fn node(&mut self, node: &Node, out: &mut Vec<Projected>) -> Paths {
        match node {
            Node::Event(event) => self.event(event, out),
            Node::Exit(exit) => {
                out.push(Node::Exit(*exit));
                Paths::exit(*exit)
            }
            Node::Loop { id, body } => {
                self.loops.push(*id);
                let (body, inner) = self.inside(body);
                self.loops.pop();
                self.context = None;
                let paths = Paths { next: true, breaks: false, continues: false, ..inner };
                keep(Node::Loop { id: *id, body }, paths, out)
            }
            Node::Call { site, name, body } => {
                self.calls.push((*site, *name));
                let (body, inner) = self.inside(body);
                self.calls.pop();
                self.context = None;
                let paths = Paths { next: inner.next || inner.returns, returns: false, ..inner };
                keep(Node::Call { site: *site, name: *name, body }, paths, out)
            }
            Node::Branch { when, arms } => self.branch(*when, arms, out),
        }
    }

    fn inside(&mut self, body: &[Node]) -> (Vec<Projected>, Paths) {
        self.context = None;
        self.sequence(body)
    }

    fn branch(&mut self, when: When, arms: &[Vec<Node>], out: &mut Vec<Projected>) -> Paths {
        let counted = matches!(when, When::Phase | When::Counter);
        let paced = self.coming.take().filter(|_| counted);
        let asked = self.asked.take();
        let around = (self.pace.clone(), self.conditional);
        if let Some(Kind::Paced(pace)) = paced.as_ref().map(|event| &event.kind) {
            self.pace = Some(pace.clone());
        }
        self.conditional |= when != When::Unknown;
        let mut paths = Paths::default();
        let mut projected = Vec::with_capacity(arms.len());
        for (index, arm) in arms.iter().enumerate() {
            if self.is_excluded(asked.as_deref(), index) {
                continue;
            }
            let (arm, inner) = self.sequence(arm);
            projected.push(arm);
            paths = paths.or(inner);
        }
        (self.pace, self.conditional) = around;
        if !paths.is_inert() {
            out.extend(paced.map(Node::Event));
            self.questions.extend(asked.iter().flat_map(|tests| tests.iter()).flat_map(ArmTest::questions));
        }
        keep(Node::Branch { when, arms: projected }, paths, out)
    }

    /// Whether the answer that is taken for granted leads past an arm: to one before it, or on to those behind.
    fn is_excluded(&self, tests: Option<&[ArmTest]>, arm: usize) -> bool {
        let (Some(supposed), Some(tests)) = (self.supposed, tests) else { return false };
        let is_it = |asked: &Asked| asked.question == supposed.question;
        let fails = |asked: &Asked| is_it(asked) && asked.holds != supposed.holds;
        let is_taken = |test: &ArmTest| test.decides == Some(supposed);
        let is_left = |test: &ArmTest| test.decides.iter().chain(&test.needs).any(fails);
        tests.iter().take(arm).any(is_taken) || tests.get(arm).is_some_and(is_left)
    }

    fn event(&mut self, event: &Event, out: &mut Vec<Projected>) -> Paths {
        if let Effect::Asked { tests } = &event.effect {
            self.asked = Some(tests.clone());
            return Paths::through();
        }
        if let Effect::Paced { every, given } = &event.effect {
            let pace = Pace { every: every.clone(), given: *given };
            self.coming = Some(self.placed(Kind::Paced(pace), event));
            return Paths::through();
        }
        let kind = self.view.kind(&event.effect);
        let paths = Paths { has_events: kind.is_some(), ..Paths::through() };
        out.extend(kind.map(|kind| Node::Event(self.placed(kind, event))));
        paths
    }

    fn placed(&mut self, kind: Kind, event: &Event) -> Rc<OptimizerEvent> {
        let (loops, calls) =
            self.context.get_or_insert_with(|| (self.loops.as_slice().into(), self.calls.as_slice().into()));
        Rc::new(OptimizerEvent {
            kind,
            place: event.place,
            confidence: event.confidence,
            loops: loops.clone(),
            calls: calls.clone(),
            pace: self.pace.clone(),
            conditional: self.conditional,
        })
    }
}

/// What can be left out is.
fn keep(node: Projected, paths: Paths, out: &mut Vec<Projected>) -> Paths {
    if paths.is_inert() {
        return Paths::through();
    }
    out.push(node);
    paths
}

impl OptimizerView<'_> {
    /// What an effect is for the optimizer.
    fn kind(&self, effect: &Effect) -> Option<Kind> {
        match effect {
            Effect::Backward { leaves, others, scaled } => {
                let certainty = self.accumulates(leaves, *others)?;
                Some(Kind::Backward { certainty, scaled: *scaled })
            }
            Effect::Step { optimizer, scaler } => {
                Some(Kind::Step { whose: self.whose(*optimizer)?, scaler: *scaler })
            }
            Effect::NamedStep { optimizer } => (*optimizer == self.optimizer).then_some(Kind::NamedStep),
            Effect::UnseenStep => Some(Kind::UnseenStep),
            Effect::Clear { targets, whole } => Some(match self.clears(targets, *whole) {
                Some(certainty) => Kind::Clear { certainty, own: targets.contains(self.optimizer) },
                None => Kind::ClearOther,
            }),
            Effect::Made { object } => self.is_renewed_by(*object).map(Kind::Made),
            Effect::Clip { targets, whole } => self.clips(targets, *whole).map(Kind::Clip),
            Effect::Scaler { scaler, act } => self.scaled(*scaler, *act),
            Effect::Schedule { scheduler, optimizer } => {
                let whose = self.whose_or_alone(*optimizer)?;
                Some(Kind::Schedule { scheduler: *scheduler, whose })
            }
            Effect::Touch { objects, does, .. } => self.touched(objects, *does),
            Effect::WriteGradients { objects, kept: false } => self.touched(objects, Does::Anything),
            Effect::WriteGradients { objects, kept: true } => {
                self.may_be_touched_by(objects).then_some(Kind::Changed)
            }
            Effect::Read { objects } => Some(Kind::Read(self.reads(objects))),
            Effect::Gather { optimizer, parts, .. } => {
                let own = *optimizer == self.optimizer;
                Some(Kind::Gathered { own, parts: parts.clone() })
            }
            Effect::Replace { owner, part } => Some(Kind::Replaced { owner: *owner, part: *part }),
            _ => None,
        }
    }

    fn scaled(&self, scaler: ObjId, act: ScalerAct) -> Option<Kind> {
        match act {
            ScalerAct::Unscale(of) => match self.whose(of) {
                Some(whose) => Some(Kind::Unscale(whose)),
                None => self.may_share(of).then_some(Kind::MayUnscale),
            },
            ScalerAct::Update => Some(Kind::Update { scaler }),
            ScalerAct::Scale => Some(Kind::Scale),
            ScalerAct::Read => Some(Kind::ReadScale),
        }
    }

    fn touched(&self, objects: &ObjSet, does: Does) -> Option<Kind> {
        let optimizer = does == Does::Anything && self.is_held_by(objects);
        let within_reach = self.may_be_touched_by(objects);
        let touched = Touched {
            optimizer,
            gradients: within_reach && does >= Does::Writes,
            clears: within_reach && does == Does::Anything,
            scaler: objects.iter().any(|object| self.is_scaler(object)),
        };
        (touched.gradients || touched.scaler).then_some(Kind::Touched(touched))
    }
}
