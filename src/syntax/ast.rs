//! The typed tree: statements and expressions in two arenas, addressed by small ids.
//! Plain data; `lower` builds it, `names` and `interp` read it.

use crate::report::Span;
use ustr::Ustr;

/// An expression of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);
/// A statement of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StmtId(pub u32);
/// A function, method or lambda of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FnId(pub u32);
/// A class of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

pub type Exprs = Box<[ExprId]>;
pub type Block = Box<[StmtId]>;

/// One parsed file.
#[derive(Debug, Default)]
pub struct Tree {
    pub exprs: Vec<Expr>,
    pub stmts: Vec<Stmt>,
    pub functions: Vec<Function>,
    pub classes: Vec<Class>,
    pub body: Block,
    /// Comments in order, `#` included.
    pub comments: Vec<Span>,
    /// Where the parser had to give up or guess, in order.
    pub errors: Vec<Span>,
    /// Logical lines in order: simple statements, decorators, and the headers of compound
    /// statements and of their clauses up to the colon.
    pub lines: Vec<Span>,
}

impl Tree {
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// `x` of `x.at[i]`, as arrays of JAX are updated.
    pub fn updated_at(&self, item: ExprId) -> Option<ExprId> {
        let ExprKind::Subscript { base: at, .. } = self.expr(item).kind else { return None };
        match self.expr(at).kind {
            ExprKind::Attribute { base, name, .. } if name == "at" => Some(base),
            _ => None,
        }
    }

    /// Whether an item of a display is spread; the grammar puts the star of `*x[0]` and of `*x.rows()` to the `x`.
    pub fn is_starred(&self, mut item: ExprId) -> bool {
        loop {
            item = match self.expr(item).kind {
                ExprKind::Starred(_) => return true,
                ExprKind::Attribute { base, .. } | ExprKind::Subscript { base, .. } => base,
                ExprKind::Call { callee, .. } => callee,
                _ => return false,
            }
        }
    }

    /// The variables of which some text asks if they are `None`: `x is None`, `x is not None`, `not x`.
    pub fn asked_for_none(&self, within: Span) -> Vec<Ustr> {
        let is_none = |(_, other): &(CompareOp, ExprId)| matches!(self.expr(*other).kind, ExprKind::None);
        let asked = |expr: &Expr| {
            let subject = match &expr.kind {
                ExprKind::Compare { first, rest } if rest.iter().any(is_none) => *first,
                ExprKind::Unary { op: UnaryOp::Not, operand } => *operand,
                _ => return None,
            };
            match self.expr(subject).kind {
                ExprKind::Name(name) => Some(name),
                _ => None,
            }
        };
        self.exprs.iter().filter(|expr| within.contains(expr.span)).filter_map(asked).collect()
    }

    /// The call of exactly this expression.
    pub fn call_of(&self, callee: ExprId) -> Option<ExprId> {
        let is_it = |expr: &Expr| matches!(expr.kind, ExprKind::Call { callee: own, .. } if own == callee);
        Some(ExprId(self.exprs.iter().position(is_it)? as u32))
    }

