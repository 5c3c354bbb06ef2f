//! Signals to processes that a test started.

use std::process::{Child, Command};

/// Sends `signal`, such as `TERM`, by the shell's own `kill`: the program of that name is a package that a
/// small system lacks.
pub fn send(signal: &str, process: &Child) {
    let pid = process.id().to_string();
    let sent = Command::new("/bin/sh").args(["-c", r#"kill -s "$0" "$1""#, signal, &pid]).status();
    assert!(sent.is_ok_and(|status| status.success()), "the process is there");
}
