//! Results for people: the verdict first, then what it rests on.

use super::outcome::{Counts, Expression, First, Outcome, Results, Row, Shown, Verdict};
use crate::report::steers;
use crate::report::units::count;
use std::fmt::Write;

/// More numbers of a row are not repeated.
const MOST_NUMBERS: usize = 8;

/// All results, and a last line that counts them.
pub fn text(results: &Results, color: bool) -> String {
    let mut text = String::new();
    for item in &results.items {
        one(&mut text, item, color);
        text.push('\n');
    }
    text.push_str(&summary(results));
    text
}

// Writing to a string does not fail, so what `write!` gives is left aside below.

fn one(text: &mut String, item: &Outcome, color: bool) {
    let place = format!("{}:{}:{}", clean(&item.path), item.line, item.column);
    let rule = paint(&clean(&item.rule), "36", color);
    let _ = writeln!(text, "{} {rule}: {}", paint(&place, "1", color), clean(&item.message));
    let _ = writeln!(text, "  {}", verdict(item, color));
    for line in evidence(item) {
        let _ = writeln!(text, "    {line}");
    }
}

/// The verdict, what stands behind it, and why there is none.
pub fn verdict(item: &Outcome, color: bool) -> String {
    let mut text = paint(item.verdict.name(), code(item.verdict), color);
    if let Some(evidence) = item.evidence {
        let _ = write!(text, " ({})", evidence.name());
    }
    if let Some(reason) = &item.reason {
        let _ = write!(text, ": {}", clean(reason));
    }
    text
}

/// What was measured, a line each.
pub fn evidence(item: &Outcome) -> Vec<String> {
    let mut lines: Vec<String> = item.facts.iter().map(|fact| clean(fact)).collect();
    if let Some(expr) = &item.expr {
        expression(&mut lines, item, expr);
    }
    lines
}

fn expression(lines: &mut Vec<String>, item: &Outcome, expr: &Expression) {
    lines.push(counted(item.verdict, expr));
    if expr.ordinary.samples > 0 && !is_clean(expr.counts) {
        let (bad, of) = (worst(expr.ordinary), expr.ordinary.samples);
        lines.push(format!("with ordinary inputs, {} of {}", share(bad, of), grouped(of)));
    }
    for input in &expr.inputs {
        lines.push(format!("`{}`: {}", clean(&input.name), clean(&input.domain)));
    }
    if let Some(witness) = &expr.witness {
        let inputs: Vec<String> = witness.inputs.iter().map(|row| shown(row, true)).collect();
        lines.push(format!("witness: {}", inputs.join(", ")));
        lines.extend(given(expr, witness));
    }
    if let Some(failure) = &expr.failure {
        lines.push(format!("first failure: {}", first(failure)));
    }
    if let Some(repaired) = &expr.repaired {
        lines.push(match repaired.samples {
            0 => "with the repair: not run, out of time".to_owned(),
            samples => format!("with the repair: {} of {}", grouped(worst(*repaired)), grouped(samples)),
        });
    }
}

/// What comes of the witness.
fn given(expr: &Expression, witness: &Shown) -> Option<String> {
    if let Some(compared) = &expr.compared {
        let differ = compared.differ.as_ref()?;
        let (input, should, gives) =
            (clean(&compared.input), numbers(&differ.should), numbers(&differ.gives));
        return Some(format!(
            "the derivative with respect to `{input}` is {should}, but `backward` returns {gives}"
        ));
    }
    let mut gives = format!("gives {}", numbers(&witness.result));
    if let Some(gradient) = &witness.gradient {
        let _ = write!(gives, ", gradient of `{}` {}", clean(&gradient.name), numbers(gradient));
    }
    Some(gives)
}

