//! `pyxis completions` and `pyxis man`, for packages and shells.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;

pub(super) fn completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "pyxis", &mut script);
    match io::stdout().lock().write_all(&script) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the output")
        }
        _ => Ok(()),
    }
}

pub(super) fn pages(directory: &Path) -> Result<()> {
    ensure!(directory.is_dir(), "{} is not a directory; create it first", directory.display());
    clap_mangen::generate_to(Cli::command(), directory)
        .with_context(|| format!("cannot write to {}", directory.display()))
}
