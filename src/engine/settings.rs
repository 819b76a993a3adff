//! What is in force for a file: the defaults, then the configuration files, then the command
//! line, folded into one. Reads nothing; `configs` says which layers apply where.

use crate::apis::{ApiError, Apis, Literal};
use crate::engine::analysis::Gate;
use crate::engine::config::{Config, Target};
use crate::engine::pins::Pinned;
use crate::engine::seen::Seen;
use crate::engine::selection::RuleSet;
use crate::report::{Applicability, Confidence, Diagnostic, Severity};
use crate::source::read_text;
use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_128;

/// Left out of every walk, unless `exclude` says otherwise: what tools write and what others wrote.
pub const DEFAULT_EXCLUDE: &[&str] = &[
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "__pypackages__",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
];

/// Resolved settings; one for all files that share their configuration.
#[derive(Debug)]
pub struct Settings {
    pub rules: RuleSet,
    pub per_file_ignores: Vec<(GlobMatcher, RuleSet)>,
    pub exclude: Globs,
    pub force_exclude: bool,
    pub min_confidence: Confidence,
    pub min_severity: Severity,
    /// How bad findings of a rule are, in the user's eyes.
    pub severity: BTreeMap<&'static str, Severity>,
    /// Whose fixes may be applied.
    pub fixable: RuleSet,
    pub pedantic: bool,
    /// Tables of the user's own functions.
    pub apis: Vec<PathBuf>,
    /// Findings that are known and not to be reported, in a file.
    pub baseline: Option<PathBuf>,
    /// Those tables over the project's own, once they are read.
    tables: OnceLock<Arc<Tables>>,
    /// The files that they were read from.
    seen: Seen,
    pub target: Target,
    /// How many cards the run has.
    pub gpus: u32,
    /// What the user says values are, over what the script says.
    pub values: BTreeMap<String, Literal>,
    /// Which releases the projects of the scripts ask for.
    pub pinned: Pinned,
    /// The files that said so, the closest last.
    pub files: Vec<PathBuf>,
}

impl Settings {
    /// Reads the tables that they name, once for all files that share them.
    pub fn ready(self: &Arc<Settings>) -> Result<Ready, TableError> {
        if let Some(tables) = self.tables.get() {
            return Ok(Ready { settings: self.clone(), tables: tables.clone() });
        }
        let tables = Arc::new(Tables::read(self)?);
        // Another thread may have been faster with the same tables.
        Ok(Ready { settings: self.clone(), tables: self.tables.get_or_init(|| tables).clone() })
    }

    /// Whether what was read on behalf of them is as it was.
    pub fn is_current(&self) -> bool {
        self.seen.is_current() && self.pinned.is_current()
    }

    /// What of them a rehearsal heeds, its tables aside; selection and display come after it. Takes them apart
    /// field by field, so that a new one has to be thought of.
    fn heeded(&self) -> String {
        #[rustfmt::skip]
        let Settings {
            values, target, gpus, rules: _, per_file_ignores: _, exclude: _, force_exclude: _,
            min_confidence: _, min_severity: _, severity: _, fixable: _, pedantic: _, apis: _, tables: _, seen: _, baseline: _, pinned: _, files: _,
        } = self;
        format!("{values:?} {target:?} {gpus}")
    }

