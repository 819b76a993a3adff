//! The patterns of `case`: the names that they bind.

use super::{Kind, Lowering, MAX_DEPTH, span_of};
use tree_sitter::Node;
use ustr::Ustr;

impl<'t> Lowering<'t> {
    /// Adds the names that the pattern under the cursor binds; whether it matches anything.
    pub(super) fn pattern(&mut self, kind: Kind, node: Node<'t>, binds: &mut Vec<Ustr>) -> bool {
        if self.depth >= MAX_DEPTH {
            self.scan();
            return false;
        }
        self.depth += 1;
        let irrefutable = match kind {
            Kind::CasePattern => self.case_pattern(binds),
            Kind::DottedName => self.capture(span_of(node), binds),
            Kind::Underscore => true,
            Kind::AsPattern => self.named_pattern(binds),
            Kind::ClassPattern | Kind::KeywordPattern => {
                // The class and the keyword come first and bind nothing.
                let mut first = true;
                self.each(|lowering, kind, node| {
                    if !std::mem::take(&mut first) {
                        lowering.pattern(kind, node, binds);
                    }
                });
                false
            }
            Kind::SplatPattern => {
                self.each(|lowering, kind, node| {
                    if kind == Kind::Identifier {
                        lowering.bind(span_of(node), binds);
                    }
                });
                false
            }
            Kind::UnionPattern | Kind::ListPattern | Kind::TuplePattern | Kind::DictPattern => {
                self.each(|lowering, kind, node| {
                    lowering.pattern(kind, node, binds);
                });
                false
            }
            _ => {
                self.scan();
                false
            }
        };
        self.depth -= 1;
        irrefutable
    }

    fn case_pattern(&mut self, binds: &mut Vec<Ustr>) -> bool {
        let mut irrefutable = false;
        self.each(|lowering, kind, node| irrefutable = lowering.pattern(kind, node, binds));
        irrefutable
    }

    /// `pattern as name`
    fn named_pattern(&mut self, binds: &mut Vec<Ustr>) -> bool {
        let mut irrefutable = false;
        self.each(|lowering, kind, node| match kind {
            Kind::Identifier => lowering.bind(span_of(node), binds),
            Kind::CasePattern => irrefutable = lowering.pattern(kind, node, binds),
            _ => {}
        });
        irrefutable
    }

    /// A bare name captures; a dotted one is compared with.
    fn capture(&mut self, span: crate::report::Span, binds: &mut Vec<Ustr>) -> bool {
        if self.text_of(span).contains('.') {
            return false;
        }
        self.bind(span, binds);
        true
    }

    fn bind(&mut self, span: crate::report::Span, binds: &mut Vec<Ustr>) {
        let name = self.name(span);
        if name != "_" && !binds.contains(&name) {
            binds.push(name);
        }
    }
}
