//! The executable: reads the command line and runs one command.

use std::process::ExitCode;

use clap::Parser;
use pyxis::cli::Cli;
use pyxis::commands;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => commands::run(cli),
        Err(error) => commands::usage(&error),
    }
}
