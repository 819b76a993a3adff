//! A graph as a kernel of its own: the same functions as the interpreter calls, written out one after the other.

use super::encode::lanes;
use super::{PRELUDE, names};
use crate::replay::ir::{Graph, Id, Op, Reduce};
use crate::report::replay::Float;
use std::fmt::Write;

/// The name of the kernel.
pub const NAME: &str = "fused";

/// CUDA C that any NVRTC compiles, without headers.
pub fn source(graph: &Graph) -> String {
    format!("{PRELUDE}\n{}", kernel(graph, NAME))
}

/// What follows the common part: one kernel.
pub fn kernel(graph: &Graph, name: &str) -> String {
    let real = if graph.is_wide() { "double" } else { "float" };
    let mut text = format!("typedef {real} R;\n\nextern \"C\" __global__ void {name}(JOB(R)) {{\n");
    text.push_str(
        "  JOB_OF(R);
  u32 threads = gridDim.x * blockDim.x, own = blockIdx.x * blockDim.x + threadIdx.x;
  Tally tally = nothing();
  for (u32 index = own; index < job.count; index += threads) {
    Sample sample = begin(job, index);
",
    );
    (0..graph.nodes.len()).for_each(|index| node(&mut text, graph, Id(index as u32)));
    let gradients = graph.gradients.iter().map(|(_, id)| (*id, true));
    for (id, gradient) in std::iter::once((graph.output, false)).chain(gradients) {
        for lane in 0..lanes(graph, id) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "    tell(job, sample, n{id}[{lane}], {gradient});", id = id.0);
        }
    }
    text.push_str("    add(tally, sample);\n  }\n  hand_in(tally, job.found);\n}\n");
    text
}

fn node(text: &mut String, graph: &Graph, id: Id) {
    let node = graph.node(id);
    let lanes = lanes(graph, id);
    let value = rounded(node.dtype, graph, &value(graph, node.op));
    let number = id.0;
    let _ = match node.op {
        Op::Reduce(op, x) => reduction(text, graph, id, op, x),
        _ => writeln!(
            text,
            "    R n{number}[{lanes}];
    for (u32 lane = 0; lane < {lanes}; lane++) n{number}[lane] = {value};"
        ),
    };
}

fn value(graph: &Graph, op: Op) -> String {
    let at = |id: Id| operand(graph, id);
    match op {
        Op::Input(index) => format!("number_of(job, sample, {index}, lane)"),
        Op::Const(value) => format!("from_bits({:#018x}ull, R())", value.bits()),
        Op::Unary(op, x) => format!("{}({})", names::unary(op).1, at(x)),
        Op::Binary(op, x, y) => format!("{}({}, {})", names::binary(op).1, at(x), at(y)),
        Op::Where(condition, then, otherwise) => {
            format!("f_where({}, {}, {})", at(condition), at(then), at(otherwise))
        }
        Op::Fill(x) | Op::Reduce(_, x) => at(x),
    }
}

/// A single number stands in every lane.
fn operand(graph: &Graph, id: Id) -> String {
    let lane = if lanes(graph, id) == 1 { "0" } else { "lane" };
    format!("n{}[{lane}]", id.0)
}

fn rounded(dtype: Float, graph: &Graph, value: &str) -> String {
    let computed = if graph.is_wide() { Float::F64 } else { Float::F32 };
    if dtype == computed { value.to_owned() } else { format!("rounded({value}, {})", names::float(dtype).1) }
}

fn reduction(text: &mut String, graph: &Graph, id: Id, op: Reduce, x: Id) -> std::fmt::Result {
    let (own, over, count) = (id.0, x.0, lanes(graph, x));
    let join = names::reduce(op).1;
    writeln!(text, "    R n{own}[1] = {{n{over}[0]}};")?;
    writeln!(
        text,
        "    for (u32 lane = 1; lane < {count}; lane++) n{own}[0] = {join}(n{own}[0], n{over}[lane]);"
    )?;
    let mean = if op == Reduce::Mean { format!(" / R({count})") } else { String::new() };
    writeln!(text, "    n{own}[0] = {};", rounded(graph.node(id).dtype, graph, &format!("n{own}[0]{mean}")))
}
