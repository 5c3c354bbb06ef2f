//! Signals to processes started by tests.

use std::process::{Child, Command};

/// Sends `signal`, such as `TERM`, with the shell's built-in `kill`. The `kill` program is in a package that a minimal
/// system lacks.
pub fn send(signal: &str, process: &Child) {
    let pid = process.id().to_string();
    let sent = Command::new("/bin/sh").args(["-c", r#"kill -s "$0" "$1""#, signal, &pid]).status();
    assert!(sent.is_ok_and(|status| status.success()), "the process is there");
}