    /// Folds layers, each over those before it.
    pub fn fold(layers: &[&Config], files: Vec<PathBuf>) -> Settings {
        let last = |get: fn(&Config) -> Option<bool>| layers.iter().rev().find_map(|layer| get(layer));
        let (mut rules, mut fixable) = (RuleSet::all(), RuleSet::all());
        let mut severity = BTreeMap::new();
        for layer in layers {
            rules.apply(layer.select.as_deref(), &layer.extend_select, &layer.ignore);
            fixable.apply(layer.fixable.as_deref(), &[], &layer.unfixable);
            severity.extend(stated_severities(layer));
        }
        let pedantic = last(|layer| layer.pedantic).unwrap_or(false);
        let usual = if pedantic { Confidence::Low } else { Confidence::Medium };
        let usually = if pedantic { Severity::Note } else { Severity::Warning };
        Settings {
            rules,
            per_file_ignores: per_file_ignores(layers),
            exclude: excluded(layers),
            force_exclude: last(|layer| layer.force_exclude).unwrap_or(false),
            min_confidence: layers.iter().rev().find_map(|layer| layer.min_confidence).unwrap_or(usual),
            min_severity: layers.iter().rev().find_map(|layer| layer.min_severity).unwrap_or(usually),
            severity,
            fixable,
            pedantic,
            tables: OnceLock::new(),
            seen: Seen::default(),
            apis: layers.iter().flat_map(|layer| layer.apis.iter().cloned()).collect(),
            baseline: layers.iter().rev().find_map(|layer| layer.baseline.clone()),
            target: layers.iter().rev().find_map(|layer| layer.target.clone()).unwrap_or_default(),
            gpus: layers.iter().rev().find_map(|layer| layer.gpus).unwrap_or(1),
            values: layers.iter().flat_map(|layer| layer.values.iter().cloned()).collect(),
            pinned: Pinned::default(),
            files,
        }
    }

    /// Whether a rule is on in a file.
    pub fn selects(&self, rule: &str, path: &Path) -> bool {
        let ignored = |(glob, rules): &(GlobMatcher, RuleSet)| rules.contains(rule) && glob.is_match(path);
        self.rules.contains(rule) && !self.per_file_ignores.iter().any(ignored)
    }

    /// Whether a finding is shown, or only counted.
    pub fn shows(&self, finding: &Diagnostic) -> bool {
        finding.severity >= self.min_severity && finding.confidence >= self.min_confidence
    }

    /// A finding as bad as the user takes it to be, with a fix that may be applied only where that is wanted.
    pub fn adapted(&self, mut finding: Diagnostic) -> Diagnostic {
        if let Some(severity) = self.severity.get(finding.rule) {
            finding.severity = *severity;
        }
        if let Some(fix) = finding.fix.as_mut().filter(|_| !self.fixable.contains(finding.rule)) {
            fix.applicability = Applicability::DisplayOnly;
        }
        finding
    }
}

/// Settings whose tables are read: what a rehearsal needs. [`Settings::ready`] is the only way to one, so that no
/// script is rehearsed with the project's own tables because the user's were forgotten.
#[derive(Clone)]
pub struct Ready {
    settings: Arc<Settings>,
    tables: Arc<Tables>,
}

impl Ready {
    /// What calls do, the user's tables included.
    pub fn tables(&self) -> &Apis {
        self.tables.apis.as_ref().unwrap_or_else(|| Apis::builtin())
    }

    /// What lets a file in.
    pub fn gate(&self) -> &Gate {
        self.tables.gate.get_or_init(|| Gate::new(self.tables()))
    }

    /// Stands for all that a rehearsal heeds.
    pub fn digest(&self) -> u128 {
        self.tables.digest
    }
}

impl Deref for Ready {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.settings
    }
}

#[derive(Debug)]
struct Tables {
    /// None where the user has no tables, so that the project's own are all there are.
    apis: Option<Apis>,
    /// Stands for their texts, and for what else a rehearsal heeds of the settings that name them.
    digest: u128,
    gate: OnceLock<Gate>,
}

/// Why the tables of the user can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    #[error("{}: this table of APIs can't be read", .0.display())]
    Unreadable(PathBuf),
    #[error(transparent)]
    Wrong(#[from] ApiError),
}

