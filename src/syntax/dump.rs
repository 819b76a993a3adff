//! Writes a tree back as Python-like text, every operator in brackets, for tests to compare.

use super::ast::*;

pub(super) fn dump(tree: &Tree) -> String {
    block(tree, &tree.body)
}

fn block(tree: &Tree, body: &[StmtId]) -> String {
    body.iter().map(|id| stmt(tree, *id)).collect::<Vec<_>>().join("; ")
}

fn suite(tree: &Tree, word: &str, body: &[StmtId]) -> String {
    if body.is_empty() { String::new() } else { format!(" {word} {{{}}}", block(tree, body)) }
}

fn stmt(tree: &Tree, id: StmtId) -> String {
    let e = |id: &ExprId| expr(tree, *id);
    let b = |body: &Block| block(tree, body);
    match &tree.stmt(id).kind {
        StmtKind::Expr(value) => e(value),
        StmtKind::Assign { targets, value } => {
            format!("{} = {}", targets.iter().map(e).collect::<Vec<_>>().join(" = "), e(value))
        }
        StmtKind::AugAssign { target, op, value } => format!("{} {op:?}= {}", e(target), e(value)),
        StmtKind::AnnAssign { target, annotation, value } => {
            format!(
                "{}: {}{}",
                e(target),
                e(annotation),
                value.map_or(String::new(), |v| format!(" = {}", e(&v)))
            )
        }
        StmtKind::Return(value) => format!("return{}", after(tree, value)),
        StmtKind::Raise(value) => format!("raise{}", after(tree, value)),
        StmtKind::Assert { test } => format!("assert {}", e(test)),
        StmtKind::Del(targets) => format!("del {}", list(tree, targets)),
        StmtKind::Pass => "pass".into(),
        StmtKind::Break => "break".into(),
        StmtKind::Continue => "continue".into(),
        StmtKind::Global(names) => format!("global {}", words(names)),
        StmtKind::Nonlocal(names) => format!("nonlocal {}", words(names)),
        StmtKind::Import(items) => format!("import {}", imports(items)),
        StmtKind::ImportFrom { level, module, names } => {
            let module = module.map_or("", |module| module.as_str());
            let names = match names {
                ImportNames::Star => "*".to_owned(),
                ImportNames::Items(items) => imports(items),
            };
            format!("from {}{module} import {names}", ".".repeat(*level as usize))
        }
        StmtKind::If { arms, otherwise } => {
            let arms: Vec<_> =
                arms.iter().map(|(test, body)| format!("if {} {{{}}}", e(test), b(body))).collect();
            format!("{}{}", arms.join(" el"), suite(tree, "else", otherwise))
        }
        StmtKind::While { test, body, otherwise } => {
            format!("while {} {{{}}}{}", e(test), b(body), suite(tree, "else", otherwise))
        }
        StmtKind::For { target, iter, body, otherwise } => {
            format!("for {} in {} {{{}}}{}", e(target), e(iter), b(body), suite(tree, "else", otherwise))
        }
        StmtKind::With { items, body } => {
            let items: Vec<_> = items.iter().map(|item| with_item(tree, item)).collect();
            format!("with {} {{{}}}", items.join(", "), b(body))
        }
        StmtKind::Try { body, handlers, otherwise, finally } => {
            let handlers: String = handlers.iter().map(|handler| handled(tree, handler)).collect();
            let out = format!("try {{{}}}{handlers}", b(body));
            out + &suite(tree, "else", otherwise) + &suite(tree, "finally", finally)
        }
        StmtKind::Function(id) => function(tree, *id),
        StmtKind::Class(id) => class(tree, *id),
        StmtKind::Match { subject, cases } => {
            let cases: Vec<_> = cases.iter().map(|one| case(tree, one)).collect();
            format!("match {} {{{}}}", e(subject), cases.join(" "))
        }
    }
}

fn with_item(tree: &Tree, item: &WithItem) -> String {
    let target = item.target.map_or(String::new(), |target| format!(" as {}", expr(tree, target)));
    expr(tree, item.context) + &target
}

fn handled(tree: &Tree, handler: &Handler) -> String {
    let name = handler.name.map_or(String::new(), |name| format!(" as {name}"));
    format!(" except{}{name} {{{}}}", after(tree, &handler.exception), block(tree, &handler.body))
}

fn class(tree: &Tree, id: ClassId) -> String {
    let class = tree.class(id);
    let decorators: String = class.decorators.iter().map(|d| format!("@{} ", expr(tree, *d))).collect();
    format!("{decorators}class {}({}) {{{}}}", class.name, args(tree, &class.bases), block(tree, &class.body))
}

fn case(tree: &Tree, case: &Case) -> String {
    let guard = case.guard.map_or(String::new(), |guard| format!(" if {}", expr(tree, guard)));
    let any = if case.irrefutable { "!" } else { "" };
    format!("case{any} [{}]{guard} {{{}}}", words(&case.binds), block(tree, &case.body))
}

fn function(tree: &Tree, id: FnId) -> String {
    let function = tree.function(id);
    let decorators: String = function.decorators.iter().map(|d| format!("@{} ", expr(tree, *d))).collect();
    let word = if function.is_async { "async def" } else { "def" };
    let star = if function.is_generator { "*" } else { "" };
    let returns = function.returns.map_or(String::new(), |r| format!(" -> {}", expr(tree, r)));
    let body = match &function.body {
        FunctionBody::Block(body) => block(tree, body),
        FunctionBody::Expr(value) => expr(tree, *value),
    };
    format!(
        "{decorators}{word}{star} {}({}){returns} {{{body}}}",
        function.name,
        params(tree, &function.params)
    )
}

