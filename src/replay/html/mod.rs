//! Results as one page: no script, nothing from elsewhere, light or dark as the reader has it, and readable on a
//! phone. Whatever a stranger's result says is text in it, and nothing else.

mod plot;

use super::outcome::{Outcome, Picture, Results, Verdict};
use super::text;
use crate::engine::selection::find_rule;
use crate::render::help_uri;
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");

/// The page.
pub fn page(results: &Results) -> String {
    let mut page = String::with_capacity(1 << 14);
    // Writing to a string does not fail, so what `write!` gives is left aside.
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} confirmed · trainlint</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        of(results, Verdict::Confirmed)
    );
    header(&mut page, results);
    for (index, item) in results.items.iter().enumerate() {
        article(&mut page, item, index);
    }
    let _ = write!(
        page,
        "<footer>{} · seed {} · plan <code>{}</code></footer>\n</main>\n</body>\n</html>\n",
        escaped(&results.tool),
        results.seed,
        escaped(results.plan.get(..12).unwrap_or(&results.plan))
    );
    page
}

fn of(results: &Results, verdict: Verdict) -> usize {
    results.items.iter().filter(|item| item.verdict == verdict).count()
}

fn header(page: &mut String, results: &Results) {
    let _ = write!(page, "<header>\n<h1>Replayed findings</h1>\n<ul class=\"counts\">\n");
    for verdict in Verdict::ALL {
        let _ = writeln!(
            page,
            "<li class=\"{}\"><b>{}</b> {}</li>",
            class(*verdict),
            of(results, *verdict),
            verdict.name().to_lowercase()
        );
    }
    let _ = write!(
        page,
        "</ul>\n<p>{} replayed in {:.1} s on {}. The scripts were not executed: what ran are the expressions \
         and call sequences that the analysis followed, with and without the proposed fix.</p>\n</header>\n",
        results.items.len(),
        results.seconds,
        escaped(&results.device.name)
    );
}

fn article(page: &mut String, item: &Outcome, index: usize) {
    let evidence = item.evidence.map_or_else(String::new, |evidence| format!(" <i>{}</i>", evidence.name()));
    let _ = write!(
        page,
        "<article class=\"{}\" aria-labelledby=\"f{index}\">\n<p class=\"place\"><code>{}:{}:{}</code></p>\n\
         <h2 id=\"f{index}\"><span class=\"rule\">{}</span> {}</h2>\n\
         <p class=\"verdict\"><b>{}</b>{evidence}",
        class(item.verdict),
        escaped(&item.path),
        item.line,
        item.column,
        escaped(&item.rule),
        said(&item.message),
        item.verdict.name(),
    );
    if let Some(reason) = &item.reason {
        let _ = write!(page, " {}", said(reason));
    }
    let _ = writeln!(page, " <small>{}</small></p>", spent(item.seconds));
    if let Some(picture) = &item.picture {
        figure(page, picture, item);
    }
    page.push_str("<ul>\n");
    for line in text::evidence(item) {
        let _ = writeln!(page, "<li>{}</li>", said(&line));
    }
    let _ = writeln!(page, "</ul>\n<p class=\"more\">{}</p>\n</article>", about(&item.rule));
}

/// Where to read on about a rule; what is no rule has no page, since results may come from anybody.
fn about(rule: &str) -> String {
    match (find_rule(rule), help_uri(rule)) {
        (Some(rule), Some(link)) => {
            format!("{}: <a href=\"{}\">about the rule</a>", escaped(rule.summary), escaped(&link))
        }
        (Some(rule), None) => {
            format!("{}: <code>trainlint explain {}</code>", said(rule.summary), escaped(rule.id))
        }
        (None, _) => String::new(),
    }
}