impl Tables {
    fn read(settings: &Settings) -> Result<Tables, TableError> {
        let mut texts = Vec::new();
        for path in &settings.apis {
            settings.seen.note(path);
            let text = read_text(path).ok_or_else(|| TableError::Unreadable(path.clone()))?;
            texts.push((path.display().to_string(), text));
        }
        let digest = xxh3_128(format!("{} {texts:?}", settings.heeded()).as_bytes());
        let borrowed: Vec<(&str, &str)> =
            texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let apis = if borrowed.is_empty() { None } else { Some(Apis::load(&borrowed)?) };
        Ok(Tables { apis, digest, gate: OnceLock::new() })
    }
}

/// What a layer says of the severity of each rule: of an id, a group and `ALL` the most precise counts.
fn stated_severities(layer: &Config) -> impl Iterator<Item = (&'static str, Severity)> {
    let mut stated = layer.severity.clone();
    stated.sort_by_key(|(selector, _)| *selector);
    stated.into_iter().flat_map(|(selector, severity)| {
        RuleSet::of(&[selector]).ids().into_iter().map(move |rule| (rule, severity))
    })
}

/// Globs without a slash match a name anywhere; those with one match from the folder of their configuration.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    names: GlobSet,
    paths: GlobSet,
    /// As they were written, for `--show-settings`.
    pub written: Vec<String>,
}

impl Globs {
    pub fn new<'a>(patterns: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Globs {
        let (mut names, mut paths, mut written) = (GlobSetBuilder::new(), GlobSetBuilder::new(), Vec::new());
        for (base, pattern) in patterns {
            written.push(pattern.to_owned());
            let set = if pattern.contains('/') { &mut paths } else { &mut names };
            // Patterns were compiled once already, where they were read and could be complained about.
            if let Some(glob) = anchored(base, pattern) {
                set.add(glob);
            }
        }
        Globs { names: names.build().unwrap_or_default(), paths: paths.build().unwrap_or_default(), written }
    }

    /// Whether this very entry is meant; `path` is absolute.
    pub fn matches(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| self.names.is_match(name)) || self.paths.is_match(path)
    }

    /// Whether the entry or a folder that holds it is meant, up to `root`.
    pub fn matches_below(&self, root: &Path, path: &Path) -> bool {
        path.ancestors()
            .take_while(|ancestor| *ancestor != root && ancestor.starts_with(root))
            .any(|one| self.matches(one))
    }
}

/// A glob on absolute paths, or on names where it has no slash.
fn anchored(base: &Path, pattern: &str) -> Option<Glob> {
    if !pattern.contains('/') {
        return Glob::new(pattern).ok();
    }
    let base = globset::escape(&base.to_string_lossy());
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
    let full = if pattern.starts_with('/') { pattern.to_owned() } else { format!("{base}/{pattern}") };
    GlobBuilder::new(&full).literal_separator(true).build().ok()
}

fn excluded(layers: &[&Config]) -> Globs {
    let own = layers.iter().rposition(|layer| layer.exclude.is_some());
    let first = own.map(|at| layers[at]);
    let stated = first.iter().flat_map(|layer| {
        layer.exclude.iter().flatten().map(|pattern| (layer.base.as_path(), pattern.as_str()))
    });
    let default = DEFAULT_EXCLUDE.iter().filter(|_| own.is_none()).map(|pattern| (Path::new(""), *pattern));
    let extended = layers.iter().flat_map(|layer| {
        layer.extend_exclude.iter().map(|pattern| (layer.base.as_path(), pattern.as_str()))
    });
    Globs::new(stated.chain(default).chain(extended))
}

