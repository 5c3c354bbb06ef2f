//! A real mail server: aiosmtpd, from the Python environment named by `PX_TEST_PYTHON_TOOLS`.

mod faulty;

use std::io::{BufRead, BufReader, Lines, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::tls::Authority;

pub use self::faulty::FaultyMailServer;

/// Password of every account.
pub const PASSWORD: &str = "mail-canary/7Qx+9&k";

/// Encryption that a server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// From the first byte on.
    Tls,
    /// After STARTTLS, without which nothing is accepted.
    StartTls,
    None,
}

impl Encryption {
    const fn name(self) -> &'static str {
        match self {
            Self::Tls => "tls",
            Self::StartTls => "starttls",
            Self::None => "none",
        }
    }
}

/// A port for a mail server that starts later, once its certificate is made.
pub struct Port(TcpListener);

impl Port {
    /// A free port.
    pub fn reserve() -> Self {
        Self(TcpListener::bind(("127.0.0.1", 0)).expect("a free port"))
    }

    pub fn number(&self) -> u16 {
        self.0.local_addr().expect("an address").port()
    }
}

/// A mail server for one test.
pub struct MailServer {
    child: Child,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    happened: Vec<Value>,
}

impl MailServer {
    /// Starts a server at `port` with a certificate for `name`. It accepts mail from signed-in clients only. `without`
    /// names mechanisms of AUTH that it does not offer. Tests that need one have `real_mail_server` in their names, so
    /// that `ci/test.sh` can leave them out.
    #[expect(clippy::disallowed_methods, reason = "a test finds its server this way")]
    pub fn start(
        port: Port,
        authority: &Authority,
        name: &str,
        encryption: Encryption,
        without: &[&str],
    ) -> Self {
        let environment = std::env::var("PX_TEST_PYTHON_TOOLS").expect(
            "PX_TEST_PYTHON_TOOLS names no environment: put ci/python-tools.sh before the command that runs the tests",
        );
        let mut command = Command::new(PathBuf::from(environment).join("bin/python"));
        command
            .args(["-W", "ignore", "-c", include_str!("smtp/server.py")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("Python starts");
        let mut questions = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let (certificate, key) = authority.server_pem(&[name]);
        let settings = json!({
            "port": port.number(), "encryption": encryption.name(), "certificate": certificate, "key": key,
            "password": PASSWORD, "without": without,
        });
        drop(port);
        writeln!(questions, "{settings}").expect("its settings");
        let mut server = Self { child, questions, answers, happened: Vec::new() };
        server.answer();
        server
    }

    fn answer(&mut self) -> String {
        self.answers.next().expect("the mail server runs").expect("a line")
    }

    /// Everything of a kind that happened so far: `sign-in`, `sender`, `recipient` or `mail`.
    pub fn happened(&mut self, kind: &str) -> Vec<Value> {
        writeln!(self.questions).expect("a question");
        let answer = self.answer();
        let new: Vec<Value> = serde_json::from_str(&answer).expect("JSON");
        self.happened.extend(new);
        self.happened.iter().filter(|event| event["kind"] == kind).cloned().collect()
    }

    /// Every mail that was accepted.
    pub fn mails(&mut self) -> Vec<Value> {
        self.happened("mail").into_iter().filter(|mail| mail["accepted"] == true).collect()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        // The process may already have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A header of a mail. Panics if it is missing or given twice.
pub fn header<'a>(mail: &'a Value, name: &str) -> &'a str {
    let headers = mail["headers"].as_array().expect("headers");
    let values: Vec<_> = headers.iter().filter(|header| header[0] == name).collect();
    assert_eq!(values.len(), 1, "{name}: {headers:?}");
    values[0][1].as_str().expect("a text")
}
