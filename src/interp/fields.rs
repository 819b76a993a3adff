//! Constructors that are made of the annotated names in a class's body: those of dataclasses, named tuples and modules
//! of some frameworks.

use super::lineage::Base;
use super::{Call, Interp, UnfitFields, WRAPPED, alternatives};
use crate::apis;
use crate::report::Span;
use crate::syntax::{Arg, ArgKind, ExprId, ExprKind, Param, ParamKind, StmtId, StmtKind, Tree};
use crate::values::*;
use ustr::Ustr;

const NAMED_TUPLE: &str = "typing.NamedTuple";

/// A class whose constructor takes its fields, and nothing else.
const GENERATED: Note = Note::new("generated-constructor");

impl Interp<'_> {
    /// `@dataclass`: what the standard library makes takes the fields, unless it is told otherwise.
    pub(super) fn note_dataclass(&mut self, class: ObjId, decorator: &Value, name: Option<Ustr>) {
        let is_told = match decorator {
            Value::Partial(partial) => {
                partial.keywords.iter().any(|(name, _)| matches!(name.as_str(), "init" | "kw_only"))
            }
            _ => false,
        };
        if !is_told && name.is_some_and(|name| name == "dataclasses.dataclass") {
            self.heap.note(class, GENERATED, Value::Bool(Some(true)));
        }
        self.heap.get_mut(class).set_attr(Ustr::from("__dataclass__"), Value::Bool(Some(true)));
    }

    /// A call of a class that does not fit the constructor which is made of its fields.
    pub(super) fn note_unfit_fields(&mut self, object: ObjId, class: ObjId, call: &Call) {
        if call.open {
            return;
        }
        let Some(params) = self.generated_params(class) else { return };
        let names: Vec<Ustr> = call.keywords.iter().map(|(name, _)| *name).collect();
        if let Some(unfit) = alternatives::unfit(&params, call.positional.len(), &names) {
            let takes: Vec<Ustr> = params.iter().map(|param| param.name).collect();
            self.on_unfit_fields(&UnfitFields { object, class, call, takes: &takes, unfit });
        }
    }

    /// The parameters of a constructor that is made of fields, where all of these are seen.
    fn generated_params(&self, class: ObjId) -> Option<Vec<Param>> {
        let mut lineage = self.lineage(ClassRef::Project(class));
        let tuple = Ustr::from(NAMED_TUPLE);
        // Each class makes a constructor, without a decorator.
        let by_base = match &lineage[..] {
            [_, Base::Api(name)] if *name == tuple => true,
            all => all.iter().any(|base| matches!(base, Base::Api(name) if self.takes_fields(*name))),
        };
        let is_generated = |base: &Base| matches!(base, Base::Project(class) if self.heap.noted(*class, GENERATED).is_some());
        let known = |base: &Base| match base {
            Base::Project(class) => {
                self.heap.noted(*class, WRAPPED).is_none()
                    && (by_base
                        || is_generated(base)
                        || self.heap.attr(*class, Ustr::from("__dataclass__")).is_none())
            }
            Base::Api(name) => *name == tuple || self.takes_fields(*name),
            Base::Unknown => false,
        };
        let makes_itself = |base: &Base| matches!(base, Base::Project(class) if self.heap.attr(*class, Ustr::from("__new__")).is_some());
        let first = lineage.iter().position(|base| by_base || is_generated(base))?;
        if !lineage.iter().all(known) || lineage.iter().any(makes_itself) {
            return None;
        }
        lineage.drain(..first);
        let mut params: Vec<Param> = Vec::new();
        for base in lineage.iter().rev().filter(|base| by_base || is_generated(base)) {
            let Base::Project(base) = base else { continue };
            let State::Class(state) = &self.heap.get(*base).state else { return None };
            for param in fields(self.tree(state.file), &self.tree(state.file).class(state.class).body)? {
                match params.iter_mut().find(|known| known.name == param.name) {
                    Some(known) => *known = param,
                    None => params.push(param),
                }
            }
        }
        let of_base = |base: &Base| match base {
            Base::Api(name) => self.apis.class(*name),
            _ => None,
        };
        let own = lineage.iter().filter_map(of_base).flat_map(|api| &api.params);
        params.extend(own.filter(|own| own.kind == apis::ParamKind::KeywordOnly).map(|own| Param {
            name: own.name,
            kind: ParamKind::KeywordOnly,
            annotation: None,
            default: None,
            span: Span::default(),
        }));
        Some(params)
    }

    fn takes_fields(&self, class: Ustr) -> bool {
        self.apis.owns(class).iter().any(|owned| owned == "fields")
    }
}

