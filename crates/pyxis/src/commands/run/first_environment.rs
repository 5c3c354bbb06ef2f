//! The environment that `pyxis run` and `pyxis proxy` are started with, and the secrets in it.
//!
//! Linux shows a process's first environment in `/proc` for as long as the process lives, to root even if its memory is
//! hidden. So the program executes itself without the variables that may hold a secret, before it starts any command. A
//! file in memory carries them over, and is empty afterwards.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use pyxis_run::{Variables, private_names};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::commands::out;
use crate::config::env::{self, CARRIER, Env, ProcessEnv};

/// Name of the file.
const FILE: &str = "pyxis-variables";
/// Takes the secrets out: executes the program again, unless that was done before. `named` are variables with secrets, and
/// the first one has the agent key. If it cannot be done, the person is told, and the command runs nevertheless. If it was
/// done and the secrets cannot be read back, the process ends: the command would inherit them.
pub(in crate::commands) fn clear(named: &[&str]) {
    if ProcessEnv.var(CARRIER).is_some() {
        let taken = carrier().ok_or_else(|| io::ErrorKind::NotFound.into()).and_then(|path| take_over(&path));
        if let Err(error) = taken {
            out::notice(format_args!("pyxis: cannot read back the variables with secrets: {error}"));
            std::process::exit(1);
        }
    } else if let Err(error) = execute_without_secrets(named) {
        out::notice(format_args!("pyxis: root can see the agent key in /proc while this runs: {error}"));
    }
}

/// The file in memory that an earlier execution has left.
fn carrier() -> Option<PathBuf> {
    let path = descriptor(ProcessEnv.var(CARRIER)?.parse().ok()?);
    let file = path.read_link().ok()?;
    file.as_os_str().as_bytes().starts_with(format!("/memfd:{FILE}").as_bytes()).then_some(path)
}

/// Place of an open file. The command inherits its number, so nothing may be left in it.
fn descriptor(number: i32) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{number}"))
}

fn take_over(path: &Path) -> io::Result<()> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    file.set_len(0)?;
    env::add(read_all(&text));
    Ok(())
}

/// Returns only if there is nothing to take out, or on an error.
fn execute_without_secrets(named: &[&str]) -> io::Result<()> {
    let own: Variables = env::all_variables().collect();
    let (private, public) = separated(own, named);
    if private.is_empty() {
        return Ok(());
    }
    let mut file = File::from(memfd_create(FILE, MemfdFlags::empty())?);
    file.write_all(&written(&private))?;
    let number = file.as_raw_fd();
    // The next execution opens it so.
    File::open(descriptor(number))?;
    let mut arguments = std::env::args_os();
    let mut command = Command::new(std::env::current_exe()?);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments).env_clear().envs(&public).env(CARRIER, number.to_string());
    Err(command.exec())
}

/// The variables that may hold a secret, and the others.
fn separated(own: Variables, named: &[&str]) -> (Variables, Variables) {
    let key = named.first().and_then(|name| own.get(OsStr::new(name)));
    let key = key.map(|key| key.as_bytes().trim_ascii().to_owned()).unwrap_or_default();
    let mut private = private_names(&own, &key);
    private.extend(named.iter().map(OsString::from));
    own.into_iter().partition(|(name, _)| private.contains(name))
}

/// `NAME=VALUE`, each ended by a zero byte, which neither can have.
fn written(variables: &Variables) -> Vec<u8> {
    let parts =
        variables.iter().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    parts.collect::<Vec<_>>().concat()
}

fn read_all(text: &[u8]) -> Vec<(OsString, OsString)> {
    let read = |entry: &[u8]| {
        let end = entry.iter().position(|byte| *byte == b'=')?;
        let own = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Some((own(&entry[..end]), own(&entry[end + 1..])))
    };
    text.split(|byte| *byte == 0).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn what_may_hold_a_secret_is_taken_out_and_comes_back_as_it_was() {
        let own = variables(&[
            ("PX_ENCRYPTION_KEY", "env:MASTER"),
            ("MASTER", "a=b\nc"),
            ("MY_KEY", " of an agent\n"),
            ("COPY", "Bearer of an agent"),
            ("OTHER", "px_agent_00112233445566778899aabbccddeeff"),
            ("PX_EMPTY", ""),
            ("HOME", "/home/a"),
            ("PYXIS", "http://localhost:8700"),
        ]);
        let (private, public) = separated(own, &["MY_KEY", "FLAG"]);
        assert_eq!(public, variables(&[("HOME", "/home/a"), ("PYXIS", "http://localhost:8700")]));
        assert_eq!(private.len(), 6);
        assert_eq!(read_all(&written(&private)).into_iter().collect::<Variables>(), private);
    }
}
