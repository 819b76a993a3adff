//! What the kernels call an operation: its number in the interpreter, and its function in `numbers.cuh`.

use crate::replay::ir::{Binary, Reduce, Unary};
use crate::report::replay::Float;

pub(crate) fn unary(op: Unary) -> (u32, &'static str) {
    match op {
        Unary::Neg => (0, "f_neg"),
        Unary::Abs => (1, "f_abs"),
        Unary::Sign => (2, "f_sign"),
        Unary::Exp => (3, "f_exp"),
        Unary::Exp2 => (4, "f_exp2"),
        Unary::Expm1 => (5, "f_expm1"),
        Unary::Log => (6, "f_log"),
        Unary::Log2 => (7, "f_log2"),
        Unary::Log10 => (8, "f_log10"),
        Unary::Log1p => (9, "f_log1p"),
        Unary::Sqrt => (10, "f_sqrt"),
        Unary::Rsqrt => (11, "f_rsqrt"),
        Unary::Sin => (12, "f_sin"),
        Unary::Cos => (13, "f_cos"),
        Unary::Tan => (14, "f_tan"),
        Unary::Asin => (15, "f_asin"),
        Unary::Acos => (16, "f_acos"),
        Unary::Atan => (17, "f_atan"),
        Unary::Atanh => (18, "f_atanh"),
        Unary::Sinh => (19, "f_sinh"),
        Unary::Cosh => (20, "f_cosh"),
        Unary::Tanh => (21, "f_tanh"),
        Unary::Erf => (22, "f_erf"),
        Unary::IsNan => (23, "f_isnan"),
        Unary::Copy => (24, "f_copy"),
    }
}

pub(crate) fn binary(op: Binary) -> (u32, &'static str) {
    match op {
        Binary::Add => (0, "f_add"),
        Binary::Sub => (1, "f_sub"),
        Binary::Mul => (2, "f_mul"),
        Binary::Div => (3, "f_div"),
        Binary::Pow => (4, "f_pow"),
        Binary::Max => (5, "f_max"),
        Binary::Min => (6, "f_min"),
        Binary::Lt => (7, "f_lt"),
        Binary::Le => (8, "f_le"),
        Binary::Gt => (9, "f_gt"),
        Binary::Ge => (10, "f_ge"),
        Binary::Eq => (11, "f_eq"),
        Binary::Ne => (12, "f_ne"),
    }
}

/// A reduction by the function that joins two numbers.
pub(crate) fn reduce(op: Reduce) -> (u32, &'static str) {
    match op {
        Reduce::Sum => (0, "f_add"),
        Reduce::Mean => (1, "f_add"),
        Reduce::Prod => (2, "f_mul"),
        Reduce::Max => (3, "f_max"),
        Reduce::Min => (4, "f_min"),
    }
}

pub(crate) fn float(dtype: Float) -> (u32, &'static str) {
    match dtype {
        Float::F16 => (0, "TYPE_F16"),
        Float::Bf16 => (1, "TYPE_BF16"),
        Float::F32 => (2, "TYPE_F32"),
        Float::F64 => (3, "TYPE_F64"),
    }
}
