//! Demands for memory, compared with what a card has. The capacity of the card that the run is meant for is given;
//! what was measured is that of the card at hand, and each is called what it is.

use super::outcome::{Evidence, Verdict};
use super::plan::Memory;
use super::run::{Judged, Measured};
use crate::facts::units::bytes;

pub fn judge(memory: &Memory, measured: Option<Measured>) -> Judged {
    let mut judged = judge_given(memory);
    judged.facts.extend(measured.map(|measured| here(memory, measured)));
    judged
}

/// What the card at hand has to say.
fn here(memory: &Memory, measured: Measured) -> String {
    let room = measured.total.saturating_sub(measured.context);
    let verdict =
        if memory.demand.least > room { "does not fit" } else { "fits, if nothing else lies there," };
    format!(
        "the GPU at hand has {} (measured: {} free; a context takes {}, pieces are of {}): what is needed at least \
         {verdict} there",
        bytes(measured.total),
        bytes(measured.free),
        bytes(measured.context),
        bytes(measured.granule)
    )
}

fn judge_given(memory: &Memory) -> Judged {
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
        let judged = judge(&memory(100 * GIB, None, None), None);
        assert_eq!((judged.verdict, judged.evidence), (Verdict::Confirmed, Some(Evidence::Capacity)));
        assert_eq!(judged.facts[0], "the whole dataset takes at least 107 GB");
        assert_eq!(judged.facts[1], "a100-80g has 85.9 GB (given, not measured)");
        assert_eq!(judge(&memory(10 * GIB, None, None), None).verdict, Verdict::Inconclusive);
    }

    #[test]
    fn growth_needs_its_number_of_steps() {
        let known = judge(&memory(GIB, Some(1 << 20), Some(1 << 20)), None);
        assert_eq!(known.verdict, Verdict::Confirmed);
        assert!(known.facts.contains(&"full after 80896 steps".to_owned()), "{:?}", known.facts);
        let unknown = judge(&memory(GIB, Some(1 << 20), None), None);
        assert_eq!(unknown.verdict, Verdict::Inconclusive);
        assert!(unknown.facts.contains(&"full after 80896 steps".to_owned()));
    }

    #[test]
    fn the_card_at_hand_is_told_beside_the_given_one() {
        let measured = Measured { total: 8 * GIB, free: 6 * GIB, context: GIB / 2, granule: 2 << 20 };
        let judged = judge(&memory(10 * GIB, None, None), Some(measured));
        assert_eq!(judged.verdict, Verdict::Inconclusive);
        let told = judged.facts.last().map(String::as_str).unwrap_or_default();
        assert!(told.starts_with("the GPU at hand has 8.6 GB (measured: 6.4 GB free;"), "{told}");
        assert!(told.ends_with("what is needed at least does not fit there"), "{told}");
    }
}
