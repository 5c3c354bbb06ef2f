//! `docs/reference/cli.md`, made from the command tree.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command, CommandFactory as _};
use pyxis::cli::Cli;

use super::{read, root};

const PAGE: &str = "docs/reference/cli.md";

const HEAD: &str = "# Command line

`pyxis --help` and `pyxis COMMAND --help` print the same. This page is made from the command tree; a test compares it.

Data goes to standard output, logs go to standard error. Output with `--json` is stable. Commands against the database of a
running server are safe.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed |
| 2 | wrong usage |
| 3 | already done, or nothing to do |

## Options of every command

";

/// The whole page.
fn page() -> String {
    let mut command = Cli::command();
    command.build();
    let mut page = HEAD.to_owned();
    table(&mut page, command.get_arguments().filter(|arg| arg.is_global_set()));
    for one in visible(&command) {
        section(&mut page, one, "pyxis", 2);
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|one| one.get_name() != "help" && !one.is_hide_set())
}

/// A command, or a noun with its commands.
fn section(page: &mut String, command: &Command, parent: &str, depth: usize) {
    let name = format!("{parent} {}", command.get_name());
    let aliases: Vec<_> = command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    let _ = writeln!(page, "{} {name}\n", "#".repeat(depth));
    let _ = writeln!(page, "{}", sentence(command.get_about()));
    if !aliases.is_empty() {
        let _ = writeln!(page, "\nAlso: {}", aliases.join(", "));
    }
    page.push('\n');
    let own =
        || command.get_arguments().filter(|arg| !arg.is_global_set() && !arg.is_hide_set() && is_own(arg));
    if !command.has_subcommands() {
        let _ = writeln!(page, "```\n{}\n```\n", usage(&name, own()));
    }
    table(page, own());
    for one in visible(command) {
        section(page, one, &name, depth + 1);
    }
}

fn is_own(arg: &Arg) -> bool {
    !matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    )
}

fn usage<'a>(name: &str, args: impl Iterator<Item = &'a Arg>) -> String {
    let mut words = vec![name.to_owned()];
    let (positional, options): (Vec<_>, Vec<_>) = args.partition(|arg| arg.is_positional());
    let (required, free): (Vec<&Arg>, Vec<_>) = options.into_iter().partition(|arg| arg.is_required_set());
    words.extend(required.into_iter().map(usage_text));
    if !free.is_empty() {
        words.push("[OPTIONS]".to_owned());
    }
    words.extend(positional.into_iter().map(|arg| {
        let text = if arg.is_required_set() { usage_text(arg) } else { format!("[{}]", usage_text(arg)) };
        if arg.is_last_set() { format!("-- {text}") } else { text }
    }));
    words.join(" ")
}

/// The option or argument as it is written.
fn usage_text(arg: &Arg) -> String {
    let values: Vec<String> =
        arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let takes = arg.get_action().takes_values();
    let value = if values.is_empty() { arg.get_id().to_string().to_uppercase() } else { values.join(" ") };
    match (arg.get_long(), arg.get_short(), takes) {
        (Some(long), None, true) => format!("--{long} {value}"),
        (Some(long), Some(short), true) => format!("-{short}, --{long} {value}"),
        (Some(long), _, false) => format!("--{long}"),
        (None, Some(short), _) => format!("-{short} {value}"),
        (None, None, _) if matches!(arg.get_action(), ArgAction::Append) => format!("{value}..."),
        (None, None, _) => value,
    }
}

fn table<'a>(page: &mut String, args: impl Iterator<Item = &'a Arg>) {
    let rows: Vec<String> = args.filter(|arg| is_own(arg)).map(row).collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(page, "| option or argument | meaning |\n|---|---|\n{}\n", rows.join("\n"));
}

fn row(arg: &Arg) -> String {
    let mut meaning = sentence(arg.get_help());
    let values = arg.get_possible_values();
    if !values.is_empty() && arg.get_action().takes_values() && !is_flag_like(arg) {
        let names: Vec<_> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
        let _ = write!(meaning, " Values: {}.", names.join(", "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let _ = write!(meaning, " Default: `{}`.", defaults.join(" "));
    }
    format!("| `{}` | {} |", usage_text(arg).replace('|', "\\|"), meaning.replace('|', "\\|"))
}

fn is_flag_like(arg: &Arg) -> bool {
    arg.get_possible_values().iter().all(|value| matches!(value.get_name(), "true" | "false"))
}

/// Help as a sentence of Markdown. Clap takes the final period of a doc comment away.
fn sentence(help: Option<&clap::builder::StyledStr>) -> String {
    let text = help.map(ToString::to_string).unwrap_or_default();
    let text = text.trim().replace('<', "\\<").replace('\n', " ");
    if text.is_empty() || text.ends_with(['.', '?', ':']) { text } else { text + "." }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the page is written again only when someone asks for it")]
fn the_page_of_the_command_line_is_made_from_the_command_tree() {
    let page = page();
    if std::env::var_os("PX_UPDATE_DOCS").is_some() {
        std::fs::write(root().join(PAGE), &page).unwrap();
    }
    assert!(
        read(PAGE) == page,
        "{PAGE} is out of date: run this test with PX_UPDATE_DOCS=1 and commit the page"
    );
}
