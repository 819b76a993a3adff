//! Pictures as SVG, as wide as a phone: letters keep their size there, and grow with the page elsewhere.

use super::escaped;
use crate::replay::outcome::{Bar, Limit, Line, Picture};
use std::fmt::Write;

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 36.0;
/// Numbers further apart than this are shown by their logarithms.
const FAR_APART: f64 = 60.0;
/// Lines and bars beyond this are no picture of ours.
const MOST_LINES: usize = 4;
const MOST_POINTS: usize = 2_000;
const MOST_BARS: usize = 200;

pub(crate) struct Drawn {
    pub svg: String,
    /// The class of each colour, and what it means.
    pub legend: Vec<(&'static str, String)>,
}

/// `None` where there is nothing to see.
pub(crate) fn draw(picture: &Picture, rule: &str) -> Option<Drawn> {
    match picture {
        Picture::Lines { x, y, lines, limit } => draw_lines(x, y, lines, limit.as_ref(), rule),
        Picture::Bars { x, bars } => draw_bars(x, bars, rule),
    }
}

/// From numbers to a place along an axis.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    from: f64,
    to: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.low).log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }

    /// Round numbers along it.
    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let (low, high) = (self.low.log10().ceil() as i32, self.high.log10().floor() as i32);
            let by = ((high - low) / 4 + 1).max(1) as usize;
            return (low..=high).step_by(by).map(|power| 10_f64.powi(power)).collect();
        }
        let rough = (self.high - self.low) / 4.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|one| one * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        (first..first + 8).map(|index| index as f64 * step).take_while(|tick| *tick <= self.high).collect()
    }
}

fn vertical(low: f64, high: f64, logarithmic: bool) -> Option<Axis> {
    let fits = low.is_finite() && high.is_finite() && high > low && (high - low).is_finite();
    fits.then_some(Axis { low, high, logarithmic, from: HEIGHT - BOTTOM, to: TOP })
}

fn draw_lines(x: &str, y: &str, lines: &[Line], limit: Option<&Limit>, rule: &str) -> Option<Drawn> {
    if lines.len() > MOST_LINES || lines.iter().any(|line| line.points.len() > MOST_POINTS) {
        return None;
    }
    let points = || lines.iter().flat_map(|line| &line.points);
    let values = || points().map(|point| point[1]).chain(limit.map(|limit| limit.value));
    let highest = values().fold(f64::MIN, f64::max);
    let least = values().filter(|value| *value > 0.0).fold(f64::MAX, f64::min);
    let logarithmic = limit.is_none() && values().all(|value| value > 0.0) && highest / least > FAR_APART;
    let low = if logarithmic { least } else { values().fold(0.0, f64::min) };
    // Something that ran away leaves room for the rest.
    let up = vertical(low, if logarithmic { highest } else { highest * 1.05 }, logarithmic)?;
    let (first, last) =
        points().fold((f64::MAX, f64::MIN), |(low, high), point| (low.min(point[0]), high.max(point[0])));
    let along = Axis { low: first, high: last, logarithmic: false, from: LEFT, to: WIDTH - RIGHT };
    if !(last > first && (last - first).is_finite()) {
        return None;
    }
    let mut svg = opened(&format!("{rule}: {y} over {x}"));
    frame(&mut svg, &up, y);
    for tick in along.ticks() {
        label_below(&mut svg, along.at(tick), &short(tick));
    }
    caption_below(&mut svg, x);
    let mut legend = Vec::new();
    if let Some(limit) = limit {
        let at = up.at(limit.value);
        let _ = writeln!(svg, "<path class=\"limit\" d=\"M{LEFT} {at:.1}H{}\"/>", WIDTH - RIGHT);
        legend.push(("limit", format!("{}: {} {y}", limit.name, short(limit.value))));
    }
    for (line, class) in lines.iter().zip(["script", "repaired", "third", "fourth"]) {
        path(&mut svg, line, class, &along, &up);
        legend.push((class, line.name.clone()));
    }
    svg.push_str("</svg>\n");
    Some(Drawn { svg, legend })
}