/// The fields of one class, in their order; `None` where its body may make others.
fn fields(tree: &Tree, body: &[StmtId]) -> Option<Vec<Param>> {
    let mut found = Vec::new();
    let mut kind = ParamKind::Plain;
    for stmt in body {
        let StmtKind::AnnAssign { target, annotation, value } = tree.stmt(*stmt).kind else {
            if !tree.stmt(*stmt).kind.blocks().is_empty() {
                return None;
            }
            continue;
        };
        let ExprKind::Name(name) = tree.expr(target).kind else { continue };
        match annotated(tree, annotation) {
            Some("KW_ONLY") => kind = ParamKind::KeywordOnly,
            Some("ClassVar") => {}
            // What only the text says may be either.
            None => return None,
            Some(_) => {
                let Some(told) = field_told(tree, value) else { continue };
                let kind = if told.by_name { ParamKind::KeywordOnly } else { kind };
                let default = value.filter(|_| told.has_default);
                found.push(Param {
                    name,
                    kind,
                    annotation: Some(annotation),
                    default,
                    span: tree.expr(target).span,
                });
            }
        }
    }
    Some(found)
}

/// The last name of an annotation, without what stands in its brackets: `ClassVar` of `typing.ClassVar[int]`; none of a
/// text.
fn annotated(tree: &Tree, annotation: ExprId) -> Option<&str> {
    match &tree.expr(annotation).kind {
        ExprKind::Str(text) if text.contains("ClassVar") || text.contains("KW_ONLY") => None,
        ExprKind::Subscript { base, .. } => annotated(tree, *base),
        ExprKind::Name(name) | ExprKind::Attribute { name, .. } => Some(name.as_str()),
        _ => Some(""),
    }
}

/// What the value of a field says of its parameter.
struct Told {
    has_default: bool,
    by_name: bool,
}

/// `None` for a field that is no parameter: `field(init=False)`.
fn field_told(tree: &Tree, value: Option<ExprId>) -> Option<Told> {
    let Some(value) = value else { return Some(Told { has_default: false, by_name: false }) };
    let ExprKind::Call { callee, args } = &tree.expr(value).kind else {
        return Some(Told { has_default: true, by_name: false });
    };
    let is_field = matches!(tree.expr(*callee).kind, ExprKind::Name(name) | ExprKind::Attribute { name, .. } if name == "field");
    if !is_field {
        return Some(Told { has_default: true, by_name: false });
    }
    let keyword = |wanted: &str| {
        let is_it = |arg: &&Arg| matches!(arg.kind, ArgKind::Keyword(name) if name == wanted);
        args.iter().find(is_it).map(|arg| &tree.expr(arg.value).kind)
    };
    let is_true = |wanted: &str| matches!(keyword(wanted), Some(ExprKind::True));
    if keyword("init").is_some() && !is_true("init") {
        return None;
    }
    // What is unpacked into it may be anything.
    let is_open = args.iter().any(|arg| matches!(arg.kind, ArgKind::DoubleStar | ArgKind::Star));
    let has_default = is_open || keyword("default").is_some() || keyword("default_factory").is_some();
    Some(Told { has_default, by_name: keyword("kw_only").is_some() })
}
