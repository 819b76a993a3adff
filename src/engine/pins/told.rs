//! What a page for people tells: «tested with PyTorch 1.4».

use super::{Notes, commands};

/// How pages call the packages, and their distributions; the longer before what it begins with.
const CALLED: [(&str, &str); 26] = [
    ("pytorch-lightning", "pytorch-lightning"),
    ("pytorch lightning", "pytorch-lightning"),
    ("tensorflow-gpu", "tensorflow"),
    ("tensorflow", "tensorflow"),
    ("torchtext", "torchtext"),
    ("torchmetrics", "torchmetrics"),
    ("torchvision", "torchvision"),
    ("pytorch", "torch"),
    ("torch", "torch"),
    ("keras", "keras"),
    ("jax", "jax"),
    ("transformers", "transformers"),
    ("python", "python"),
    ("albumentations", "albumentations"),
    ("gymnasium", "gymnasium"),
    ("gym", "gym"),
    ("librosa", "librosa"),
    ("matplotlib", "matplotlib"),
    ("networkx", "networkx"),
    ("pandas", "pandas"),
    ("pillow", "pillow"),
    ("pyyaml", "pyyaml"),
    ("scikit-image", "scikit-image"),
    ("scikit-learn", "scikit-learn"),
    ("scipy", "scipy"),
    ("sklearn", "scikit-learn"),
];
/// So far after a name its release stands.
const NEAR: usize = 16;

pub(super) fn page(text: &str, notes: &mut Notes<'_>) {
    commands::shell(text, notes);
    for (at, line) in text.lines().enumerate() {
        let line = line.to_ascii_lowercase();
        let mut from = 0;
        while let Some((start, called, name)) = next(&line, from) {
            from = start + called.len();
            if let Some(wanted) = release(&without_address(&line[from..])) {
                notes.pin(at, name, &wanted);
            }
        }
    }
}

/// The next name of a package, as a word of its own.
fn next(line: &str, from: usize) -> Option<(usize, &'static str, &'static str)> {
    let found = CALLED.iter().filter_map(|(called, name)| {
        let start = from + line.get(from..)?.find(called)?;
        let before = line[..start].chars().next_back();
        (!before.is_some_and(|c| c.is_alphanumeric() || "-_./".contains(c)))
            .then_some((start, *called, *name))
    });
    found.min_by_key(|(start, called, _)| (*start, usize::MAX - called.len()))
}

/// The address of a link is no part of what is said.
fn without_address(rest: &str) -> String {
    match rest.strip_prefix("](").and_then(|link| link.split_once(')')) {
        Some((_, rest)) => rest.to_owned(),
        None => rest.to_owned(),
    }
}

/// `>=1.4`, or `==1.4.*`, if a number is what comes next.
fn release(rest: &str) -> Option<String> {
    let start = rest.find(|c: char| c.is_ascii_digit())?;
    let between = &rest[..start];
    let said = between.replace("version", "");
    if start > NEAR || !said.chars().all(|c| " =<>~:v(*`[]-".contains(c)) || said.contains('<') {
        return None;
    }
    let end = rest[start..].find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len() - start);
    let number = rest[start..start + end].trim_matches('.');
    let after = rest[start + end..].trim_start();
    if !number.contains('.') {
        return None;
    }
    const UP: [&str; 6] = ["+", "or above", "or later", "or higher", "or newer", "and above"];
    let is_least = said.contains('>') || UP.iter().any(|up| after.starts_with(up));
    Some(if is_least { format!(">={number}") } else { format!("=={number}.*") })
}
