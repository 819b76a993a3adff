//! The index of names against what importing releases shows, as `scripts/installed_names.py` wrote it down in
//! `tests/installed`: no name that exists is called missing, and names that nobody has are.

use std::path::PathBuf;
use trainlint::apis::index::text::{Releases, Span};
use trainlint::apis::index::{Answer, Origin, Pins, Wanted, ask, of};

use crate::findings::root;

/// A name, and its parameters, if they are known.
type Name<'t> = (String, Option<Vec<&'t str>>);

fn folder() -> PathBuf {
    // More lists than are kept here can be held against the index.
    std::env::var_os("INSTALLED").map_or_else(|| root().join("tests/installed"), PathBuf::from)
}

/// The release of a list, and its names.
fn installed(text: &str) -> (String, Vec<Name<'_>>) {
    let mut lines = text.lines();
    let release = lines.next().unwrap().rsplit(' ').next().unwrap().split('+').next().unwrap().to_owned();
    let (mut above, mut found): (Vec<&str>, Vec<_>) = (Vec::new(), Vec::new());
    for line in lines {
        let (dotted, rest) = line.split_once(' ').unwrap();
        let name = dotted.trim_start_matches('.');
        above.truncate(dotted.len() - name.len());
        above.push(name);
        let params = rest.split_once('(').map(|(_, params)| params.trim_end_matches(')'));
        let params =
            params.filter(|params| *params != "**").map(|params| params.split_ascii_whitespace().collect());
        found.push((above.join("."), params));
    }
    (release, found)
}

/// What is wrong in saying that a release does not have a name, or a parameter; and whether much is said of it.
fn denied(releases: &Releases<'_>, at: Span, path: &str, params: Option<&[&str]>) -> Vec<String> {
    let lacks =
        |span: Span, unsure: Option<Span>| !span.meets(at) && !unsure.is_some_and(|span| span.meets(at));
    let told = |span: Span| format!("{}–{}", releases.name(span.first), releases.name(span.last));
    match ask(path) {
        Answer::Unknown => Vec::new(),
        Answer::Missing(missing) if missing.unsure.is_some_and(|span| span.meets(at)) => Vec::new(),
        Answer::Missing(missing) => vec![format!("{}.{} missing", missing.holder, missing.name)],
        Answer::Part(known) | Answer::Known(known) if lacks(known.span, known.unsure) => {
            // Another name of something may be what came late.
            let own = match ask(&known.path) {
                Answer::Known(target) if !lacks(target.span, target.unsure) => path,
                _ => known.path.as_str(),
            };
            vec![format!("{own} in {} only", told(known.span))]
        }
        Answer::Part(_) => Vec::new(),
        Answer::Known(known) => {
            let Some(keywords) = &known.keywords else { return Vec::new() };
            let lacks = |name: &&&str| match keywords.listed.iter().find(|(listed, _)| listed == *name) {
                Some((_, span)) => lacks(*span, keywords.unsure),
                None => !keywords.unsure.is_some_and(|span| span.meets(at)),
            };
            params
                .unwrap_or_default()
                .iter()
                .filter(lacks)
                .map(|name| format!("{}({name})", known.path))
                .collect()
        }
    }
}

/// Names that nobody has, made of names that are there: one letter is another.
#[test]
fn names_that_no_release_has_are_missing_where_all_are_known() {
    let of: [(&str, &[&str]); 4] = [
        (
            "torch-2.9.1",
            &["torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.optim", "torch.linalg"],
        ),
        (
            "tensorflow-2.15.1",
            &["tensorflow", "tensorflow.math", "tensorflow.data", "tensorflow.keras.layers"],
        ),
        ("jax-0.12.0", &["jax", "jax.numpy", "jax.nn", "jax.lax", "jax.random"]),
        ("numpy-2.5.5", &["numpy", "numpy.linalg", "numpy.fft"]),
    ];
    let mut wrong = Vec::new();
    for (list, holders) in of {
        let text = std::fs::read_to_string(folder().join(format!("{list}.txt"))).unwrap();
        for (path, _) in installed(&text).1 {
            if path.rsplit_once('.').is_some_and(|(holder, _)| holders.contains(&holder)) {
                wrong.push(format!("{}Q{}", &path[..path.len() - 1], &path[path.len() - 1..]));
            }
        }
    }
    let unknown: Vec<&String> =
        wrong.iter().filter(|path| !matches!(ask(path), Answer::Missing(_))).collect();
    assert!(wrong.len() > 2000, "{}", wrong.len());
    assert!(unknown.is_empty(), "{} of {}: {unknown:?}", unknown.len(), wrong.len());
}

#[test]
fn no_name_of_an_installed_release_is_missing() {
    let mut wrong = Vec::new();
    let mut files = 0;
    for file in std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let (release, names) = installed(&text);
        let (package, index) = of(&names[0].0).unwrap();
        let mut pins = Pins::default();
        let origin = Origin { base: String::new(), file: String::new(), line: 0, is_weak: false };
        let distribution = match package {
            "pytorch_lightning" => "pytorch-lightning",
            "haiku" => "dm-haiku",
            other => other,
        };
        pins.pin(distribution, &format!("=={release}"), origin);
        let Wanted::Within { span, .. } = pins.wanted(package, index) else { panic!("{package} {release}") };
        files += 1;
        for (path, params) in &names {
            let found = denied(&index.releases, span, path, params.as_deref());
            wrong.extend(found.into_iter().map(|what| format!("{package} {release}: {what}")));
        }
    }
    assert!(files > 0);
    assert!(wrong.is_empty(), "{} are denied:\n{}", wrong.len(), wrong.join("\n"));
}