fn path(svg: &mut String, line: &Line, class: &str, along: &Axis, up: &Axis) {
    // A run that ended at once is a point.
    if let [[x, y]] = line.points.as_slice() {
        let _ = writeln!(
            svg,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"/>",
            along.at(*x),
            up.at(*y)
        );
        return;
    }
    let mut way = String::new();
    for [x, y] in &line.points {
        let letter = if way.is_empty() { 'M' } else { 'L' };
        let _ = write!(way, "{letter}{:.1} {:.1}", along.at(*x), up.at(*y));
    }
    let _ = writeln!(svg, "<path class=\"line {class}\" d=\"{way}\"/>");
}

fn draw_bars(x: &str, bars: &[Bar], rule: &str) -> Option<Drawn> {
    let most = bars.iter().map(|bar| bar.count).max().filter(|most| *most > 0)?;
    if bars.len() > MOST_BARS {
        return None;
    }
    let up = vertical(0.0, most as f64 * 1.05, false)?;
    let room = (WIDTH - LEFT - RIGHT) / bars.len() as f64;
    let mut svg = opened(&format!("{rule}: samples by {x}"));
    frame(&mut svg, &up, "samples");
    for (index, bar) in bars.iter().enumerate() {
        let at = LEFT + room * index as f64;
        let failed = bar.failed.min(bar.count);
        let mut part = |class: &str, low: u64, high: u64| {
            if high > low {
                // What is there at all can be seen.
                let (top, foot) = (up.at(high as f64), up.at(low as f64));
                let height = (foot - top).max(1.0);
                let _ = writeln!(
                    svg,
                    "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
                    at + room * 0.08,
                    foot - height,
                    room * 0.84
                );
            }
        };
        part("failed", 0, failed);
        part("fine", failed, bar.count);
    }
    let by = (bars.len() / 6).max(1);
    let zero = bars.iter().position(|bar| bar.low == 0.0 && bar.high == 0.0);
    for (index, bar) in bars.iter().enumerate() {
        let from_zero = index.abs_diff(zero.unwrap_or(0));
        if from_zero.is_multiple_of(by) {
            label_below(
                &mut svg,
                LEFT + room * (index as f64 + 0.5),
                &short(if bar.low < 0.0 { bar.low } else { bar.high }),
            );
        }
    }
    caption_below(&mut svg, x);
    svg.push_str("</svg>\n");
    Some(Drawn { svg, legend: vec![("failed", "not finite".to_owned()), ("fine", "finite".to_owned())] })
}

fn opened(title: &str) -> String {
    let title = escaped(title);
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n"
    )
}

/// Lines across, with their numbers, and what they count.
fn frame(svg: &mut String, up: &Axis, name: &str) {
    for tick in up.ticks() {
        let at = up.at(tick);
        let far = up.logarithmic && !(1e-3..1e4).contains(&tick);
        let told = if far { format!("{tick:.0e}") } else { short(tick) };
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{}\"/>", WIDTH - RIGHT);
        let _ = writeln!(
            svg,
            "<text class=\"number\" x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT - 5.0,
            at + 4.0,
            told
        );
    }
    let _ = writeln!(svg, "<text x=\"2\" y=\"11\">{}</text>", escaped(name));
}

fn label_below(svg: &mut String, at: f64, label: &str) {
    let _ =
        writeln!(svg, "<text class=\"below\" x=\"{at:.1}\" y=\"{}\">{label}</text>", HEIGHT - BOTTOM + 14.0);
}

fn caption_below(svg: &mut String, caption: &str) {
    let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
    let _ = writeln!(
        svg,
        "<text class=\"below\" x=\"{middle}\" y=\"{}\">{}</text>",
        HEIGHT - 5.0,
        escaped(caption)
    );
}

/// A number in few letters.
fn short(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        "0".to_owned()
    } else if (1e5..1e15).contains(&size) {
        let (by, letter) = [(1e12, 'T'), (1e9, 'G'), (1e6, 'M'), (1e3, 'k')]
            .into_iter()
            .find(|(by, _)| size >= *by)
            .unwrap_or((1.0, ' '));
        format!("{}{letter}", trimmed(number / by, 1))
    } else if !(1e-3..1e5).contains(&size) {
        format!("{number:.0e}")
    } else if size >= 100.0 {
        format!("{number:.0}")
    } else {
        trimmed(number, if size >= 1.0 { 1 } else { 3 })
    }
}

fn trimmed(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
