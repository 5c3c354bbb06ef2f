//! The command as a child process: its signals and its exit status.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};

use anyhow::{Context, Result};
use pyxis_run::Variables;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Exit status of shells for a command that cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// Exit status of shells for a command that does not exist.
const NOT_FOUND: u8 = 127;
/// Added by shells to the number of the signal that ended a command.
const SIGNALED: i32 = 128;

/// Signals that arrive.
pub(super) type Signals = mpsc::Receiver<Signal>;

/// Signals that are passed on.
const FORWARDED: [(SignalKind, Signal); 6] = [
    (SignalKind::hangup(), Signal::HUP),
    (SignalKind::interrupt(), Signal::INT),
    (SignalKind::quit(), Signal::QUIT),
    (SignalKind::terminate(), Signal::TERM),
    (SignalKind::user_defined1(), Signal::USR1),
    (SignalKind::user_defined2(), Signal::USR2),
];

/// Hides this process's memory and first environment, which hold the agent key, from processes of the same user, such
/// as the command itself.
pub(in crate::commands) fn hide_memory() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
    {
        tracing::warn!(%error, "the command could read the memory of pyxis run");
    }
}

/// Runs a command to its end, with these variables only. Its exit status becomes that of this process.
pub(super) async fn run(
    command: &[OsString],
    variables: &Variables,
    signals: &mut Signals,
) -> Result<ExitCode> {
    let (program, arguments) = command.split_first().context("no command")?;
    let spawned = Command::new(program).args(arguments).env_clear().envs(variables).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let text = format!("cannot run {}: {error}", program.display());
            crate::commands::out::notice(format_args!("pyxis run: {text}"));
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            return Ok(ExitCode::from(if is_missing { NOT_FOUND } else { NOT_EXECUTABLE }));
        }
    };
    let pid = pid_of(&child)?;
    let mut ended = tokio::task::spawn_blocking(move || {
        // Without reaping it, so that its number cannot belong to another process while signals are passed on.
        rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    });
    loop {
        tokio::select! {
            _ = &mut ended => break,
            Some(signal) = signals.recv() => {
                if !is_sent_by_terminal(signal) {
                    // It may just have ended.
                    let _ = rustix::process::kill_process(pid, signal);
                }
            }
        }
    }
    Ok(exit_code(child.wait()?))
}

fn pid_of(child: &Child) -> Result<Pid> {
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    number.context("the command has no process id")
}

/// True for what a terminal sends to the whole foreground group, in which the command is as well.
fn is_sent_by_terminal(signal: Signal) -> bool {
    let is_key = signal == Signal::INT || signal == Signal::QUIT;
    is_key && rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Signals to pass on. From now on, none ends this process.
pub(super) fn signals() -> Result<Signals> {
    let (sender, receiver) = mpsc::channel(16);
    for (kind, number) in FORWARDED {
        let mut stream = signal(kind).context("cannot watch signals")?;
        let sender = sender.clone();
        tokio::spawn(
            async move { while stream.recv().await.is_some() && sender.send(number).await.is_ok() {} },
        );
    }
    Ok(receiver)
}

/// Exit status of a run that a signal ended before its command started.
pub(super) fn ended_by(signal: Signal) -> ExitCode {
    ExitCode::from(u8::try_from(SIGNALED + signal.as_raw()).unwrap_or(u8::MAX))
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let number = status.code().or_else(|| status.signal().map(|signal| SIGNALED + signal));
    ExitCode::from(number.and_then(|number| u8::try_from(number).ok()).unwrap_or(u8::MAX))
}
