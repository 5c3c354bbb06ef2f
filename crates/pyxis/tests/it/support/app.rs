//! The built program as a process.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::client::Address;
use super::{Agent, Client, Person, Setup};

/// A data directory and, usually, a server on it. The process ends with this value.
pub(crate) struct App {
    setup: Setup,
    directory: TempDir,
    server: Option<Child>,
    address: Address,
    /// Output of `bootstrap --json`.
    pub(crate) bootstrap: Value,
    /// The first line of `serve --json`.
    pub(crate) greeting: Value,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Returns the result if it ended with this exit code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }
}

impl App {
    /// Bootstraps and serves.
    pub(crate) async fn start(setup: Setup) -> Self {
        let mut app = Self::bootstrapped(setup).await;
        app.serve();
        app
    }

    /// Bootstraps only.
    pub(crate) async fn bootstrapped(setup: Setup) -> Self {
        let mut app = Self::empty(setup);
        app.bootstrap = app.cli(&["bootstrap", "--json"]).await.expect(0).json();
        app
    }

    /// Only an empty directory (and an empty database).
    pub(crate) fn empty(setup: Setup) -> Self {
        Self {
            setup,
            directory: tempfile::tempdir().expect("a directory"),
            server: None,
            address: Address::new(([127, 0, 0, 1], 1).into()),
            bootstrap: Value::Null,
            greeting: Value::Null,
        }
    }