fn counted(verdict: Verdict, expr: &Expression) -> String {
    let Counts { samples, forward, gradient } = expr.counts;
    let of = format!("{} samples in {}", grouped(samples), expr.dtype);
    if expr.compared.is_some() {
        return match forward {
            0 => {
                format!("`backward` returned the derivative for all of {of}; this does not prove it correct")
            }
            _ => format!("`backward` does not return the derivative for {} of {of}", share(forward, samples)),
        };
    }
    match (verdict, forward, gradient) {
        (_, 0, 0) => format!("no NaN or inf in {of}; this does not prove it cannot happen"),
        (_, 0, gradient) => format!("the gradient is NaN or inf in {} of {of}", share(gradient, samples)),
        (_, forward, 0) => format!("the result is NaN or inf in {} of {of}", share(forward, samples)),
        (_, forward, gradient) => format!(
            "NaN or inf: the result in {}, a gradient in {} of {of}",
            share(forward, samples),
            share(gradient, samples)
        ),
    }
}

fn is_clean(counts: Counts) -> bool {
    counts.forward == 0 && counts.gradient == 0
}

fn worst(counts: Counts) -> u64 {
    counts.forward.max(counts.gradient)
}

fn first(failure: &First) -> String {
    let operands: Vec<&str> = failure.operands.iter().map(|one| one.decimal.as_str()).collect();
    let part = failure.part_of.as_deref().filter(|part| *part != failure.operation);
    let part = part.map_or_else(String::new, |part| format!(" of `{part}`"));
    let side = if failure.backward { " in the gradient" } else { "" };
    let mut text = format!(
        "the {}{side}{part}, ({}) gives {}",
        failure.operation,
        operands.join(", "),
        failure.result.decimal
    );
    if let (Some(path), Some(line), Some(column)) = (&failure.path, failure.line, failure.column) {
        let _ = write!(text, ", at {}:{line}:{column}", clean(path));
    }
    if let Some(code) = &failure.text {
        let _ = write!(text, " `{}`", clean(code));
    }
    if let Some(from) = &failure.fails_from {
        let _ = write!(text, "; it fails from {} on", from.decimal);
    }
    text
}

fn shown(row: &Row, with_bits: bool) -> String {
    let mut text = format!("{} = {}", clean(&row.name), numbers(row));
    if with_bits {
        let bits: Vec<&str> = distinct(row).iter().map(|one| one.bits.as_str()).collect();
        let _ = write!(text, " ({})", bits.join(", "));
    }
    text
}

/// The numbers of a row, or the one that all of them are.
fn distinct(row: &Row) -> &[super::outcome::Figure] {
    let same = row.numbers.windows(2).all(|pair| pair[0] == pair[1]);
    &row.numbers[..if same { row.numbers.len().min(1) } else { row.numbers.len().min(MOST_NUMBERS) }]
}

fn numbers(row: &Row) -> String {
    let texts: Vec<String> = distinct(row).iter().map(|one| clean(&one.decimal)).collect();
    match (texts.as_slice(), row.numbers.len()) {
        ([one], 1) => one.clone(),
        ([one], _) => format!("[{one}, …]"),
        (several, _) => format!("[{}]", several.join(", ")),
    }
}

/// A count, and how much of the whole it is.
fn share(count: u64, of: u64) -> String {
    let percent = 100.0 * count as f64 / of.max(1) as f64;
    if count == 0 { "none".to_owned() } else { format!("{} ({percent:.2} %)", grouped(count)) }
}

fn grouped(number: u64) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX))
}

/// How many of each verdict there are, and on what they ran.
pub fn summary(results: &Results) -> String {
    let of = |verdict| results.items.iter().filter(|item| item.verdict == verdict).count();
    let measured = match of(Verdict::Measured) {
        0 => String::new(),
        several => format!(" {several} measured,"),
    };
    format!(
        "{} replayed in {:.1} s on {}: {} confirmed, {} not reproduced,{measured} {} inconclusive (seed {})\n",
        results.items.len(),
        results.seconds,
        clean(&results.device.name),
        of(Verdict::Confirmed),
        of(Verdict::NotReproduced),
        of(Verdict::Inconclusive),
        results.seed,
    )
}

/// Without characters that would command the terminal: results may come from anybody.
pub fn clean(text: &str) -> String {
    text.chars().map(|letter| if steers(letter) { ' ' } else { letter }).collect()
}

fn code(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Confirmed => "1;31",
        Verdict::NotReproduced => "1;32",
        Verdict::Measured => "1;36",
        Verdict::Inconclusive => "1;33",
    }
}

fn paint(text: &str, code: &str, color: bool) -> String {
    if color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