    pub fn stmt(&self, id: StmtId) -> &Stmt {
        &self.stmts[id.0 as usize]
    }
    pub fn function(&self, id: FnId) -> &Function {
        &self.functions[id.0 as usize]
    }
    pub fn class(&self, id: ClassId) -> &Class {
        &self.classes[id.0 as usize]
    }
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Name(Ustr),
    Attribute {
        base: ExprId,
        name: Ustr,
        name_span: Span,
    },
    Call {
        callee: ExprId,
        args: Box<[Arg]>,
    },
    /// `base[index]`; several subscripts are one `Tuple`.
    Subscript {
        base: ExprId,
        index: ExprId,
    },
    Slice {
        lower: Option<ExprId>,
        upper: Option<ExprId>,
        step: Option<ExprId>,
    },
    Int(i64),
    /// Also integers past 64 bits and imaginary numbers' magnitudes are not kept: those are `Missing`.
    Float(f64),
    /// Adjacent literals joined, escapes resolved.
    Str(Box<str>),
    Bytes,
    /// The interpolated expressions, in order.
    FString(Exprs),
    True,
    False,
    None,
    Ellipsis,
    Tuple(Exprs),
    List(Exprs),
    Set(Exprs),
    /// A key of `None` is a `**` item.
    Dict(Box<[(Option<ExprId>, ExprId)]>),
    Unary {
        op: UnaryOp,
        operand: ExprId,
    },
    Binary {
        op: BinaryOp,
        left: ExprId,
        right: ExprId,
    },
    Compare {
        first: ExprId,
        rest: Box<[(CompareOp, ExprId)]>,
    },
    /// `and` / `or`, flattened.
    Bool {
        and: bool,
        items: Exprs,
    },
    Conditional {
        test: ExprId,
        then: ExprId,
        otherwise: ExprId,
    },
    Lambda(FnId),
    Comprehension(Box<Comprehension>),
    Await(ExprId),
    Yield(Option<ExprId>),
    YieldFrom(ExprId),
    /// `*items` in a display, a subscript or on the left of an assignment.
    Starred(ExprId),
    Walrus {
        name: Ustr,
        name_span: Span,
        value: ExprId,
    },
    /// Broken, too deep, or not modelled.
    Missing,
}

impl ExprKind {
    /// The operands of an operator, and the items and the index of what holds some, in the order in which they run.
    pub fn each_operand(&self, mut see: impl FnMut(ExprId)) {
        match self {
            ExprKind::FString(items)
            | ExprKind::Tuple(items)
            | ExprKind::List(items)
            | ExprKind::Set(items)
            | ExprKind::Bool { items, .. } => items.iter().for_each(|item| see(*item)),
            ExprKind::Unary { operand: inner, .. }
            | ExprKind::Await(inner)
            | ExprKind::Yield(Some(inner))
            | ExprKind::YieldFrom(inner)
            | ExprKind::Starred(inner) => see(*inner),
            ExprKind::Subscript { base: first, index: second }
            | ExprKind::Binary { left: first, right: second, .. } => {
                see(*first);
                see(*second);
            }
            ExprKind::Compare { first, rest } => {
                see(*first);
                rest.iter().for_each(|(_, value)| see(*value));
            }
            ExprKind::Conditional { test, then, otherwise } => {
                [test, then, otherwise].into_iter().for_each(|part| see(*part));
            }
            _ => {}
        }
    }
}

