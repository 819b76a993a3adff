//! Demands for memory, compared with what a card has. The capacity is given, not measured: this is arithmetic,
//! and it says so.

use super::outcome::{Evidence, Verdict};
use super::plan::Memory;
use super::run::Judged;

pub fn judge(memory: &Memory) -> Judged {
    let demand = &memory.demand;
    let mut facts = vec![format!("{} takes at least {}", demand.what, bytes(demand.least))];
    let grown = demand.each_step.zip(demand.steps).map(|(each, steps)| each.saturating_mul(steps));
    if let (Some(each), Some(grown)) = (demand.each_step, grown) {
        facts.push(format!("{} stay behind at each step, {} in all steps", bytes(each), bytes(grown)));
    }
    let needed = demand.least.saturating_add(grown.unwrap_or(0));
    facts.push(format!("{} has {} (given, not measured)", memory.card, bytes(memory.capacity)));
    if needed > memory.capacity {
        if let Some(steps) = until_full(memory) {
            facts.push(format!("full after {steps} steps"));
        }
        return judged(Verdict::Confirmed, None, facts);
    }
    if demand.each_step.is_some() && demand.steps.is_none() {
        if let Some(steps) = until_full(memory) {
            facts.push(format!("full after {steps} steps"));
        }
        return judged(Verdict::Inconclusive, Some("how many steps there are is not known"), facts);
    }
    // What is needed at least fits; what is needed besides is not known.
    judged(Verdict::Inconclusive, Some("what is needed at least fits the card"), facts)
}

fn judged(verdict: Verdict, reason: Option<&str>, facts: Vec<String>) -> Judged {
    Judged {
        verdict,
        evidence: (verdict == Verdict::Confirmed).then_some(Evidence::Capacity),
        reason: reason.map(str::to_owned),
        expr: None,
        facts,
    }
}

fn until_full(memory: &Memory) -> Option<u64> {
    let each = memory.demand.each_step.filter(|each| *each > 0)?;
    Some(memory.capacity.saturating_sub(memory.demand.least) / each)
}

/// Bytes in the unit that makes them short.
fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::replay::Demand;

    const GIB: u64 = 1 << 30;

    fn memory(least: u64, each_step: Option<u64>, steps: Option<u64>) -> Memory {
        let demand = Demand { what: "the whole dataset".to_owned(), least, each_step, steps };
        Memory { demand, capacity: 80 * GIB, card: "a100-80g".to_owned() }
    }

    #[test]
    fn only_more_than_the_card_has_is_confirmed() {
        let judged = judge(&memory(100 * GIB, None, None));
        assert_eq!((judged.verdict, judged.evidence), (Verdict::Confirmed, Some(Evidence::Capacity)));
        assert_eq!(judged.facts[0], "the whole dataset takes at least 100.0 GiB");
        assert_eq!(judged.facts[1], "a100-80g has 80.0 GiB (given, not measured)");
        assert_eq!(judge(&memory(10 * GIB, None, None)).verdict, Verdict::Inconclusive);
    }

    #[test]
    fn growth_needs_its_number_of_steps() {
        let known = judge(&memory(GIB, Some(1 << 20), Some(1 << 20)));
        assert_eq!(known.verdict, Verdict::Confirmed);
        assert!(known.facts.contains(&"full after 80896 steps".to_owned()), "{:?}", known.facts);
        let unknown = judge(&memory(GIB, Some(1 << 20), None));
        assert_eq!(unknown.verdict, Verdict::Inconclusive);
        assert!(unknown.facts.contains(&"full after 80896 steps".to_owned()));
    }
}
