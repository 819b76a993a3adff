//! Names that nothing defines.

use super::brought::{brought_by_stars, names_by_text};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::names::{Module, Names, Project, Scope, Target, guards};
use crate::report::{Confidence, Place, Severity, Span};
use crate::source::Kind;
use crate::syntax::{ExprKind, Function, Stmt, StmtKind, Tree, faults};
use crate::trace::At;
use rustc_hash::FxHashSet;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "undefined-name",
    summary: "a name is read that nothing defines",
    group: Group::Syntax,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("undefined-name"),
    check,
};

/// Further apart than this is another word.
const NEAR: usize = 1;
/// Shorter names are all near each other.
const LONG: usize = 4;

/// Builtins of Python 2, and what stands for them since.
const OF_PYTHON2: [(&str, &str); 12] = [
    ("basestring", "str"),
    ("cmp", "(a > b) - (a < b)"),
    ("execfile", "exec(open(path).read())"),
    ("file", "open"),
    ("izip", "zip"),
    ("long", "int"),
    ("raw_input", "input"),
    ("reduce", "functools.reduce"),
    ("reload", "importlib.reload"),
    ("unichr", "chr"),
    ("unicode", "str"),
    ("xrange", "range"),
];

/// What names like these are imported as by nearly all who use them.
const USUAL: [(&str, &str); 43] = [
    ("Counter", "from collections import Counter"),
    ("DataLoader", "from torch.utils.data import DataLoader"),
    ("F", "import torch.nn.functional as F"),
    ("Image", "from PIL import Image"),
    ("OrderedDict", "from collections import OrderedDict"),
    ("Path", "from pathlib import Path"),
    ("Variable", "from torch.autograd import Variable"),
    ("argparse", "import argparse"),
    ("collections", "import collections"),
    ("copy", "import copy"),
    ("csv", "import csv"),
    ("cv2", "import cv2"),
    ("datetime", "import datetime"),
    ("defaultdict", "from collections import defaultdict"),
    ("functools", "import functools"),
    ("glob", "import glob"),
    ("gzip", "import gzip"),
    ("itertools", "import itertools"),
    ("jnp", "import jax.numpy as jnp"),
    ("json", "import json"),
    ("logging", "import logging"),
    ("math", "import math"),
    ("nn", "from torch import nn"),
    ("np", "import numpy as np"),
    ("optim", "from torch import optim"),
    ("os", "import os"),
    ("partial", "from functools import partial"),
    ("pd", "import pandas as pd"),
    ("pickle", "import pickle"),
    ("plt", "import matplotlib.pyplot as plt"),
    ("pprint", "import pprint"),
    ("random", "import random"),
    ("re", "import re"),
    ("shutil", "import shutil"),
    ("subprocess", "import subprocess"),
    ("sys", "import sys"),
    ("tempfile", "import tempfile"),
    ("tf", "import tensorflow as tf"),
    ("time", "import time"),
    ("torch", "import torch"),
    ("tqdm", "from tqdm import tqdm"),
    ("transforms", "from torchvision import transforms"),
    ("warnings", "import warnings"),
];

/// What IPython has beside Python, also in scripts that were exported from a notebook.
const OF_IPYTHON: [&str; 2] = ["display", "get_ipython"];

/// What a translation of texts installs as a builtin; to others it is a name that does not matter.
const OF_GETTEXT: &str = "_";

/// A script that runs has no more of these outside of its functions: with more it is a piece of another text.
const MOST_OUTSIDE: usize = 2;

/// And leaves no more open that nothing of its own text explains: with more it is a draft, or a template.
const MOST_BLANKS: usize = 5;

/// A script of fewer statements may be a sketch.
const SHORT: usize = 60;
/// And so may one that uses other files of its project.
const SHORT_AMONG_OTHERS: usize = 30;

fn check(script: &Script, out: &mut Findings) {
    let module = script.project.module(script.file);
    let (tree, names) = (&module.tree, &module.names);
    let text = &module.source.text;
    if names.unbound.is_empty()
        || module.source.kind != Kind::Script
        || is_excerpt(tree)
        || names_by_text(script.project, script.file)
        || !faults(text, tree, &module.source.cells()).found.is_empty()
    {
        return;
    }
    let Some(brought) = brought_by_stars(script.project, script.file) else { return };
    let guarded = guards(tree);
    let is_given = |name: &Ustr| {
        // A module that it is global to may set it from outside.
        let is_global = names.scopes.iter().any(|scope| scope.globals.contains(*name));
        brought.contains(name) || is_global || OF_IPYTHON.contains(&name.as_str()) || *name == OF_GETTEXT
    };
    let mut told: FxHashSet<Ustr> = FxHashSet::default();
    let mut found: Vec<(Ustr, Span)> = Vec::new();
    for id in &names.unbound {
        let expr = tree.expr(*id);
        let ExprKind::Name(name) = expr.kind else { continue };
        let is_provided_for = guarded.iter().any(|span| span.contains(expr.span));
        let is_alone = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Expr(alone) if alone == *id);
        // A word on a line of its own computes nothing: a magic, or a note to oneself.
        if tree.stmts.iter().any(is_alone) {
            continue;
        }
        if !is_provided_for && !is_given(&name) && told.insert(name) {
            found.push((name, expr.span));
        }
    }
    keep_mistakes(script.project, module, &mut found);
    for (name, span) in found {
        report(script, out, name, Place::new(script.file, span));
    }
}

