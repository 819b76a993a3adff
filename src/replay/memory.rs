//! Demands for memory, compared with what a card has. The capacity of the card that the run is meant for is given;
//! what was measured is that of the card at hand, and each is called what it is.

use super::outcome::{Evidence, Limit, Line, Picture, Verdict};
use super::plan::Memory;
use super::run::{Judged, Measured};
use crate::report::units::{bytes, count};

const GIB: f64 = (1u64 << 30) as f64;
/// Points of a line that is straight but for rounding.
const POINTS: u64 = 16;

pub(crate) fn judge(memory: &Memory, measured: Option<Measured>) -> Judged {
    let mut judged = judge_given(memory);
    judged.facts.extend(measured.map(|measured| here(memory, measured)));
    judged
}

/// What the card at hand has to say.
fn here(memory: &Memory, measured: Measured) -> String {
    let room = measured.total.saturating_sub(measured.context);
    let verdict =
        if memory.demand.least > room { "does not fit" } else { "fits, if nothing else is in its memory," };
    // Both are differences of what is free: nothing, where another process gave memory back meanwhile.
    let told =
        |what: &str, size: u64| if size == 0 { String::new() } else { format!("; {what} {}", bytes(size)) };
    let context = told("a CUDA context takes", measured.context);
    let granule = told("the allocation granularity is", measured.granule);
    format!(
        "the GPU of this machine has {} (measured: {} free{context}{granule}): the minimum {verdict} there",
        bytes(measured.total),
        bytes(measured.free)
    )
}

fn judge_given(memory: &Memory) -> Judged {
    let demand = &memory.demand;
    let mut facts = Vec::new();
    if demand.least > 0 {
        facts.push(format!("{} takes at least {}", demand.what, bytes(demand.least)));
    }
    if let Some(each) = demand.each_step {
        facts.push(match demand.steps {
            Some(steps) => format!(
                "{} are leaked per step, {} in {} steps",
                bytes(each),
                bytes(each.saturating_mul(steps)),
                grouped(steps)
            ),
            None => format!("{} are leaked per step", bytes(each)),
        });
    }
    facts.push(format!("{} has {} (given, not measured)", memory.card, bytes(memory.capacity)));
    facts.extend(most_samples(memory));
    facts.extend(until_full(memory).map(|steps| format!("full after {} steps", grouped(steps))));
    let (verdict, reason) = verdict(memory);
    Judged {
        verdict,
        evidence: (verdict != Verdict::Inconclusive).then_some(Evidence::Capacity),
        backend: None,
        reason: reason.map(str::to_owned),
        expr: None,
        facts,
        picture: Some(picture(memory)),
    }
}

fn verdict(memory: &Memory) -> (Verdict, Option<&'static str>) {
    let demand = &memory.demand;
    let grown = demand.each_step.zip(demand.steps).map_or(0, |(each, steps)| each.saturating_mul(steps));
    if demand.least.saturating_add(grown) > memory.capacity {
        return (Verdict::Confirmed, None);
    }
    // What grows, grows, and what is wasted is wasted: that is arithmetic, and no trial that could have failed.
    if demand.each_step.is_some() || demand.wasted {
        return (Verdict::Measured, None);
    }
    // What is needed besides is not known.
    (Verdict::Inconclusive, Some("the minimum that is needed fits the card"))
}

fn until_full(memory: &Memory) -> Option<u64> {
    let each = memory.demand.each_step.filter(|each| *each > 0)?;
    Some(memory.capacity.saturating_sub(memory.demand.least) / each)
}

fn most_samples(memory: &Memory) -> Option<String> {
    let demand = &memory.demand;
    let samples = demand.samples.filter(|samples| *samples > 0 && demand.least > memory.capacity)?;
    let fitting = u128::from(memory.capacity) * u128::from(samples) / u128::from(demand.least);
    Some(format!("{} of {} samples would fill it", grouped(fitting as u64), grouped(samples)))
}

