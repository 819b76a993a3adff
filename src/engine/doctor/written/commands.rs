//! What commands of a shell install and load.

use super::{List, Package, Said, Setup};
use crate::apis::builds::Release;
use crate::engine::doctor::installed::plain;
use std::collections::BTreeMap;

/// Commands of one line, which was joined from those that end in a backslash. `list` gives a file of requirements.
pub(super) fn run(line: &str, at: u32, setup: &mut Setup, list: &dyn Fn(&str) -> Option<String>) {
    for command in line.split(['\n', ';', '|']).flat_map(|part| part.split("&&")) {
        let words: Vec<&str> = command.split_whitespace().map(unquoted).collect();
        if words.first().is_some_and(|word| word.starts_with('#')) {
            continue;
        }
        let Some(verb) =
            words.iter().position(|word| matches!(*word, "install" | "create" | "load" | "add" | "sync"))
        else {
            built(&words, at, setup);
            continue;
        };
        let (before, after) = (&words[..verb], &words[verb + 1..]);
        let is = |name: &str| before.iter().any(|word| word.rsplit('/').next() == Some(name));
        if words[verb] == "load" && (is("module") || is("ml")) {
            setup.modules.extend(after.iter().filter_map(|word| module(word, at)));
        } else if ["conda", "mamba", "micromamba"].into_iter().any(is) && words[verb] != "load" {
            let list = conda(after, at, setup);
            setup.lists.push(list);
        } else if ["pip", "pip3", "uv"].into_iter().any(is) && words[verb] == "install" {
            setup.lists.push(pip(after, at, list));
            // The project itself: `pip install .`, `pip install -e .`
            if after.iter().any(|word| matches!(*word, "." | "./" | "-e.")) {
                setup.compiles.get_or_insert(at);
            }
        }
    }
    setup.has_cudnn |= line.contains("cudnn");
}

/// `python setup.py install`, and its like.
fn built(words: &[&str], at: u32, setup: &mut Setup) {
    let steps = ["install", "develop", "build_ext", "build"];
    if words.contains(&"setup.py") && words.iter().any(|word| steps.contains(word)) {
        setup.compiles.get_or_insert(at);
    }
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\'', '`', ','])
}

/// `cuda/11.8.0`, `nvidia/cuda-11.8`, `cudatoolkit/11.2`
fn module(word: &str, at: u32) -> Option<Said<(String, Release)>> {
    let lower = word.to_ascii_lowercase();
    let start = lower.find(|c: char| c.is_ascii_digit())?;
    let (name, version) = lower.split_at(start);
    let name = name.trim_end_matches(['/', '-', '_']).rsplit('/').next()?;
    let name = match name {
        "cuda" | "cudatoolkit" | "cuda-toolkit" | "cudacore" => "cuda",
        "cudnn" => "cudnn",
        _ => return None,
    };
    Some(Said { it: (name.to_owned(), Release::parse(version)?), line: at })
}

/// Options of `pip` that say where packages come from, and whether PyPI is then left alone.
const INDEXES: [(&str, bool); 5] = [
    ("--index-url", true),
    ("-i", true),
    ("--extra-index-url", false),
    ("--find-links", false),
    ("-f", false),
];

pub(super) fn pip(words: &[&str], at: u32, file: &dyn Fn(&str) -> Option<String>) -> List {
    let mut list = List::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (option, value) =
            word.split_once('=').map_or((*word, None), |(option, value)| (option, Some(value)));
        if let Some((_, is_only)) = INDEXES.iter().find(|(name, _)| *name == option) {
            if let Some(url) = value.or_else(|| words.next().copied()) {
                index(url, *is_only, &mut list);
            }
        } else if matches!(*word, "-r" | "--requirement") {
            let text = words.next().and_then(|name| file(name));
            let lines = text.as_deref().unwrap_or_default().lines();
            lines.for_each(|line| requirement(line, at, &mut list));
        } else if !word.starts_with('-') {
            list.packages.extend(package(word, at));
        }
    }
    list
}

/// One line of a list of requirements.
pub(super) fn requirement(line: &str, at: u32, list: &mut List) {
    let line = line.split(" #").next().unwrap_or_default().trim();
    if line.starts_with('#') || line.is_empty() {
        return;
    }
    if let Some((option, url)) = line.split_once([' ', '=']).filter(|(option, _)| option.starts_with('-')) {
        if let Some((_, is_only)) = INDEXES.iter().find(|(name, _)| *name == option) {
            index(url.trim(), *is_only, list);
        }
        return;
    }
    let wanted = line.split(';').next().unwrap_or_default();
    let wanted = wanted.split(" --").next().unwrap_or_default().replace(' ', "");
    list.packages.extend(package(&wanted, at));
}