fn figure(page: &mut String, picture: &Picture, item: &Outcome) {
    let Some(drawn) = plot::draw(picture, &item.rule) else { return };
    let _ = write!(page, "<figure>\n{}<figcaption>", drawn.svg);
    for (class, name) in &drawn.legend {
        let _ = write!(page, "<span class=\"key {class}\">{}</span> ", escaped(name));
    }
    page.push_str("</figcaption>\n</figure>\n");
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Confirmed => "confirmed",
        Verdict::NotReproduced => "clean",
        Verdict::Measured => "measured",
        Verdict::Inconclusive => "open",
    }
}

fn spent(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

/// Text with its code between backticks.
fn said(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (index, part) in text.split('`').enumerate() {
        let part = escaped(part);
        match index % 2 {
            0 => out.push_str(&part),
            _ => {
                let _ = write!(out, "<code>{part}</code>");
            }
        }
    }
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text::clean(text).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::outcome::{Bar, Device, Evidence, Limit, Line, SCHEMA};

    fn outcome(message: &str, picture: Option<Picture>) -> Outcome {
        Outcome {
            backend: None,
            rule: "unsafe-log".to_owned(),
            path: "train.py".to_owned(),
            line: 3,
            column: 5,
            message: message.to_owned(),
            verdict: Verdict::Confirmed,
            evidence: Some(Evidence::Exact),
            reason: None,
            expr: None,
            facts: vec!["steps apply `2.00` <b>".to_owned()],
            picture,
            seconds: 0.0314,
        }
    }

    fn of_items(items: Vec<Outcome>) -> String {
        page(&Results {
            schema: SCHEMA.to_owned(),
            tool: "trainlint".to_owned(),
            plan: "00ff".to_owned(),
            seed: 7,
            device: Device { backend: "cpu".to_owned(), name: "the CPU".to_owned() },
            seconds: 1.0,
            items,
        })
    }

    #[test]
    fn strangers_write_text_only() {
        let page = of_items(vec![outcome("<script>alert('`<img>`')</script>", None)]);
        assert!(page.contains("&lt;script&gt;alert('<code>&lt;img&gt;</code>')&lt;/script&gt;"), "{page}");
        assert!(page.contains("steps apply <code>2.00</code> &lt;b&gt;"));
        assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("http"));
    }

    #[test]
    fn pictures_are_drawn_and_explained() {
        let lines = Picture::Lines {
            x: "step".to_owned(),
            y: "GiB".to_owned(),
            lines: vec![Line { name: "needed".to_owned(), points: vec![[0.0, 0.0], [10.0, 20.0]] }],
            limit: Some(Limit { name: "a card".to_owned(), value: 16.0 }),
        };
        let bars = Picture::Bars {
            x: "what the log is given".to_owned(),
            bars: vec![
                Bar { low: 0.0, high: 0.0, count: 10, failed: 10 },
                Bar { low: 0.5, high: 2.0, count: 90, failed: 0 },
            ],
        };
        let page = of_items(vec![outcome("a", Some(lines)), outcome("b", Some(bars))]);
        assert_eq!(page.matches("<svg").count(), 2, "{page}");
        assert!(page.contains("a card"));
        assert!(page.contains("role=\"img\""));
    }

    /// What a stranger's result holds is drawn without a panic, or not at all.
    #[test]
    fn pictures_of_nothing_are_left_out() {
        let empty = Picture::Lines { x: String::new(), y: String::new(), lines: Vec::new(), limit: None };
        let odd = Picture::Lines {
            x: String::new(),
            y: String::new(),
            lines: vec![Line { name: String::new(), points: vec![[1.0, -1e308], [1.0, 1e308]] }],
            limit: Some(Limit { name: String::new(), value: f64::MAX }),
        };
        let bars = Picture::Bars { x: String::new(), bars: Vec::new() };
        let lying = Picture::Bars {
            x: String::new(),
            bars: vec![Bar { low: 1.0, high: -1.0, count: 0, failed: u64::MAX }],
        };
        for picture in [empty, odd, bars, lying] {
            let page = of_items(vec![outcome("x", Some(picture))]);
            assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
        }
    }
}
