//! PgBouncer in front of a PostgreSQL server.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// A pooler with the settings of its package, except for addresses and sizes. It ends with this value.
pub struct PgBouncer {
    _directory: TempDir,
    port: u16,
    process: Child,
}

impl PgBouncer {
    /// Starts a pooler in `mode`: `session`, `transaction` or `statement`. `server` is a URL on the server behind it.
    pub async fn start(server: &str, mode: &str) -> Self {
        let server = url::Url::parse(server).expect("a URL");
        let (host, to) = (server.host_str().expect("a host"), server.port().unwrap_or(5432));
        let directory = tempfile::tempdir().expect("a directory");
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let port = free.expect("a free port").port();
        let settings = format!(
            "[databases]\n* = host={host} port={to} user=px\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\n\
             default_pool_size = 80\nmax_client_conn = 1000\n"
        );
        let file = directory.path().join("pgbouncer.ini");
        fs::write(&file, settings).expect("a file that can be written");
        let process = spawn(&file);
        let pooler = Self { _directory: directory, port, process };
        let url = pooler.url("postgres");
        let ready = async {
            while tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), ready).await.expect("PgBouncer does not start");
        pooler
    }

    /// URL of a database behind it.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://px@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }
}

/// It refuses to run as root, and becomes the user it is told.
fn spawn(file: &Path) -> Child {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--", "pgbouncer", "-q"])
        .arg(file);
    let directory = file.parent().expect("a directory");
    let owned = Command::new("chown").args(["-R", "postgres:"]).arg(directory).status();
    if !owned.is_ok_and(|status| status.success()) {
        command = Command::new("pgbouncer");
        command.arg("-q").arg(file);
    }
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("PgBouncer is installed (apt-get install pgbouncer)")
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // It may have already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