/// `cu118` of `https://download.pytorch.org/whl/cu118`; nightly builds are of no release.
fn index(url: &str, is_only: bool, list: &mut List) {
    let Some((_, path)) = url.split_once("download.pytorch.org/whl/") else {
        // What another index has is not known.
        list.is_only = false;
        return;
    };
    let mut parts = path.split('/');
    let tag = parts.find(|part| !part.is_empty()).unwrap_or_default();
    let tag =
        if tag == "lts" { path.trim_end_matches('/').rsplit('/').next().unwrap_or_default() } else { tag };
    if tag == "cpu" || Release::of_tag(tag).is_some() {
        list.tag = Some(tag.to_owned());
        list.is_only = is_only;
    }
}

/// `torch==2.1.0+cu118`, `jax[cuda12]>=0.4`, the address of a wheel.
fn package(word: &str, at: u32) -> Option<Package> {
    let text = word.to_owned();
    if let Some(file) = word.rsplit('/').next().filter(|file| file.ends_with(".whl")) {
        let file = file.replace("%2B", "+").replace("%2b", "+");
        let (name, version) = {
            let mut parts = file.split('-');
            (parts.next()?, parts.next()?)
        };
        let (release, local) =
            version.split_once('+').map_or((version, None), |(a, b)| (a, Some(b.to_owned())));
        return Some(Package {
            name: plain(name),
            release: Release::parse(release),
            local,
            extras: Vec::new(),
            text: file.clone(),
            line: at,
        });
    }
    let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(word.len());
    let (name, rest) = word.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || rest.starts_with(['/', ':', '$', '@']) {
        return None;
    }
    let (extras, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((extras, rest)) => (extras.split(',').map(|one| one.trim().to_owned()).collect(), rest),
        None => (Vec::new(), rest),
    };
    let (release, local) = rest.strip_prefix("==").map_or((None, None), exact);
    Some(Package { name: plain(name), release, local, extras, text, line: at })
}

/// `1.12.1+cu113` is one release, `1.12.*` is not.
fn exact(version: &str) -> (Option<Release>, Option<String>) {
    let version = version.trim_start_matches('=');
    if version.contains(['*', ',', '$', '<', '>']) {
        return (None, None);
    }
    let (release, local) = version.split_once('+').map_or((version, None), |(a, b)| (a, Some(b.to_owned())));
    (Release::parse(release).filter(|release| release.says(2)), local)
}

pub(super) fn conda(words: &[&str], at: u32, setup: &mut Setup) -> List {
    let mut list = List { is_conda: true, ..List::default() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if matches!(*word, "-c" | "--channel") {
            list.channels.extend(words.next().map(|name| (*name).to_owned()));
        } else if matches!(*word, "-n" | "--name" | "-p" | "--prefix" | "-f" | "--file") {
            words.next();
        } else if !word.starts_with('-') {
            dependency(word, at, setup, &mut list);
        }
    }
    list
}

/// `pytorch=1.12.1=py39_cuda11.3`, `conda-forge::cudatoolkit=11.3`, `python=3.8`
pub(super) fn dependency(word: &str, at: u32, setup: &mut Setup, list: &mut List) {
    let (channel, spec) = word.split_once("::").map_or((None, word), |(channel, spec)| (Some(channel), spec));
    list.channels.extend(channel.map(str::to_owned));
    let spec = spec.replace(' ', "");
    let end = spec.find(['=', '<', '>', '!', '~']).unwrap_or(spec.len());
    let (name, rest) = spec.split_at(end);
    let name = plain(name);
    let version = rest.trim_start_matches('=').split('=').next().unwrap_or_default().trim_end_matches(".*");
    let is_one = rest.starts_with('=') && !version.contains(['<', '>', '|', ',', '$', '*']);
    let release = Release::parse(version).filter(|_| is_one);
    if name == "python" {
        setup.python = release.filter(|python| python.says(2)).map(|it| Said { it, line: at });
        return;
    }
    setup.has_cudnn |= name == "cudnn";
    let local = rest.contains("=cpu").then(|| "cpu".to_owned());
    list.packages.push(Package { name, release, local, extras: Vec::new(), text: word.to_owned(), line: at });
}

/// Names that stand for values: `${CUDA_VERSION}`, `$CUDA`, `${CUDA:-11.8}`.
pub(super) fn expanded(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, default, after) = match rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((inner, after)) => {
                let (name, default) =
                    inner.split_once(":-").map_or((inner, None), |(name, default)| (name, Some(default)));
                (name, default, after)
            }
            None => {
                let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                (&rest[..end], None, &rest[end..])
            }
        };
        match values.get(name).map(String::as_str).or(default) {
            Some(value) => out.push_str(value),
            // What nobody knows stays as it is, so that nobody takes it for a number.
            None => out.push('$'),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}