    /// A command of the program, with only the settings of this installation.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.setup.program);
        command.args(arguments).current_dir(self.directory.path()).stdin(Stdio::null()).env_clear();
        command.env("PX_DATA_DIR", self.data());
        if let Some(postgres) = &self.setup.postgres {
            command.env("PX_DATABASE_URL", postgres.address());
        }
        command.envs(self.setup.env.iter().cloned());
        command
    }

    /// Runs a command to completion.
    pub(crate) async fn cli(&self, arguments: &[&str]) -> Ran {
        run(self.command(arguments)).await
    }

    /// Runs a command to completion, which must come within `limit`.
    pub(crate) async fn cli_within(&self, limit: Duration, arguments: &[&str]) -> Ran {
        tokio::time::timeout(limit, self.cli(arguments)).await.expect("an end in time")
    }

    /// Runs a command with `--json` that must succeed, and returns what it printed.
    pub(crate) async fn cli_json(&self, arguments: &[&str]) -> Value {
        self.cli(&[arguments, &["--json"]].concat()).await.expect(0).json()
    }

    /// Starts the server, on a new port.
    pub(crate) fn serve(&mut self) {
        self.serve_with(&[]);
    }

    /// Starts the server with more arguments.
    pub(crate) fn serve_with(&mut self, arguments: &[&str]) {
        let (child, greeting) = self.spawn(arguments);
        self.server = Some(child);
        self.address.set(bound(&greeting));
        self.greeting = greeting;
    }

    /// Starts a server and reads its first line.
    fn spawn(&self, arguments: &[&str]) -> (Child, Value) {
        let base = ["serve", "--json", "--listen", "127.0.0.1:0"];
        let log = File::options().create(true).append(true).open(self.log()).expect("a log file");
        let mut command = self.command(&[base.as_slice(), arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a first line");
        let greeting = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("first line {line:?}; log: {}", self.logs()));
        // Further output must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        (child, greeting)
    }

    /// One more server on the same database and data directory.
    pub(crate) fn another_node(&self) -> Node {
        let (server, greeting) = self.spawn(&[]);
        Node { server, address: Address::new(bound(&greeting)) }
    }

    /// Replaces one more server, as a rolling upgrade does: stops it in good order, and starts the present program.
    pub(crate) fn replace(&self, node: &mut Node) {
        let ended = self.end_and_start(node, "TERM");
        assert!(ended.success(), "{ended}; log: {}", self.logs());
    }

    /// Kills one more server (`kill -9`), and starts it again.
    pub(crate) fn crash(&self, node: &mut Node) {
        self.end_and_start(node, "KILL");
    }

    fn end_and_start(&self, node: &mut Node, signal: &str) -> ExitStatus {
        pyxis_testkit::signal::send(signal, &node.server);
        let (ended, (server, greeting)) = tokio::task::block_in_place(|| {
            let ended = node.server.wait().expect("an exit status");
            (ended, self.spawn(&[]))
        });
        node.server = server;
        node.address.set(bound(&greeting));
        ended
    }

    /// The owner's session token.
    pub(crate) fn owner_token(&self) -> &str {
        self.bootstrap["owner_session_token"].as_str().expect("a token")
    }

    /// Asks the server to stop (SIGTERM).
    pub(crate) fn terminate(&mut self) {
        self.signal("TERM");
    }

    /// Waits until the server has ended.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let mut child = self.server.take().expect("a running server");
        let waiting = tokio::task::spawn_blocking(move || child.wait());
        waiting.await.expect("no panic").expect("an exit status")
    }

    /// Sends SIGTERM and waits.
    pub(crate) async fn stop(&mut self) -> ExitStatus {
        self.terminate();
        self.ended().await
    }

    /// `kill -9`.
    pub(crate) async fn kill(&mut self) {
        self.signal("KILL");
        self.ended().await;
    }

    /// Stops in good order and serves again.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.serve();
    }

    fn signal(&self, signal: &str) {
        pyxis_testkit::signal::send(signal, self.server.as_ref().expect("a running server"));
    }

    /// Serves again with another environment.
    pub(crate) async fn restart_with(&mut self, change: impl FnOnce(Setup) -> Setup) {
        self.stop().await;
        self.change(change);
        self.serve();
    }

    /// Changes the environment of later commands.
    pub(crate) fn change(&mut self, change: impl FnOnce(Setup) -> Setup) {
        let setup = std::mem::replace(&mut self.setup, Setup::new());
        self.setup = change(setup);
    }

    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.address.get()
    }

    pub(crate) fn anonymous(&self) -> Client {
        Client::new(self.address.clone())
    }

    /// The workspace's first agent.
    pub(crate) fn default_agent(&self) -> Agent {
        self.agent(self.bootstrap["agent_key"].as_str().expect("a key"))
    }

    pub(crate) fn agent(&self, key: &str) -> Agent {
        Agent::new(self.anonymous(), key)
    }

    /// The owner of the first workspace.
    pub(crate) fn owner(&self) -> Person {
        self.person(self.owner_token())
    }

    pub(crate) fn person(&self, token: &str) -> Person {
        Person::new(self.anonymous(), token)
    }

    /// A person who was added before, signed in with a password chosen by the test.
    pub(crate) async fn sign_in(&self, email: &str) -> Person {
        let hash = super::parties::password_hash();
        self.sql(&format!("UPDATE users SET password_hash = '{hash}' WHERE email = '{email}'"));
        let body = serde_json::json!({"email": email, "password": super::parties::PASSWORD});
        let session = self.anonymous().post("/session", &body).send().await.expect(200).json();
        self.person(session["token"].as_str().expect("a token"))
    }

    /// Adds an admin and signs in.
    pub(crate) async fn admin(&self, email: &str) -> Person {
        self.cli_json(&["user", "add", "--email", email]).await;
        self.sign_in(email).await
    }

    /// Runs statements behind the program's back; returns the first column of a SELECT.
    pub(crate) fn sql(&self, statements: &str) -> Vec<String> {
        match &self.setup.postgres {
            Some(postgres) => postgres.run_blocking(statements),
            None => pyxis_testkit::sqlite::run(&self.data().join("pyxis.db"), statements),
        }
    }

    /// True if the data are on PostgreSQL.
    pub(crate) fn is_postgres(&self) -> bool {
        self.setup.postgres.is_some()
    }

    /// The database of an installation that is on PostgreSQL.
    pub(crate) fn postgres(&self) -> &pyxis_testkit::postgres::Database {
        self.setup.postgres.as_ref().expect("an installation on PostgreSQL")
    }

    /// The directory that the commands run in.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("stderr.log")
    }

    /// Everything that this installation's servers have logged so far.
    pub(crate) fn logs(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// Resident memory of the server in KiB.
    pub(crate) fn resident_kib(&self) -> usize {
        let pid = self.server.as_ref().expect("a running server").id();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Every record of the audit trail, oldest first.
    pub(crate) async fn audit(&self) -> Vec<Value> {
        let exported = self.cli(&["audit", "export", "--format", "jsonl"]).await.expect(0);
        exported.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// One more server of an [`App`]; ends with this value.
pub(crate) struct Node {
    server: Child,
    address: Address,
}

impl Node {
    pub(crate) fn anonymous(&self) -> Client {
        Client::new(self.address.clone())
    }

    pub(crate) fn agent(&self, key: &str) -> Agent {
        Agent::new(self.anonymous(), key)
    }

    pub(crate) fn person(&self, token: &str) -> Person {
        Person::new(self.anonymous(), token)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        end(&mut self.server);
    }
}

impl Drop for App {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            end(&mut server);
        }
    }
}

/// A program that serves in its own way. It ends with this value.
pub(crate) struct Process(Child);

impl Process {
    /// Starts the program; returns the lines that it prints.
    pub(crate) fn start(mut command: Command) -> (Self, Lines<BufReader<ChildStdout>>) {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        (Self(child), lines)
    }

    /// Sends SIGTERM and waits.
    pub(crate) async fn stop(mut self) -> ExitStatus {
        pyxis_testkit::signal::send("TERM", &self.0);
        let waiting = tokio::task::spawn_blocking(move || self.0.wait());
        waiting.await.expect("no panic").expect("an exit status")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

/// The address in the first line of a server.
fn bound(greeting: &Value) -> std::net::SocketAddr {
    greeting["address"].as_str().expect("an address").parse().expect("an address and port")
}

fn end(server: &mut Child) {
    // It may have already ended.
    let _ = server.kill();
    let _ = server.wait();
}

/// Runs a prepared command to completion without blocking the test's runtime.
pub(crate) async fn run(mut command: Command) -> Ran {
    let running = tokio::task::spawn_blocking(move || command.output());
    let output = running.await.expect("no panic").expect("the program starts");
    Ran {
        code: output.status.code(),
        // A command that shows the files of its run prints those of Java, too.
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
