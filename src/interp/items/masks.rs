//! Rows of a table that its own columns choose, where nothing is known of the columns.

use crate::interp::Interp;
use crate::syntax::{BinaryOp, ExprId, ExprKind, UnaryOp};
use crate::values::*;
use std::rc::Rc;

/// `table[table.fold != 1]`: whatever a column holds, what is compared says of each row whether it is chosen.
pub(super) fn mask_of_own_rows(
    interp: &Interp<'_>,
    base: ExprId,
    container: &Value,
    at: ExprId,
    index: Value,
) -> Value {
    let Value::Tensor(table) = container.bare() else { return index };
    let Some([rows, _]) = table.shape.as_deref().filter(|_| table.is_array) else { return index };
    if !index.is_unknown() || !interp.compares_columns(base, at) {
        return index;
    }
    Value::tensor(Tensor {
        shape: Some(Rc::from([rows.clone()])),
        dtype: Some(DType::Bool),
        source: Source::Mask,
        graph: Graph::None,
        is_array: true,
        ..Tensor::default()
    })
}

impl Interp<'_> {
    fn compares_columns(&self, table: ExprId, mask: ExprId) -> bool {
        match &self.here().expr(mask).kind {
            ExprKind::Compare { first, .. } => self.is_column(table, *first),
            ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, left, right } => {
                self.compares_columns(table, *left) && self.compares_columns(table, *right)
            }
            ExprKind::Unary { op: UnaryOp::Invert, operand } => self.compares_columns(table, *operand),
            _ => false,
        }
    }

    /// `table.name`, and what is made of it: `table.name.str.len()`.
    fn is_column(&self, table: ExprId, part: ExprId) -> bool {
        match self.here().expr(part).kind {
            ExprKind::Attribute { base, .. } => self.same_target(table, base) || self.is_column(table, base),
            ExprKind::Call { callee, .. } => self.is_column(table, callee),
            _ => false,
        }
    }
}