fn grouped(number: u64) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Demand over what it grows with: steps, samples at once, or a share of all.
fn picture(memory: &Memory) -> Picture {
    let demand = &memory.demand;
    let (x, from, each, most) = match (demand.each_step, demand.samples) {
        (Some(each), _) => {
            let most = demand.steps.or(until_full(memory)).unwrap_or(1).max(1);
            ("step", demand.least as f64, each as f64, most as f64)
        }
        (None, Some(samples)) => {
            ("samples in a batch", 0.0, demand.least as f64 / samples.max(1) as f64, samples as f64)
        }
        (None, None) => ("% of it", 0.0, demand.least as f64 / 100.0, 100.0),
    };
    let points = (0..=POINTS).map(|index| {
        let at = most * index as f64 / POINTS as f64;
        [at, (from + each * at) / GIB]
    });
    Picture::Lines {
        x: x.to_owned(),
        y: "GiB".to_owned(),
        lines: vec![Line { name: "needed at least".to_owned(), points: points.collect() }],
        limit: Some(Limit { name: memory.card.clone(), value: memory.capacity as f64 / GIB }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::replay::Demand;

    const GIB: u64 = 1 << 30;

    fn memory(demand: Demand) -> Memory {
        Memory { demand, capacity: 80 * GIB, card: "a100-80g".to_owned() }
    }

    fn says(judged: &Judged, fact: &str) {
        assert!(judged.facts.iter().any(|one| one == fact), "{fact} is not in {:?}", judged.facts);
    }

    #[test]
    fn only_more_than_the_card_has_is_confirmed() {
        let judged =
            judge_given(&memory(Demand { samples: Some(1000), ..Demand::of("the batch", 100 * GIB) }));
        assert_eq!((judged.verdict, judged.evidence), (Verdict::Confirmed, Some(Evidence::Capacity)));
        says(&judged, "the batch takes at least 100 GiB");
        says(&judged, "a100-80g has 80 GiB (given, not measured)");
        says(&judged, "800 of 1,000 samples would fill it");
        assert_eq!(judge_given(&memory(Demand::of("the batch", 10 * GIB))).verdict, Verdict::Inconclusive);
    }

    #[test]
    fn growth_is_a_number_until_it_is_too_much() {
        let grows = |steps| Demand { each_step: Some(1 << 20), steps, ..Demand::of("the graph", GIB) };
        let known = judge_given(&memory(grows(Some(1 << 20))));
        assert_eq!(known.verdict, Verdict::Confirmed);
        says(&known, "full after 80,896 steps");
        let unknown = judge_given(&memory(grows(None)));
        assert_eq!(unknown.verdict, Verdict::Measured);
        says(&unknown, "1 MiB are leaked per step");
    }

    /// The line of a picture ends at all that is needed, and the card is in it.
    #[test]
    fn pictures_show_demand_against_the_card() {
        let judged =
            judge_given(&memory(Demand { samples: Some(1000), ..Demand::of("the batch", 100 * GIB) }));
        let Some(Picture::Lines { x, lines, limit, .. }) = judged.picture else { panic!("no lines") };
        assert_eq!(x, "samples in a batch");
        let end = lines[0].points.last().unwrap();
        assert_eq!(end[0], 1000.0);
        assert!((end[1] - 100.0).abs() < 1e-2, "{end:?}");
        assert!((limit.unwrap().value - 80.0).abs() < 1e-2);
    }

    #[test]
    fn the_card_at_hand_is_told_beside_the_given_one() {
        let measured = Measured { total: 8 * GIB, free: 6 * GIB, context: GIB / 2, granule: 2 << 20 };
        let judged = judge(&memory(Demand::of("the batch", 10 * GIB)), Some(measured));
        assert_eq!(judged.verdict, Verdict::Inconclusive);
        let told = judged.facts.last().map(String::as_str).unwrap_or_default();
        assert!(told.starts_with("the GPU of this machine has 8 GiB (measured: 6 GiB free;"), "{told}");
        assert!(told.ends_with("the minimum does not fit there"), "{told}");
    }
}
