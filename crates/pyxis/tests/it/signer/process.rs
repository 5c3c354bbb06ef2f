//! A running `pyxis signer`.

use std::io::{BufRead, BufReader, Read, Seek};
use std::process::{Child, Command, Stdio};

use pyxis_testkit::upstream::Upstream;
use serde_json::Value;
use tempfile::TempDir;

use super::verifier::{CONSUMER_KEY, CONSUMER_SECRET, TOKEN, TOKEN_SECRET};
use crate::support::Client;
use crate::support::client::{Address, Call};

/// A command with nothing in its environment but `env`.
pub(super) fn command(directory: &TempDir, env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pyxis"));
    command.args(["signer", "--json"]).current_dir(directory.path()).stdin(Stdio::null()).env_clear();
    command.env("OAUTH_SIGNER_PORT", "0").envs(env.iter().copied());
    command
}

/// The variables of the credential that the verifier knows.
pub(crate) fn my_app() -> Vec<(&'static str, &'static str)> {
    vec![
        ("OAUTH_CRED_MY_APP_CONSUMER_KEY", CONSUMER_KEY),
        ("OAUTH_CRED_MY_APP_CONSUMER_SECRET", CONSUMER_SECRET),
        ("OAUTH_CRED_MY_APP_ACCESS_TOKEN", TOKEN),
        ("OAUTH_CRED_MY_APP_ACCESS_TOKEN_SECRET", TOKEN_SECRET),
    ]
}

/// The process ends with this value.
pub(crate) struct Signer {
    child: Child,
    pub(crate) greeting: Value,
    pub(super) directory: TempDir,
    client: Client,
}

impl Signer {
    /// A signer that may reach loopback over plain http, with these additional variables.
    pub(crate) fn start(more: &[(&str, &str)]) -> Self {
        let mut env = my_app();
        env.extend([("OAUTH_SIGNER_ALLOW_HTTP", "true"), ("PX_EGRESS_ALLOW", "127.0.0.0/8")]);
        env.extend(more);
        Self::start_with(&env)
    }

    pub(super) fn start_with(env: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = command(&directory, env);
        Self::run(&mut command, directory)
    }

    /// Starts `command`, a signer with `--json`.
    pub(crate) fn run(command: &mut Command, directory: TempDir) -> Self {
        let mut log = tempfile::tempfile().unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log.try_clone().unwrap()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let greeting: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            // Usually it has already ended, and says why below.
            let _ = child.kill();
            let (ended, mut said) = (child.wait().unwrap(), String::new());
            log.rewind().unwrap();
            log.read_to_string(&mut said).unwrap();
            panic!("first line {line:?}, then {ended}; log: {said}")
        });
        let address = greeting["address"].as_str().unwrap().parse().unwrap();
        Self { child, greeting, directory, client: Client::new(Address::new(address)) }
    }

    /// URL that it listens on.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.greeting["address"].as_str().unwrap())
    }

    /// Address that it listens on.
    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.greeting["address"].as_str().unwrap().parse().unwrap()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// A request to sign: by POST, as the proxy does.
    pub(super) fn call(&self, method: &str, target: &str) -> Call {
        let call = self.client.call("POST", "/").header("x-oauth-credential", "my-app");
        call.header("x-oauth-target", target).header("x-px-method", method)
    }

    /// The same for a path of `upstream`.
    pub(super) fn to(&self, upstream: &Upstream, method: &str, path: &str) -> Call {
        self.call(method, &upstream.url(path))
    }

    /// Resident memory in KiB.
    pub(super) fn resident_kib(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Number of occurrences of each of `words` in the process's writable memory, while it is stopped.
    #[cfg(target_os = "linux")]
    pub(super) fn copies<const N: usize>(&self, words: [&str; N]) -> [usize; N] {
        use std::fs::File;
        use std::os::unix::fs::FileExt as _;

        use memchr::memmem;
        // Most of an allocator's reserved memory was never touched, and is skipped piece by piece.
        const PIECE: usize = 64 * 1024;
        let longest = words.map(str::len).into_iter().max().unwrap();
        let (mut bytes, untouched) = (vec![0; PIECE + longest], vec![0; PIECE + longest]);
        let open = |name: &str| File::open(format!("/proc/{}/{name}", self.child.id())).unwrap();
        let (memory, mut found) = (open("mem"), [0; N]);
        for line in BufReader::new(open("maps")).lines().map(Result::unwrap) {
            let mut fields = line.split([' ', '-']);
            let mut end = || u64::from_str_radix(fields.next().unwrap(), 16).unwrap();
            let (from, to) = (end(), end());
            if !fields.next().unwrap().starts_with("rw") {
                continue;
            }
            for from in (from..to).step_by(PIECE) {
                // A word that begins in this piece may end in the next one.
                let piece = &mut bytes[..(PIECE + longest).min(usize::try_from(to - from).unwrap())];
                // A thread that ends releases its stack.
                if memory.read_exact_at(piece, from).is_err() || *piece == untouched[..piece.len()] {
                    continue;
                }
                for (count, word) in found.iter_mut().zip(words) {
                    *count += memmem::find_iter(piece, word).filter(|at| *at < PIECE).count();
                }
            }
        }
        found
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
