//! PostgreSQL servers of a test's own, which it can freeze, end and replace.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::netns::Machine;

/// A server in a directory of its own. It ends with this value.
pub struct PostgresServer {
    directory: TempDir,
    address: String,
    port: u16,
    process: Child,
}

impl PostgresServer {
    /// Starts an empty server on loopback.
    pub async fn start() -> Self {
        Self::serve(new_cluster(), "127.0.0.1", server_program("postgres")).await
    }

    /// The same on another machine.
    pub async fn start_on(machine: &Machine) -> Self {
        let local = server_program("postgres");
        let mut there = machine.command(local.get_program().to_str().expect("a path that is text"));
        there.args(local.get_args()).current_dir("/").stdin(Stdio::null());
        Self::serve(new_cluster(), Machine::ADDRESS, there).await
    }

    /// Copies the server to a standby that follows it.
    pub async fn standby(&self) -> Self {
        let directory = private_directory();
        let mut copy = server_program("pg_basebackup");
        copy.arg("-D").arg(directory.path().join("data")).args([
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "--no-sync",
        ]);
        copy.args(["-h", &self.address, "-U", "px", "-p"]).arg(self.port.to_string());
        finish(copy);
        Self::serve(directory, "127.0.0.1", server_program("postgres")).await
    }

    async fn serve(directory: TempDir, address: &str, mut command: Command) -> Self {
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let port = free.expect("a free port").port();
        command.arg("-D").arg(directory.path().join("data")).arg("-p").arg(port.to_string());
        for setting in ["unix_socket_directories=", "fsync=off", "shared_buffers=16MB"] {
            command.args(["-c", setting]);
        }
        command.arg("-c").arg(format!("listen_addresses={address}"));
        let log = fs::File::create(directory.path().join("log")).expect("a log file");
        let process = command.stdout(Stdio::null()).stderr(log).spawn().expect("PostgreSQL");
        let server = Self { directory, address: address.to_owned(), port, process };
        server.until_ready().await;
        server
    }

    async fn until_ready(&self) {
        let ready = async {
            while tokio_postgres::connect(&self.url(), tokio_postgres::NoTls).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        let limit = Duration::from_secs(30);
        tokio::time::timeout(limit, ready)
            .await
            .unwrap_or_else(|_| panic!("PostgreSQL does not start: {}", self.log()));
    }

    /// Address and port, as in a URL.
    pub fn host(&self) -> String {
        format!("{}:{}", self.address, self.port)
    }

    /// Port on the server's address.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Connection URL.
    pub fn url(&self) -> String {
        format!("postgres://px@{}/postgres?sslmode=disable", self.host())
    }

    /// Runs statements and returns the first column of every row, as text.
    pub async fn run(&self, statements: &str) -> Vec<String> {
        crate::postgres::run(&self.url(), statements).await
    }

    /// Stops every process of the server without ending any (SIGSTOP). Connections stay open and say nothing.
    pub fn freeze(&self) {
        assert!(self.signal_all("STOP"), "the server is there");
    }

    /// Stops the process of one connection (SIGSTOP). [`PostgresServer::thaw`] lets it go on.
    pub fn freeze_backend(&self, pid: &str) {
        let sent = Command::new("/bin/sh").args(["-c", r#"kill -s STOP "$0""#, pid]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the process {pid} is there");
    }

    /// Lets the server go on.
    pub fn thaw(&self) {
        assert!(self.signal_all("CONT"), "the server is there");
    }

    /// Makes a standby the primary, and waits until it accepts writes.
    pub fn promote(&self) {
        let mut promote = server_program("pg_ctl");
        promote.arg("-D").arg(self.directory.path().join("data")).args(["promote", "-w", "-t", "30"]);
        finish(promote);
    }

    /// Each connection has a process with a group of its own, so each gets the signal.
    fn signal_all(&self, signal: &str) -> bool {
        let parent = self.process.id();
        // A connection may have ended meanwhile; the server itself must be there.
        let script = r#"children=$(cat /proc/"$1"/task/"$1"/children); kill -s "$0" "$1" || exit
            for child in $children; do kill -s "$0" "$child" 2>/dev/null; done; true"#;
        let sent = Command::new("/bin/sh").args(["-c", script, signal, &parent.to_string()]).status();
        sent.is_ok_and(|status| status.success())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

impl Drop for PostgresServer {
    #[expect(clippy::print_stderr, reason = "a test that failed shows what its server says")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("PostgreSQL on port {}: {}", self.port, self.log());
        }
        // SIGQUIT ends it at once, with the processes of its connections. It may have already ended.
        if self.signal_all("CONT") && self.signal_all("QUIT") {
            drop(self.process.wait());
        }
    }
}

/// The directory of a fresh database cluster.
fn new_cluster() -> TempDir {
    let directory = private_directory();
    let data = directory.path().join("data");
    let mut initdb = server_program("initdb");
    initdb.arg("-D").arg(&data).args(["-U", "px", "-A", "trust", "-E", "UTF8"]);
    initdb.args(["--locale=C.UTF-8", "--no-sync"]);
    finish(initdb);
    append(&data.join("pg_hba.conf"), "host all all 10.77.0.0/24 trust\n");
    directory
}

/// A directory that the server's user may enter and write.
fn private_directory() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    if is_root() {
        let mut chown = Command::new("chown");
        chown.arg("postgres:").arg(directory.path());
        finish(chown);
    }
    directory
}

/// A program of the newest installed PostgreSQL, as a user that it runs as: it refuses to run as root.
fn server_program(name: &str) -> Command {
    let program = programs().join(name);
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/").stdin(Stdio::null());
    command
}

#[expect(clippy::disallowed_methods, reason = "a test finds its server this way")]
fn programs() -> PathBuf {
    if let Some(named) = std::env::var_os("PX_POSTGRES_BIN") {
        return named.into();
    }
    let installed =
        fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is installed (apt-get install postgresql)");
    let versions = installed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let newest = versions.max().expect("a version of PostgreSQL");
    PathBuf::from(format!("/usr/lib/postgresql/{newest}/bin"))
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .any(|line| line.strip_prefix("Uid:").is_some_and(|ids| ids.split_whitespace().nth(1) == Some("0")))
}

fn append(path: &Path, text: &str) {
    let before = fs::read_to_string(path).expect("a file");
    fs::write(path, before + text).expect("a file that can be written");
}

/// Runs a command that must succeed.
fn finish(mut command: Command) {
    let output = command.output().expect("a program that starts");
    assert!(output.status.success(), "{command:?}: {output:?}");
}
