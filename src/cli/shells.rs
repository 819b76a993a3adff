//! `trainlint completions` and `trainlint man`, from the definitions of the flags.

use super::CLEAN;
use super::args::{Args, CompletionsArgs, ManArgs};
use super::output::Output;
use crate::checks::Group;
use crate::engine::selection::known_rules;
use crate::engine::suggest::did_you_mean;
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory, ValueEnum};
use clap_complete::Generator;
use clap_complete_nushell::Nushell;
use clap_mangen::Man;
use std::io::Write;

pub(crate) fn completions(args: &CompletionsArgs, output: &Output) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut with_names(shown(&Args::command())), "trainlint", &mut text);
    output.out(&text)?;
    Ok(CLEAN)
}

/// What completions are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellKind {
    Bash,
    Elvish,
    Fish,
    Nushell,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
}

impl Generator for ShellKind {
    fn file_name(&self, name: &str) -> String {
        self.generator().file_name(name)
    }

    fn generate(&self, command: &Command, out: &mut dyn Write) {
        self.generator().generate(command, out);
    }
}

impl ShellKind {
    fn generator(self) -> Box<dyn Generator> {
        match self {
            ShellKind::Bash => Box::new(clap_complete::Shell::Bash),
            ShellKind::Elvish => Box::new(clap_complete::Shell::Elvish),
            ShellKind::Fish => Box::new(clap_complete::Shell::Fish),
            ShellKind::Nushell => Box::new(Nushell),
            ShellKind::PowerShell => Box::new(clap_complete::Shell::PowerShell),
            ShellKind::Zsh => Box::new(clap_complete::Shell::Zsh),
        }
    }
}

/// Without the commands that are not for people.
fn shown(command: &Command) -> Command {
    let commands = command.get_subcommands().filter(|one| !one.is_hide_set()).cloned();
    Command::new("trainlint")
        .version(env!("CARGO_PKG_VERSION"))
        .args(command.get_arguments().cloned())
        .subcommands(commands)
}

/// With the rules and groups that flags take, which a shell can complete; they are read elsewhere.
fn with_names(command: Command) -> Command {
    let rules = || known_rules().into_iter().map(|rule| rule.id);
    let groups = Group::ALL.into_iter().map(Group::name);
    let selectors: Vec<&'static str> = ["ALL"].into_iter().chain(groups).chain(rules()).collect();
    let command = command.mut_subcommand("explain", |explain| {
        explain.mut_arg("id", |id| id.value_parser(PossibleValuesParser::new(selectors.iter().copied())))
    });
    command.mut_subcommand("check", |check| {
        check.mut_args(|arg| match arg.get_id().as_str() {
            "select" | "extend_select" | "ignore" | "fixable" | "unfixable" => {
                arg.value_parser(PossibleValuesParser::new(selectors.iter().copied()))
            }
            _ => arg,
        })
    })
}

pub(crate) fn man(args: &ManArgs, output: &Output) -> anyhow::Result<u8> {
    let mut command = Args::command();
    command.build();
    let page = match &args.command {
        None => command,
        Some(name) => named(&command, name)?,
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text)?;
    output.out(&text)?;
    Ok(CLEAN)
}

fn named(command: &Command, name: &str) -> anyhow::Result<Command> {
    let known = || command.get_subcommands().filter(|one| !one.is_hide_set());
    let found = known().find(|one| one.get_name() == name);
    let page = found.ok_or_else(|| {
        let hint = did_you_mean(name, known().map(Command::get_name));
        anyhow!("there is no command `{name}`{hint}")
    })?;
    // As git's pages are called: `man trainlint-check`.
    let title = format!("trainlint-{name}");
    Ok(page.clone().display_name(title))
}