#[derive(Clone, Debug)]
pub struct Arg {
    pub kind: ArgKind,
    pub value: ExprId,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    Positional,
    Keyword(Ustr),
    Star,
    DoubleStar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComprehensionKind {
    List,
    Set,
    Dict,
    Generator,
}

#[derive(Clone, Debug)]
pub struct Comprehension {
    pub kind: ComprehensionKind,
    /// The element, or the key of a dict comprehension.
    pub element: ExprId,
    /// The value of a dict comprehension.
    pub value: Option<ExprId>,
    pub clauses: Box<[Clause]>,
}

/// `for target in iter if … if …`
#[derive(Clone, Debug)]
pub struct Clause {
    pub target: ExprId,
    pub iter: ExprId,
    pub conditions: Exprs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    Not,
    Minus,
    Plus,
    Invert,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    MatMul,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    Eq,
    NotEq,
    Less,
    LessEq,
    Greater,
    GreaterEq,
    Is,
    IsNot,
    In,
    NotIn,
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

impl StmtKind {
    /// The blocks of a statement; those of functions and classes are theirs.
    pub fn blocks(&self) -> Vec<&[StmtId]> {
        match self {
            StmtKind::If { arms, otherwise } => {
                arms.iter().map(|(_, body)| &**body).chain([&**otherwise]).collect()
            }
            StmtKind::While { body, otherwise, .. } | StmtKind::For { body, otherwise, .. } => {
                vec![body, otherwise]
            }
            StmtKind::With { body, .. } => vec![body],
            StmtKind::Try { body, handlers, otherwise, finally } => {
                let handlers = handlers.iter().map(|handler| &*handler.body);
                [&**body, otherwise, finally].into_iter().chain(handlers).collect()
            }
            StmtKind::Match { cases, .. } => cases.iter().map(|case| &*case.body).collect(),
            _ => Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    Expr(ExprId),
    /// `a = b = value` has two targets.
    Assign {
        targets: Exprs,
        value: ExprId,
    },
    AugAssign {
        target: ExprId,
        op: BinaryOp,
        value: ExprId,
    },
    AnnAssign {
        target: ExprId,
        annotation: ExprId,
        value: Option<ExprId>,
    },
    Return(Option<ExprId>),
    Raise(Option<ExprId>),
    Assert {
        test: ExprId,
    },
    Del(Exprs),
    Pass,
    Break,
    Continue,
    Global(Box<[Ustr]>),
    Nonlocal(Box<[Ustr]>),
    /// `import a.b as c`
    Import(Box<[ImportItem]>),
    /// `from ..module import names`
    ImportFrom {
        level: u32,
        module: Option<Ustr>,
        names: ImportNames,
    },
    /// `if` and its `elif`s in order.
    If {
        arms: Box<[(ExprId, Block)]>,
        otherwise: Block,
    },
    While {
        test: ExprId,
        body: Block,
        otherwise: Block,
    },
    For {
        target: ExprId,
        iter: ExprId,
        body: Block,
        otherwise: Block,
    },
    With {
        items: Box<[WithItem]>,
        body: Block,
    },
    Try {
        body: Block,
        handlers: Box<[Handler]>,
        otherwise: Block,
        finally: Block,
    },
    Function(FnId),
    Class(ClassId),
    Match {
        subject: ExprId,
        cases: Box<[Case]>,
    },
}

#[derive(Clone, Debug)]
pub struct ImportItem {
    /// Dotted.
    pub name: Ustr,
    pub alias: Option<Ustr>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ImportNames {
    Star,
    Items(Box<[ImportItem]>),
}

#[derive(Clone, Debug)]
pub struct WithItem {
    pub context: ExprId,
    pub target: Option<ExprId>,
}

#[derive(Clone, Debug)]
pub struct Handler {
    pub exception: Option<ExprId>,
    pub name: Option<Ustr>,
    pub body: Block,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Case {
    /// Names that the pattern binds.
    pub binds: Box<[Ustr]>,
    pub guard: Option<ExprId>,
    /// `case _:` and bare captures, without a guard.
    pub irrefutable: bool,
    pub body: Block,
}

#[derive(Clone, Debug)]
pub struct Function {
    /// `<lambda>` for a lambda.
    pub name: Ustr,
    pub name_span: Span,
    pub params: Box<[Param]>,
    pub body: FunctionBody,
    pub decorators: Exprs,
    pub returns: Option<ExprId>,
    pub is_async: bool,
    /// Has a `yield` of its own.
    pub is_generator: bool,
    /// The class whose body holds this function directly.
    pub class: Option<ClassId>,
    /// The function whose body holds this function (through classes, too).
    pub parent: Option<FnId>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum FunctionBody {
    Block(Block),
    Expr(ExprId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    PositionalOnly,
    Plain,
    Star,
    KeywordOnly,
    DoubleStar,
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: Ustr,
    pub kind: ParamKind,
    pub annotation: Option<ExprId>,
    pub default: Option<ExprId>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Class {
    pub name: Ustr,
    pub name_span: Span,
    /// Bases, and keywords such as `metaclass=`.
    pub bases: Box<[Arg]>,
    pub body: Block,
    pub decorators: Exprs,
    /// The function whose body holds this class.
    pub parent: Option<FnId>,
    pub span: Span,
}
