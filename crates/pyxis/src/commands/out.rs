//! Output of commands: data to standard output, notices to standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use pyxis_core::preview;
use serde_json::Value;

/// Prints one line. If the reader has gone away, as `head` does, it had what it wanted.
pub(super) fn line(text: impl Display) {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => panic!("cannot write the output: {error}"),
        _ => {}
    }
}

/// Prints a line for the person at the terminal when standard output is for a program. It goes to standard error,
/// bypassing the log, and a closed standard error is ignored.
pub(super) fn notice(text: impl Display) {
    drop(writeln!(io::stderr().lock(), "{text}"));
}

/// A number of things: `1 address`, `2 addresses`.
pub(super) fn count_noun<N: Copy + Display>(count: N, noun: &str) -> String
where
    u64: TryFrom<N>,
{
    if u64::try_from(count).is_ok_and(|count| count == 1) {
        return format!("1 {noun}");
    }
    let ending = if noun.ends_with('s') { "es" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// Prints one JSON value on a line.
pub(super) fn json(value: &Value) {
    line(value);
}

/// Prints what a command did: JSON for a program, a line for a person.
pub(super) fn outcome(as_json: bool, value: &Value, text: impl Display) {
    if as_json { json(value) } else { line(text) }
}

/// Text that others chose, for a terminal: on one line, and without characters that it would act on or hide.
pub(super) fn on_one_line(text: &str) -> String {
    let plain = |char| if matches!(char, '\n' | '\t') { ' ' } else { preview::visible(char) };
    text.chars().map(plain).collect()
}

/// Prints a list as [`table`] does. Standard error names an empty one: `no agents`.
pub(super) fn list(as_json: bool, things: &str, columns: &[&str], rows: &[Value]) {
    if rows.is_empty() && !as_json {
        notice(format_args!("no {things}"));
    }
    table(as_json, columns, rows);
}

/// Prints one thing: a line for each member, or JSON.
pub(super) fn record(as_json: bool, value: &Value) {
    let members = value.as_object().filter(|_| !as_json);
    let Some(members) = members else { return json(value) };
    let width = members.keys().map(String::len).max().unwrap_or_default();
    for (name, value) in members {
        line(format_args!("{:<width$}  {}", name.replace('_', " "), cell(value)));
    }
}

/// A value on one line.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) if text.is_empty() => "-".to_owned(),
        Value::String(text) => on_one_line(text),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map_or_else(|| item.to_string(), on_one_line))
            .collect::<Vec<_>>()
            .join(", "),
        other => on_one_line(&other.to_string()),
    }
}

/// Prints rows as a table, or as a JSON array.
pub(super) fn table(as_json: bool, columns: &[&str], rows: &[Value]) {
    if as_json {
        return json(&Value::Array(rows.to_vec()));
    }
    let cell = |row: &Value, column: &str| match &row[column] {
        Value::Null => "-".to_owned(),
        Value::String(text) => on_one_line(text),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map_or_else(|| item.to_string(), on_one_line))
            .collect::<Vec<_>>()
            .join(","),
        other => other.to_string(),
    };
    let widths: Vec<usize> = columns
        .iter()
        .map(|column| {
            let longest = rows.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or(0);
            longest.max(column.len())
        })
        .collect();
    let print = |cells: Vec<String>| {
        let padded: Vec<String> =
            cells.iter().zip(&widths).map(|(text, width)| format!("{text:<width$}")).collect();
        line(padded.join("  ").trim_end());
    };
    print(columns.iter().map(|column| column.to_uppercase().replace('_', " ")).collect());
    for row in rows {
        print(columns.iter().map(|column| cell(row, column)).collect());
    }
}

/// A progress bar over bytes of a file, with a message; on a terminal only.
pub(super) fn progress_of_bytes(length: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{bar:30} {bytes}/{total_bytes} {msg} {eta}";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style)
}

/// A progress bar, on a terminal only.
pub(super) fn progress(what: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner().with_message(what);
    bar.set_style(
        ProgressStyle::with_template("{spinner} {msg} {human_pos} {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    bar
}

/// A progress bar with a known end, on a terminal only.
pub(super) fn progress_to(what: &'static str, end: u64) -> ProgressBar {
    let bar = progress(what);
    bar.set_length(end);
    bar.set_style(
        ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular_and_none_or_several_are_plural() {
        assert_eq!(count_noun(0_u64, "score"), "0 scores");
        assert_eq!(count_noun(1_i64, "suspected group"), "1 suspected group");
        assert_eq!(count_noun(1_usize, "address"), "1 address");
        assert_eq!(count_noun(2_usize, "address"), "2 addresses");
    }
}