fn per_file_ignores(layers: &[&Config]) -> Vec<(GlobMatcher, RuleSet)> {
    let matcher = |base: &Path, pattern: &str| -> Option<GlobMatcher> {
        let anywhere = format!("**/{pattern}");
        let pattern = if pattern.contains('/') { pattern } else { &anywhere };
        anchored(base, pattern).map(|glob| glob.compile_matcher())
    };
    layers
        .iter()
        .flat_map(|layer| layer.per_file_ignores.iter().map(|entry| (&layer.base, entry)))
        .filter_map(|(base, (pattern, rules))| Some((matcher(base, pattern)?, RuleSet::of(rules))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::selection::Selector;

    fn layer(base: &str) -> Config {
        Config { base: PathBuf::from(base), ..Config::default() }
    }

    #[test]
    fn globs_match_names_anywhere_and_paths_from_their_base() {
        let base = Path::new("/p");
        let globs = Globs::new([(base, "venv"), (base, "data/*.py"), (base, "gen/")]);
        assert!(globs.matches(Path::new("/p/a/venv")));
        assert!(globs.matches(Path::new("/p/data/x.py")));
        assert!(!globs.matches(Path::new("/p/data/deep/x.py")));
        assert!(!globs.matches(Path::new("/p/a/data/x.py")));
        assert!(globs.matches(Path::new("/p/gen")));
        assert!(globs.matches_below(base, Path::new("/p/a/venv/lib/x.py")));
        assert!(!globs.matches_below(Path::new("/p/a/venv"), Path::new("/p/a/venv/lib/x.py")));
    }

    #[test]
    fn exclude_replaces_and_extend_exclude_adds() {
        let mut config = layer("/p");
        config.extend_exclude = vec!["third_party".to_owned()];
        let settings = Settings::fold(&[&config], Vec::new());
        assert!(settings.exclude.matches(Path::new("/p/third_party")));
        assert!(settings.exclude.matches(Path::new("/p/.venv")));
        config.exclude = Some(vec!["x".to_owned()]);
        let settings = Settings::fold(&[&config], Vec::new());
        assert!(settings.exclude.matches(Path::new("/p/third_party")));
        assert!(!settings.exclude.matches(Path::new("/p/.venv")));
    }

    #[test]
    fn per_file_ignores_take_names_and_paths() {
        let mut config = layer("/p");
        let rules = vec![Selector::parse("memory").unwrap()];
        config.per_file_ignores =
            vec![("test_*.py".to_owned(), rules.clone()), ("demo/**/*.py".to_owned(), rules)];
        let settings = Settings::fold(&[&config], Vec::new());
        assert!(!settings.selects("retained-graph", Path::new("/p/a/test_x.py")));
        assert!(!settings.selects("retained-graph", Path::new("/p/demo/a/x.py")));
        assert!(settings.selects("retained-graph", Path::new("/p/a/demo/a/x.py")));
        assert!(settings.selects("unsafe-division", Path::new("/p/a/test_x.py")));
    }

    #[test]
    fn pedantic_shows_everything_unless_told_otherwise() {
        let mut config = layer("/p");
        config.pedantic = Some(true);
        assert_eq!(Settings::fold(&[&config], Vec::new()).min_confidence, Confidence::Low);
        config.min_confidence = Some(Confidence::High);
        assert_eq!(Settings::fold(&[&config], Vec::new()).min_confidence, Confidence::High);
    }
    #[test]
    fn tables_that_cannot_be_read_make_no_settings_ready() {
        let mut config = layer("/p");
        config.apis = vec![PathBuf::from("/p/no/such/table.toml")];
        let settings = Arc::new(Settings::fold(&[&config], Vec::new()));
        let missing = TableError::Unreadable(PathBuf::from("/p/no/such/table.toml"));
        assert_eq!(settings.ready().err(), Some(missing));
        assert!(Arc::new(Settings::fold(&[&layer("/p")], Vec::new())).ready().is_ok());
    }

    #[test]
    fn what_a_rehearsal_heeds_is_in_the_digest_and_what_is_shown_is_not() {
        let digest = |config: &Config| {
            Arc::new(Settings::fold(&[config], Vec::new())).ready().ok().map(|ready| ready.digest())
        };
        let plain = digest(&layer("/p"));
        assert_eq!(digest(&Config { pedantic: Some(true), ..layer("/p") }), plain);
        assert_ne!(digest(&Config { gpus: Some(8), ..layer("/p") }), plain);
    }
}
