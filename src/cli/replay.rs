//! `trainlint confirm`, `plan`, `replay` and `report`: flags and files into a plan or results, and back.

use super::args::{
    CheckArgs, ConfirmArgs, FindingArgs, PlanArgs, ReplayArgs, ReportArgs, ResultFormat, WorkerArgs,
};
use super::backend::{self, Chosen};
use super::output::Output;
use super::progress::Bar;
use super::{CLEAN, FAILURE, FINDINGS, check, finish};
use crate::engine::{self, Outcome, Progress};
use crate::render::{self, Look};
use crate::replay::outcome::{Results, SCHEMA, Verdict};
use crate::replay::plan::{self, Limits, MOST_BYTES, Plan, Settings};
use crate::replay::{html, process, text};
use crate::source::SourceFile;
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path};
use std::time::Instant;

/// Checks, replays, and tells what came of it.
pub(crate) fn confirm(args: &ConfirmArgs, output: &Output) -> anyhow::Result<u8> {
    let (outcome, plan, places) = made(&args.findings, output)?;
    let chosen = match backend::choose(&args.place, &plan, output)? {
        Ok(chosen) => chosen,
        Err(code) => return Ok(code),
    };
    let bar = Bar::over("replays", !args.no_progress);
    let results = run(&plan, &plan::write(&plan), &chosen, &bar)?;
    draw(args.html.as_deref(), &results)?;
    let failed = outcome.failed();
    match args.output_format {
        ResultFormat::Json => output.out(&json(&results))?,
        ResultFormat::Sarif => output.out(&sarif(outcome, &results, &places))?,
        ResultFormat::Full => {
            let left = left_over(&outcome, &results);
            output.out(&beside(outcome, &results, &places, output.look()))?;
            output.out(text::summary(&results).as_bytes())?;
            output.out(left.as_bytes())?;
        }
    }
    if failed {
        return Ok(FAILURE);
    }
    let confirmed = results.items.iter().any(|item| item.verdict == Verdict::Confirmed);
    Ok(if confirmed { FINDINGS } else { CLEAN })
}

/// Checks, and writes what can be replayed.
pub(crate) fn plan(args: &PlanArgs, output: &Output) -> anyhow::Result<u8> {
    let (outcome, plan, _) = made(&args.findings, output)?;
    write(args.output_file.as_deref(), &plan::write(&plan), output)?;
    Ok(if outcome.failed() { FAILURE } else { CLEAN })
}

/// Runs a plan.
pub(crate) fn replay(args: &ReplayArgs, output: &Output) -> anyhow::Result<u8> {
    let bytes = read(&args.plan)?;
    let plan = parsed(&bytes, &args.plan)?;
    let chosen = match backend::choose(&args.place, &plan, output)? {
        Ok(chosen) => chosen,
        Err(code) => return Ok(code),
    };
    for path in changed(&plan) {
        output.complain("warning", &format!("{path} has changed since the plan was written"));
    }
    let results = run(&plan, &bytes, &chosen, &Bar::over("replays", !args.no_progress))?;
    draw(args.html.as_deref(), &results)?;
    write(args.output_file.as_deref(), &json(&results), output)?;
    Ok(CLEAN)
}

/// Shows results.
pub(crate) fn report(args: &ReportArgs, output: &Output) -> anyhow::Result<u8> {
    let bytes = read(&args.result)?;
    let path = args.result.display();
    let results: Results = serde_json::from_slice(&bytes)
        .with_context(|| format!("{path} is not what `trainlint replay` writes"))?;
    if results.schema != SCHEMA {
        bail!("{path} does not have schema `{SCHEMA}`: replay the plan with this version");
    }
    draw(args.html.as_deref(), &results)?;
    output.out(text::text(&results, output.color).as_bytes())?;
    Ok(CLEAN)
}

/// Each finding that was replayed with its code, and the verdict beneath it.
fn beside(mut outcome: Outcome, results: &Results, places: &[usize], look: Look) -> Vec<u8> {
    let told = results.items.iter().zip(places).map(|(item, place)| {
        let mut note = text::verdict(item, look.color);
        for line in text::evidence(item) {
            note.push_str("\n  ");
            note.push_str(&line);
        }
        (*place, note)
    });
    let told: BTreeMap<usize, String> = told.collect();
    let mut index = 0..;
    outcome.findings.retain(|_| index.next().is_some_and(|index| told.contains_key(&index)));
    let verdicts: Vec<String> = told.into_values().collect();
    render::beside(&outcome, &verdicts, look)
}