fn params(tree: &Tree, params: &[Param]) -> String {
    let one = |param: &Param| {
        let mark = match param.kind {
            ParamKind::PositionalOnly => "/",
            ParamKind::Plain => "",
            ParamKind::Star => "*",
            ParamKind::KeywordOnly => "=",
            ParamKind::DoubleStar => "**",
        };
        let annotation = param.annotation.map_or(String::new(), |a| format!(": {}", expr(tree, a)));
        let default = param.default.map_or(String::new(), |d| format!(" = {}", expr(tree, d)));
        format!("{mark}{}{annotation}{default}", param.name)
    };
    params.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn after(tree: &Tree, value: &Option<ExprId>) -> String {
    value.map_or(String::new(), |value| format!(" {}", expr(tree, value)))
}

fn words(names: &[ustr::Ustr]) -> String {
    names.iter().map(ustr::Ustr::as_str).collect::<Vec<_>>().join(", ")
}

fn imports(items: &[ImportItem]) -> String {
    let one = |item: &ImportItem| match item.alias {
        Some(alias) => format!("{} as {alias}", item.name),
        None => item.name.to_string(),
    };
    items.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn list(tree: &Tree, items: &[ExprId]) -> String {
    items.iter().map(|item| expr(tree, *item)).collect::<Vec<_>>().join(", ")
}

fn args(tree: &Tree, args: &[Arg]) -> String {
    let one = |arg: &Arg| {
        let value = expr(tree, arg.value);
        match arg.kind {
            ArgKind::Positional => value,
            ArgKind::Keyword(name) => format!("{name}={value}"),
            ArgKind::Star => format!("*{value}"),
            ArgKind::DoubleStar => format!("**{value}"),
        }
    };
    args.iter().map(one).collect::<Vec<_>>().join(", ")
}

pub(super) fn expr(tree: &Tree, id: ExprId) -> String {
    let e = |id: &ExprId| expr(tree, *id);
    let o = |id: &Option<ExprId>| id.map_or(String::new(), |id| expr(tree, id));
    match &tree.expr(id).kind {
        ExprKind::Name(name) => name.to_string(),
        ExprKind::Attribute { base, name, .. } => format!("{}.{name}", e(base)),
        ExprKind::Call { callee, args: items } => format!("{}({})", e(callee), args(tree, items)),
        ExprKind::Subscript { base, index } => format!("{}[{}]", e(base), e(index)),
        ExprKind::Slice { lower, upper, step } => format!("{}:{}:{}", o(lower), o(upper), o(step)),
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Float(value) => format!("{value:?}"),
        ExprKind::Str(text) => format!("{text:?}"),
        ExprKind::Bytes => "b''".into(),
        ExprKind::FString(parts) => format!("f<{}>", list(tree, parts)),
        ExprKind::True => "True".into(),
        ExprKind::False => "False".into(),
        ExprKind::None => "None".into(),
        ExprKind::Ellipsis => "...".into(),
        ExprKind::Tuple(items) => format!("({},)", list(tree, items)),
        ExprKind::List(items) => format!("[{}]", list(tree, items)),
        ExprKind::Set(items) => format!("{{{}}}", list(tree, items)),
        ExprKind::Dict(items) => {
            let one = |(key, value): &(Option<ExprId>, ExprId)| match key {
                Some(key) => format!("{}: {}", e(key), e(value)),
                None => format!("**{}", e(value)),
            };
            format!("{{{}}}", items.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        ExprKind::Unary { op, operand } => format!("({op:?} {})", e(operand)),
        ExprKind::Binary { op, left, right } => format!("({} {op:?} {})", e(left), e(right)),
        ExprKind::Compare { first, rest } => {
            let rest: String = rest.iter().map(|(op, value)| format!(" {op:?} {}", e(value))).collect();
            format!("({}{rest})", e(first))
        }
        ExprKind::Bool { and, items } => {
            let word = if *and { " and " } else { " or " };
            format!("({})", items.iter().map(e).collect::<Vec<_>>().join(word))
        }
        ExprKind::Conditional { test, then, otherwise } => {
            format!("({} if {} else {})", e(then), e(test), e(otherwise))
        }
        ExprKind::Lambda(id) => function(tree, *id),
        ExprKind::Comprehension(inner) => comprehension(tree, inner),
        ExprKind::Await(value) => format!("(await {})", e(value)),
        ExprKind::Yield(value) => format!("(yield {})", o(value)),
        ExprKind::YieldFrom(value) => format!("(yield from {})", e(value)),
        ExprKind::Starred(value) => format!("*{}", e(value)),
        ExprKind::Walrus { name, value, .. } => format!("({name} := {})", e(value)),
        ExprKind::Missing => "?".into(),
    }
}

fn comprehension(tree: &Tree, inner: &Comprehension) -> String {
    let mut out = expr(tree, inner.element);
    if let Some(value) = inner.value {
        out += &format!(": {}", expr(tree, value));
    }
    for clause in &inner.clauses {
        out += &format!(" for {} in {}", expr(tree, clause.target), expr(tree, clause.iter));
        for condition in &clause.conditions {
            out += &format!(" if {}", expr(tree, *condition));
        }
    }
    format!("<{:?} {out}>", inner.kind)
}
