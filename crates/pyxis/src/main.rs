//! The executable: reads the command line and runs one command.

use std::process::ExitCode;

use clap::Parser;
use pyxis::cli::Cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    pyxis::commands::run(Cli::parse())
}
