//! A use of something deprecated, written as it is written now: where the arguments are those that the table knows,
//! and only with what the oldest release has that the project may run with.

use super::Script;
use super::edits::{Call, Draft};
use crate::apis::deprecated::{self, Rewrite, Row};
use crate::apis::index::{self, Answer};
use crate::names::{Mention, uses_of_import};
use crate::report::{Edit, Fix, Span};
use crate::syntax::{ArgKind, Expr, ExprId, ExprKind, ImportItem, ImportNames, StmtId, StmtKind};
use ustr::Ustr;

/// Edits, and the ways of rows that they take.
type Written = (Vec<Edit>, Vec<(&'static Row, &'static Rewrite)>);

/// Stands in a template for all arguments.
const ALL: &str = "...";

impl<'a> Script<'a> {
    /// A name, or what an import of it binds, as it is written now.
    pub(super) fn rewritten(
        &self,
        row: &'static Row,
        package: &'static str,
        mention: &Mention,
    ) -> Option<Fix> {
        let draft = self.draft(self.file);
        let came = |row: &Row, rewrite: &Rewrite| came_with(row, package, name_of(&rewrite.write));
        let is_there = |rewrite: &&Rewrite| {
            came(row, rewrite).is_none_or(|(package, came)| {
                self.first_release(package, row).is_some_and(|(first, _)| came <= first)
            })
        };
        // What all have that the project may run with goes before what is newer.
        let mut ways: Vec<&'static Rewrite> = row.rewrite.iter().filter(is_there).collect();
        ways.extend(row.rewrite.iter().filter(|rewrite| !is_there(rewrite)));
        let (edits, used) = match mention.expr {
            Some(expr) => {
                let (edits, rewrite) = draft.rewritten(row, &ways, expr, None)?;
                (edits, vec![(row, rewrite)])
            }
            None => draft.rewritten_import(row, &ways, &mention.path, *mention.parts.first()?)?,
        };
        // What nothing uses here may be there for others.
        let is_guess = used.is_empty() || used.iter().any(|(_, one)| one.guess);
        let said = name_of(&used.first().map(|(_, rewrite)| *rewrite).or(ways.first().copied())?.write);
        let title = match said.starts_with('$') {
            true => format!("remove `{}`", mention.path.rsplit('.').next().unwrap_or_default()),
            false => format!("write `{said}`"),
        };
        let came: Vec<(&'static str, u8)> =
            used.iter().filter_map(|(row, rewrite)| came(row, rewrite)).collect();
        self.offered(row, title, edits, &came, is_guess)
    }

    /// An argument as it is written now.
    pub(super) fn rewritten_argument(
        &self,
        row: &Row,
        package: &'static str,
        function: &str,
        place: Span,
    ) -> Option<Fix> {
        let draft = self.draft(self.file);
        let (call, argument) = draft.call_with(place)?;
        let ArgKind::Keyword(name) = argument.kind else { return None };
        let value = draft.written(argument.value);
        let is_open = call.args.iter().any(|arg| arg.kind == ArgKind::DoubleStar);
        // Several arguments that mean one thing together are not rewritten one by one.
        let is_alone = call.args.iter().all(|arg| match arg.kind {
            ArgKind::Keyword(other) if other != name => {
                deprecated::of_argument(function, &other).is_none_or(|other| other.group != row.group)
                    || row.group.is_none()
            }
            _ => true,
        });
        let fits = |rewrite: &&Rewrite| {
            rewrite.given.is_empty() || rewrite.given.iter().any(|given| *given == format!("{name}={value}"))
        };
        let rewrite = row.rewrite.iter().find(fits).filter(|_| is_alone && !is_open)?;
        if rewrite.write.is_empty() {
            let edit = draft.remove_argument(call, argument)?;
            return self.offered(row, format!("remove `{name}`"), vec![edit], &[], rewrite.guess);
        }
        let written = rewrite.write.replace('$', value);
        let new: Vec<&str> = written.split(", ").filter_map(|one| one.split('=').next()).collect();
        if new.iter().any(|new| draft.keyword(call, new).is_some()) {
            return None;
        }
        let listed = match index::ask(function) {
            Answer::Known(known) => known.keywords.and_then(|all| {
                let (_, span) = all.listed.iter().find(|(one, _)| Some(one) == new.first())?;
                Some(span.first)
            }),
            _ => None,
        };
        let (_, known) = index::of(package)?;
        let came = row.came.as_ref().map_or(listed, |release| known.releases.from(release));
        let came = came.or_else(|| known.releases.from(&row.since))?;
        let edit = draft.replace(argument.span, written.clone());
        let title = format!("write `{}`", written.replace('\n', " "));
        self.offered(row, title, vec![edit], &[(package, came)], rewrite.guess)
    }

    /// The name of a method, as it is called now.
    pub(super) fn rewritten_method(
        &self,
        row: &Row,
        package: &'static str,
        call: Call<'_>,
        place: Span,
    ) -> Option<Fix> {
        let draft = self.draft(self.file);
        let rewrite = row.rewrite.first()?;
        let name = rewrite.write.strip_prefix('.')?;
        let bound = draft.bound(row, call, false)?;
        let is_known = |name: &String| rewrite.only.as_ref().is_none_or(|only| only.contains(name));
        if !bound.iter().all(|(name, _)| is_known(name)) {
            return None;
        }
        // The first is called otherwise, too.
        let first = call.args.first().filter(|first| first.kind == ArgKind::Positional);
        let (_, index) = index::of(package)?;
        let came = index.releases.from(row.came.as_ref().unwrap_or(&row.since))?;
        let edits = first.map(|_| vec![draft.replace(place, name)])?;
        self.offered(row, format!("write `{name}`"), edits, &[(package, came)], rewrite.guess)
    }

    /// What is offered of it: nothing that a release lacks which the project asks for, and where it asks for none,
    /// what not all have that have the rest of the file is a guess.
    fn offered(
        &self,
        row: &Row,
        title: String,
        edits: Vec<Edit>,
        came: &[(&'static str, u8)],
        guess: bool,
    ) -> Option<Fix> {
        let mut is_guess = guess;
        for (package, came) in came {
            let (first, asked) = self.first_release(package, row)?;
            if *came > first {
                if asked {
                    return None;
                }
                is_guess = true;
            }
        }
        Some(if is_guess { Fix::guess(title, edits) } else { Fix::safe(title, edits) })
    }
}

/// `torch.amp.autocast` of `torch.amp.autocast('cuda', ...)`.
fn name_of(write: &str) -> &str {
    write.split('(').next().unwrap_or_default()
}

/// The package that a name is of, and the first release that surely has it; none of what Python has itself.
fn came_with(row: &Row, package: &'static str, name: &str) -> Option<(&'static str, u8)> {
    if !name.contains('.') {
        return None;
    }
    let (own, index) = index::of(package)?;
    if let Some(release) = &row.came {
        return Some((own, index.releases.from(release)?));
    }
    match index::ask(name) {
        Answer::Known(known) => Some((index::of(name)?.0, known.span.first)),
        _ => Some((own, index.releases.from(&row.since)?)),
    }
}

impl<'a> Draft<'a> {
    /// The edits that write a use of a row as the first rewriting says that fits its arguments.
    fn rewritten<'r>(
        &self,
        row: &Row,
        ways: &[&'r Rewrite],
        expr: ExprId,
        local: Option<&str>,
    ) -> Option<(Vec<Edit>, &'r Rewrite)> {
        let call = self.tree().call_of(expr).and_then(|call| self.call(call));
        ways.iter().find_map(|rewrite| {
            let edits = match call {
                Some(call) => self.rewritten_call(row, rewrite, call, local)?,
                None => {
                    let is_free = rewrite.given.is_empty() && rewrite.only.is_none();
                    let plain = Some(&rewrite.write).filter(|write| is_free && !write.contains('('));
                    let write = rewrite.bare.as_ref().or(plain)?;
                    let (said, mut edits) = self.said(name_of(write), local)?;
                    let text = write.replacen(name_of(write), &said, 1);
                    edits.push(self.replace(self.expr(expr).span, text));
                    edits
                }
            };
            Some((edits, *rewrite))
        })
    }

    fn rewritten_call(
        &self,
        row: &Row,
        rewrite: &Rewrite,
        call: Call<'a>,
        local: Option<&str>,
    ) -> Option<Vec<Edit>> {
        let (name, rest) =
            rewrite.write.split_once('(').map_or((&*rewrite.write, None), |(a, b)| (a, Some(b)));
        let takes_all = rest.is_none_or(|rest| rest.contains(ALL));
        // What comes before them would give arguments without a name another place.
        let keeps_places = rest.is_none_or(|rest| rest.starts_with(ALL));
        if takes_all && !keeps_places && call.args.iter().any(|arg| arg.kind == ArgKind::Positional) {
            return None;
        }
        let any = takes_all && keeps_places && rewrite.only.is_none() && rewrite.given.is_empty();
        let bound = self.bound(row, call, any)?;
        let is_given = |given: &String| {
            bound.iter().any(|(name, value)| format!("{name}={}", self.written(*value)) == *given)
        };
        if !rewrite.given.iter().all(is_given) {
            return None;
        }
        let is_known = |name: &str| {
            rewrite.given.iter().any(|given| given.split('=').next() == Some(name))
                || rewrite.only.as_ref().is_none_or(|only| only.iter().any(|one| one == name))
        };
        if !bound.iter().all(|(name, _)| is_known(name)) {
            return None;
        }
        if let Some(only) = name.strip_prefix('$') {
            let (_, value) = bound.iter().find(|(name, _)| name == only)?;
            return Some(vec![self.replace(call.span, self.tight(*value))]);
        }
        let (said, mut edits) = self.said(name, local)?;
        match rest.map(|rest| rest.strip_suffix(')').unwrap_or(rest)) {
            None => edits.push(self.replace(self.expr(call.callee).span, said)),
            Some(rest) if rest.contains(ALL) => {
                edits.push(self.replace(self.expr(call.callee).span, said));
                edits.extend(self.around_arguments(call, rest)?);
            }
            Some(rest) => {
                let mut text = format!("{said}({rest})");
                for (name, value) in &bound {
                    text = text.replace(&format!("${name}"), self.written(*value));
                }
                let is_plain = !text.contains('$') && !self.text(call.span).contains('#');
                edits.push(is_plain.then(|| self.replace(call.span, text))?);
            }
        }
        Some(edits)
    }

    /// `loss.data[0]`, `loss[0]` and `loss.cpu()[0]` as `loss.item()` and `loss.cpu().item()`.
    pub(super) fn number_of(&self, place: Span) -> Option<Vec<Edit>> {
        let ExprKind::Subscript { base, index } = self.expr(self.expr_at(place)?).kind else { return None };
        let ExprKind::Int(0) = self.expr(index).kind else { return None };
        let base = match &self.expr(base).kind {
            ExprKind::Attribute { base, name, .. } if *name == "data" => *base,
            ExprKind::Name(name) if !self.is_asked_about(place, *name) => base,
            ExprKind::Call { callee, args }
                if args.is_empty() && !self.is_asked_about(place, self.holder(*callee)?) =>
            {
                base
            }
            _ => return None,
        };
        Some(vec![self.replace(place, format!("{}.item()", self.tight(base)))])
    }

    /// `loss`, of `loss.data.cpu`: the name whose methods are called, one after the other.
    fn holder(&self, method: ExprId) -> Option<Ustr> {
        let ExprKind::Attribute { base, .. } = self.expr(method).kind else { return None };
        match &self.expr(base).kind {
            ExprKind::Name(name) => Some(*name),
            ExprKind::Attribute { .. } => self.holder(base),
            ExprKind::Call { callee, args } if args.is_empty() => self.holder(*callee),
            _ => None,
        }
    }

    /// Whether a test around a place asks for something of a name: `x[0] if type(x) is tuple else x`.
    fn is_asked_about(&self, place: Span, name: Ustr) -> bool {
        let mentions = |test: ExprId| {
            let is_it = |expr: &Expr| matches!(expr.kind, ExprKind::Name(other) if other == name);
            self.exprs_within(self.expr(test).span).any(is_it)
        };
        let chosen =
            self.tree().exprs.iter().filter(|expr| expr.span.contains(place)).any(|expr| match expr.kind {
                ExprKind::Conditional { test, .. } => mentions(test),
                _ => false,
            });
        chosen
            || self.statements_around(place).into_iter().any(|stmt| match &self.statement(stmt).kind {
                StmtKind::If { arms, .. } => arms.iter().any(|(test, _)| mentions(*test)),
                StmtKind::Try { .. } => true,
                _ => false,
            })
    }

    /// An expression as it is written, in parentheses where something behind it would take a part of it.
    fn tight(&self, value: ExprId) -> String {
        let is_tight = matches!(
            self.expr(value).kind,
            ExprKind::Name(_)
                | ExprKind::Attribute { .. }
                | ExprKind::Call { .. }
                | ExprKind::Subscript { .. }
                | ExprKind::List(_)
        );
        let text = self.written(value);
        if is_tight { text.to_owned() } else { format!("({text})") }
    }

    /// What a template has before and behind all arguments.
    fn around_arguments(&self, call: Call<'a>, template: &str) -> Option<Vec<Edit>> {
        let (before, behind) = template.split_once(ALL)?;
        let open = self.expr(call.callee).span.end + 1;
        let (Some(first), Some(last)) = (call.args.first(), call.args.last()) else {
            let text = format!("{}{}", before.trim_end_matches(", "), behind.trim_start_matches(", "));
            return Some(vec![self.insert(open, text)]);
        };
        let mut edits = Vec::new();
        if !before.is_empty() {
            edits.push(self.insert(first.span.start, before));
        }
        if !behind.is_empty() {
            edits.push(self.insert(last.span.end, behind));
        }
        Some(edits)
    }

    /// The arguments by the names of their parameters; `None` where one has no name. Where `any` may be given, those
    /// are left out.
    fn bound(&self, row: &Row, call: Call<'a>, any: bool) -> Option<Vec<(String, ExprId)>> {
        let mut bound = Vec::new();
        for (at, arg) in call.args.iter().enumerate() {
            match (arg.kind, row.params.get(at)) {
                (ArgKind::Keyword(name), _) => bound.push((name.to_string(), arg.value)),
                (ArgKind::Positional, Some(name)) => bound.push((name.clone(), arg.value)),
                _ if any => {}
                _ => return None,
            }
        }
        Some(bound)
    }

    /// What to write for a name, which an import may have bound: also one of Python itself, which nothing may hide.
    fn said(&self, name: &str, local: Option<&str>) -> Option<(String, Vec<Edit>)> {
        if let Some(local) = local {
            return Some((local.to_owned(), Vec::new()));
        }
        if name.contains('.') {
            return self.say(name);
        }
        (!self.is_bound(name)).then(|| (name.to_owned(), Vec::new()))
    }

    /// What `from a import b` binds, written as it is now wherever it is used, and imported no more.
    fn rewritten_import(
        &self,
        row: &'static Row,
        ways: &[&'static Rewrite],
        path: &str,
        place: Span,
    ) -> Option<Written> {
        let (stmt, item, items) = self.import_item(place)?;
        if self.is_exported(item.alias.unwrap_or(item.name).as_str()) {
            return None;
        }
        let uses = uses_of_import(self.tree(), self.names(), path)?;
        let rename = ways.first().copied().filter(|one| {
            one.given.is_empty() && one.only.is_none() && !one.write.contains('(') && one.write.contains('.')
        });
        let (own, _) = path.rsplit_once('.')?;
        if let Some(moved) = self.moved_import(stmt, items, own, ways.first()?) {
            return Some(moved);
        }
        // The same module has it under another name.
        if let Some(rename) = rename
            && let Some((module, new)) = rename.write.rsplit_once('.')
            && own == module
        {
            let old = Span::new(item.span.start, item.span.start + item.name.len() as u32);
            let mut edits = vec![self.replace(old, new)];
            if item.alias.is_none() {
                if self.is_bound(new) {
                    return None;
                }
                edits.extend(uses.iter().map(|one| self.replace(self.expr(*one).span, new)));
            }
            return Some((edits, vec![(row, rename)]));
        }
        let mut edits: Vec<Edit> = Vec::new();
        let mut used = Vec::new();
        for one in &uses {
            let (more, rewrite) = self.rewritten(row, ways, *one, None)?;
            edits.extend(more.into_iter().filter(|edit| !edits.contains(edit)).collect::<Vec<_>>());
            used.push((row, rewrite));
        }
        self.without_item(stmt, item, items, edits).map(|edits| (edits, used))
    }

    /// An import of which another module has everything under the same names: it comes from there, and what it binds
    /// is used as it is now.
    fn moved_import(
        &self,
        stmt: StmtId,
        items: &[ImportItem],
        own: &str,
        first: &Rewrite,
    ) -> Option<Written> {
        let (module, _) = name_of(&first.write).rsplit_once('.')?;
        let start = self.statement(stmt).span.start + "from ".len() as u32;
        let at = Span::new(start, start + own.len() as u32);
        let mut edits = vec![(self.text(at) == own && module != own).then(|| self.replace(at, module))?];
        let mut used = Vec::new();
        for item in items {
            let path = format!("{own}.{}", item.name);
            let row = deprecated::of(&path)?;
            let is_moved =
                |one: &&Rewrite| name_of(&one.write).rsplit_once('.') == Some((module, &item.name));
            let ways: Vec<&'static Rewrite> = row.rewrite.iter().filter(is_moved).collect();
            used.push((row, *ways.first()?));
            let is_plain =
                |one: &&&Rewrite| one.given.is_empty() && one.only.is_none() && !one.write.contains('(');
            if ways.iter().any(|one| is_plain(&one)) {
                continue;
            }
            let local = item.alias.unwrap_or(item.name);
            for one in uses_of_import(self.tree(), self.names(), &path)? {
                edits.extend(self.rewritten(row, &ways, one, Some(&local))?.0);
            }
        }
        Some((edits, used))
    }

    /// The edits, and one that takes an item out of an import; an import that these add takes the place of a statement
    /// of which nothing is left.
    fn without_item(
        &self,
        stmt: StmtId,
        item: &ImportItem,
        items: &[ImportItem],
        mut edits: Vec<Edit>,
    ) -> Option<Vec<Edit>> {
        let at = items.iter().position(|one| one.span == item.span)?;
        let span = match (at.checked_sub(1).map(|before| &items[before]), items.get(at + 1)) {
            (_, Some(next)) => Span::new(item.span.start, next.span.start),
            (Some(before), None) => Span::new(before.span.end, item.span.end),
            (None, None) => {
                let added = edits.iter().position(|edit| edit.text.starts_with("\nimport "));
                let edit = match added.map(|at| edits.remove(at)) {
                    Some(import) => self.replace(self.statement(stmt).span, import.text.trim()),
                    None => self.remove(self.line(stmt)?)?,
                };
                edits.push(edit);
                return Some(edits);
            }
        };
        edits.push((!self.text(span).contains('#')).then(|| self.replace(span, ""))?);
        Some(edits)
    }

    /// The item of an import that is written at a place, with its statement and those beside it.
    fn import_item(&self, place: Span) -> Option<(StmtId, &'a ImportItem, &'a [ImportItem])> {
        let stmt = self.statement_at(place)?;
        let StmtKind::ImportFrom { names: ImportNames::Items(items), .. } = &self.statement(stmt).kind else {
            return None;
        };
        Some((stmt, items.iter().find(|item| item.span == place)?, items))
    }
}