/// All findings, with what came out of those that were replayed.
fn sarif(mut outcome: Outcome, results: &Results, places: &[usize]) -> Vec<u8> {
    let mut replays = vec![None; outcome.findings.len()];
    for (item, place) in results.items.iter().zip(places) {
        outcome.findings[*place].notes.push(text::verdict(item, false));
        // Plain data with string keys, which becomes JSON.
        replays[*place] = serde_json::to_value(item).ok();
    }
    render::replayed(&outcome, &replays)
}

fn draw(path: Option<&Path>, results: &Results) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, html::page(results)).with_context(|| format!("{} can't be written", path.display()))
}

/// The process in which a plan runs: the plan on stdin, what came out on stdout.
pub(crate) fn worker(args: &WorkerArgs, output: &Output) -> anyhow::Result<u8> {
    if args.probe {
        return backend::probe(args, output);
    }
    if args.survey {
        return backend::survey(output);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MOST_BYTES).read_to_end(&mut bytes)?;
    let plan = plan::read(&bytes)?;
    let mut backend = backend::of_worker(args);
    process::work(&plan, args.from, backend.as_mut(), &mut std::io::stdout().lock())?;
    Ok(CLEAN)
}

/// Scripts that are here, and not as they were.
fn changed(plan: &Plan) -> Vec<String> {
    let is_other = |source: &&plan::SourceHash| {
        let path = Path::new(&source.path);
        // The plan may be a stranger's: only files below this folder are looked at.
        let below = path.components().all(|part| matches!(part, Component::Normal(_)));
        below
            && path.is_file()
            && SourceFile::read(path).is_ok_and(|file| plan::hash(file.text.as_bytes()) != source.sha256)
    };
    plan.sources.iter().filter(is_other).map(|source| text::clean(&source.path)).collect()
}

fn made(args: &FindingArgs, output: &Output) -> anyhow::Result<(Outcome, Plan, Vec<usize>)> {
    let args = args.clone();
    let (samples, seed) = (args.samples, args.seed);
    let request = check::request(&CheckArgs {
        paths: args.paths,
        shown: args.shown,
        target: args.target,
        ..CheckArgs::default()
    })?;
    let target = engine::settings_for(&request)?.target.clone();
    let outcome = engine::check(&request, &engine::Silent)?;
    finish::complain(&outcome, output);
    let settings =
        Settings { seed, samples, limits: Limits::default(), capacity: target.memory, card: target.name };
    let (plan, places) = plan::placed(&outcome, &settings);
    Ok((outcome, plan, places))
}

fn run(plan: &Plan, bytes: &[u8], chosen: &Chosen, bar: &Bar) -> anyhow::Result<Results> {
    let start = Instant::now();
    let command = |from| chosen.command(from).map_err(std::io::Error::other);
    bar.start(plan.items.len());
    let items = process::supervise(plan, bytes, chosen.patience(), command, &|| bar.step());
    bar.finish();
    let items = items.context("the process that replays can't be started")?;
    Ok(Results {
        schema: SCHEMA.to_owned(),
        tool: concat!("trainlint ", env!("CARGO_PKG_VERSION")).to_owned(),
        plan: plan::hash(bytes),
        seed: plan.seed,
        device: chosen.device.clone(),
        seconds: start.elapsed().as_secs_f64(),
        items,
    })
}

/// How many findings have nothing that could be run.
fn left_over(outcome: &Outcome, results: &Results) -> String {
    match outcome.findings.len().saturating_sub(results.items.len()) {
        0 => String::new(),
        1 => "1 finding has nothing to replay; `trainlint check` shows it\n".to_owned(),
        several => format!("{several} findings have nothing to replay; `trainlint check` shows them\n"),
    }
}

fn json(results: &Results) -> Vec<u8> {
    // Plain structs with string keys serialise, and a `Vec` can be written to.
    let mut bytes = serde_json::to_vec(results).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// A file, or `-` for stdin.
fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let (shown, mut bytes) = (path.display(), Vec::new());
    let file: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(std::fs::File::open(path).with_context(|| format!("{shown} can't be read"))?),
    };
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).with_context(|| format!("{shown} can't be read"))?;
    if bytes.len() as u64 > MOST_BYTES {
        bail!("{shown} is larger than {MOST_BYTES} bytes, which no plan is");
    }
    Ok(bytes)
}

fn parsed(bytes: &[u8], path: &Path) -> anyhow::Result<Plan> {
    plan::read(bytes).with_context(|| format!("{} is not a valid plan", path.display()))
}

fn write(path: Option<&Path>, bytes: &[u8], output: &Output) -> anyhow::Result<()> {
    match path.filter(|path| *path != Path::new("-")) {
        None => output.out(bytes),
        Some(path) => {
            std::fs::write(path, bytes).with_context(|| format!("{} can't be written", path.display()))
        }
    }
}
