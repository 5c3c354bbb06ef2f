//! A real Matrix homeserver: Synapse, from the Python environment named by `PX_TEST_SYNAPSE`. Also a stand-in, for
//! behavior that a real homeserver does not show on command.

mod standin;

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use pyxis_core::entropy::{self, OsEntropy};

pub use standin::{RoomMessage, StandIn};

/// A homeserver for one test.
pub struct Homeserver {
    address: SocketAddr,
    directory: PathBuf,
    child: Child,
}

/// Server name: the part of user and room ids after the colon.
pub const NAME: &str = "px.test";

impl Homeserver {
    /// Starts a homeserver where anyone may register. Panics without `PX_TEST_SYNAPSE`, the directory of a Python
    /// environment with `matrix-synapse`. Tests that need one have `real_homeserver` in their names, so that
    /// `ci/test.sh` can leave them out.
    #[expect(clippy::disallowed_methods, reason = "a test finds its server this way")]
    pub fn start() -> Self {
        let environment = std::env::var("PX_TEST_SYNAPSE").expect(
            "PX_TEST_SYNAPSE names no environment: put ci/synapse.sh before the command that runs the tests",
        );
        let directory = std::env::temp_dir().join(entropy::token::<8>(&OsEntropy, "px-synapse-"));
        std::fs::create_dir(&directory).expect("a directory");
        std::fs::write(directory.join("log.yaml"), LOGGING).expect("a file");
        let configure = || {
            let free = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
            let address = free.local_addr().expect("an address");
            std::fs::write(directory.join("homeserver.yaml"), configuration(address.port())).expect("a file");
            address
        };
        let mut address = configure();
        let python = PathBuf::from(environment).join("bin/python");
        let command = || {
            let mut command = Command::new(&python);
            command.args(["-m", "synapse.app.homeserver", "-c", "homeserver.yaml"]).current_dir(&directory);
            command.stdin(Stdio::null()).stderr(Stdio::null());
            command
        };
        let made = command().arg("--generate-keys").stdout(Stdio::null()).status().expect("Synapse runs");
        assert!(made.success(), "Synapse makes its keys");
        // Startup takes a while, during which another process may take the port.
        for _ in 0..3 {
            if let Some(child) = listening(command()) {
                return Self { address, directory, child };
            }
            address = configure();
        }
        panic!("Synapse does not listen");
    }

    /// Listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Value for `PX_MATRIX_HOMESERVER`.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Starts the process. `None` if it exits before listening.
fn listening(mut command: Command) -> Option<Child> {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("Synapse starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let ready = lines.by_ref().map_while(Result::ok).any(|line| line.contains("now listening on TCP port"));
    if !ready {
        // The process may already have exited.
        let _ = child.kill();
        child.wait().expect("its end");
        return None;
    }
    // Drain the rest of the output, so that the pipe does not fill up.
    std::thread::spawn(move || lines.for_each(drop));
    Some(child)
}

impl Drop for Homeserver {
    fn drop(&mut self) {
        // The process may already have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

const LOGGING: &str = "version: 1
formatters: {plain: {format: '%(message)s'}}
handlers: {console: {class: logging.StreamHandler, formatter: plain, stream: ext://sys.stdout}}
loggers: {synapse.storage.SQL: {level: WARNING}}
root: {level: INFO, handlers: [console]}
disable_existing_loggers: false
";

fn configuration(port: u16) -> String {
    // Limits would only slow the tests down. Tests of limits use a stand-in.
    let free = "{per_second: 10000, burst_count: 10000}";
    format!(
        "server_name: {NAME}
report_stats: false
database: {{name: sqlite3, args: {{database: ':memory:'}}}}
media_store_path: media
signing_key_path: signing.key
log_config: log.yaml
trusted_key_servers: []
enable_registration: true
enable_registration_without_verification: true
suppress_key_server_warning: true
bcrypt_rounds: 4
listeners:
  - {{port: {port}, bind_addresses: ['127.0.0.1'], type: http, tls: false, resources: [{{names: [client]}}]}}
rc_message: {free}
rc_registration: {free}
rc_login: {{address: {free}, account: {free}, failed_attempts: {free}}}
rc_joins: {{local: {free}, remote: {free}}}
rc_invites: {{per_room: {free}, per_user: {free}, per_issuer: {free}}}
rc_room_creation: {free}
"
    )
}