/// Keeps the open names that are mistakes: what a draft or a piece of another text leaves open is none.
fn keep_mistakes(project: &Project, module: &Module, found: &mut Vec<(Ustr, Span)>) {
    let Module { tree, names, .. } = module;
    let is_outside = |found: &(Ustr, Span)| !tree.functions.iter().any(|one| one.span.contains(found.1));
    let is_blank = |found: &(Ustr, Span)| {
        !is_misremembered(names, found.0)
            && (is_outside(found) || !is_assigned_elsewhere(tree, names, found.0))
    };
    let blanks: Vec<_> = found.iter().filter(|found| is_blank(found)).collect();
    let is_draft = blanks.len() > MOST_BLANKS
        || blanks.iter().filter(|found| is_outside(found)).count() > MOST_OUTSIDE
        || is_sketch(project, module);
    found.retain(|found| !(is_draft && is_blank(found)));
    let is_piece = found.iter().filter(|found| is_outside(found)).count() > MOST_OUTSIDE;
    found.retain(|found| !(is_piece && is_outside(found)));
}

/// What is short stands for a script, and leaves open where the data comes from.
fn is_sketch(project: &Project, module: &Module) -> bool {
    let is_own =
        |level: u32, name: Option<Ustr>| matches!(project.resolve(module.file, level, name), Target::File(_));
    let links = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Import(items) => items.iter().any(|item| is_own(0, Some(item.name))),
        StmtKind::ImportFrom { level, module, .. } => is_own(*level, *module),
        _ => false,
    };
    let count = module.tree.stmts.len();
    count < SHORT_AMONG_OTHERS || count < SHORT && !module.tree.stmts.iter().any(links)
}

/// What imports nothing was cut out of a script.
fn is_excerpt(tree: &Tree) -> bool {
    !tree.stmts.iter().any(|stmt| matches!(stmt.kind, StmtKind::Import(_) | StmtKind::ImportFrom { .. }))
}

/// Whether a name is more than a blank that a piece of code leaves open: Python 2 had it, libraries are imported as it,
/// or the file has it under nearly the same spelling.
fn is_misremembered(names: &Names, name: Ustr) -> bool {
    OF_PYTHON2.iter().any(|(old, _)| *old == name)
        || USUAL.iter().any(|(usual, _)| *usual == name)
        || nearest(names, name).is_some()
}

/// Whether another function or class of the file assigns a name: as a parameter alone it is what its callers know.
fn is_assigned_elsewhere(tree: &Tree, names: &Names, name: Ustr) -> bool {
    let is_assigned = |(scope, function): (&Scope, &Function)| {
        scope.locals.contains(name) && function.params.iter().all(|param| param.name != name)
    };
    names.scopes.iter().zip(&tree.functions).any(is_assigned)
        || names.class_locals.iter().any(|locals| locals.contains(name))
}

fn report(script: &Script, out: &mut Findings, name: Ustr, place: Place) {
    let at = At::of_text(place, Confidence::High);
    let old = OF_PYTHON2.iter().find(|(old, _)| *old == name);
    let message = match old {
        Some(_) => format!("`{name}` is a builtin of Python 2 that Python 3 does not have"),
        None => format!("`{name}` is not defined: nothing here assigns or imports it"),
    };
    let usual = USUAL.iter().find(|(usual, _)| *usual == name);
    let help = match (old, usual) {
        (Some((_, new)), _) => format!("write `{new}`"),
        (_, Some((_, import))) => format!("add `{import}`"),
        _ => match nearest(&script.project.module(place.file).names, name) {
            Some(near) => format!("`{near}` is defined: is it meant?"),
            None => "import it, or pass it as an argument".to_owned(),
        },
    };
    let finding = script
        .finding(RULE.id, RULE.severity, &at, message)
        .note("Python raises a `NameError` where this runs")
        .help(help);
    out.push(finding, &at);
}

/// A name of the file that is spelled nearly so: not its plural or its class, and not another of several that are
/// numbered.
fn nearest(names: &Names, name: Ustr) -> Option<Ustr> {
    let locals = names.scopes.iter().flat_map(|scope| scope.locals.iter());
    let all = locals.chain(names.bindings.keys().copied());
    let is_another = |other: &Ustr| {
        let stem = |text: &Ustr| {
            text.trim_end_matches(|end: char| end.is_ascii_digit() || end == 's').to_lowercase()
        };
        stem(other) == stem(&name)
    };
    all.filter(|other| name.len() >= LONG && strsim::damerau_levenshtein(other, &name) == NEAR)
        .filter(|other| !is_another(other))
        .min_by_key(Ustr::as_str)
}
