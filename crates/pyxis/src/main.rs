//! The executable: reads the command line and runs one command.

use std::process::ExitCode;

use clap::Parser;
use pyxis::cli::Cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprint_error(&error.into());
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(pyxis::commands::run(cli)) {
        Ok(code) => code,
        Err(error) => {
            eprint_error(&error);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "a command tells its failure to the person who typed it")]
fn eprint_error(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}
