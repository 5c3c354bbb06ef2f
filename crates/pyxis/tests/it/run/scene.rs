//! A TLS upstream that only the server trusts, and commands that reach it through `pyxis run`.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use pyxis_testkit::tls::{Authority, HTTP_1_1, HTTP_2};
use pyxis_testkit::upstream::{Received, Upstream};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::{Ran, run};
use crate::support::{App, Setup, Site, leaks};

/// A secret that may stand in a header and in nothing that a command sees.
pub(super) const SECRET: &str = "sk-canary-of-the-run-7Qx";

/// An address of loopback that is in no `NO_PROXY`.
pub(super) const ADDRESS: [u8; 4] = [127, 0, 0, 2];

/// A name of the upstream that only the server resolves. Some tools never send a request for an address of loopback
/// through a proxy, and a command that went around the proxy would not find this name.
pub(super) const NAME: &str = "ghe.example.test";

pub(super) struct Scene {
    pub(super) site: Site,
    /// Home of the commands, and the place of the upstream's root certificate.
    home: TempDir,
    authority: Authority,
}

impl Scene {
    /// A site whose upstream speaks TLS, with the bearer credential `api` for it.
    pub(super) async fn new() -> Self {
        Self::with(Setup::new()).await
    }

    pub(super) async fn with(setup: Setup) -> Self {
        Self::at_home(tempfile::tempdir().unwrap(), setup).await
    }

    /// A site whose upstream has the name [`NAME`], with the credential `named` for it.
    pub(super) async fn with_name(setup: Setup) -> Self {
        let home = tempfile::tempdir().unwrap();
        let hosts = home.path().join("hosts");
        std::fs::write(&hosts, format!("{} {NAME}\n", Ipv4Addr::from(ADDRESS))).unwrap();
        let setup = setup.env("LD_PRELOAD", name_library()).env("NSS_WRAPPER_HOSTS", hosts.to_str().unwrap());
        let scene = Self::at_home(home, setup).await;
        scene.credential("named", &json!({"allowed_hosts": [scene.named_host()]})).await;
        scene
    }

    async fn at_home(home: TempDir, setup: Setup) -> Self {
        let authority = Authority::new();
        std::fs::create_dir(home.path().join("tmp")).unwrap();
        let roots = home.path().join("upstream-ca.pem");
        std::fs::write(&roots, authority.pem()).unwrap();
        let tls = authority.server(&["127.0.0.2", NAME], &[HTTP_2, HTTP_1_1]);
        let upstream = Upstream::listen(SocketAddr::from((ADDRESS, 0)), Some(tls)).await;
        let app = App::start(setup.env("PX_EGRESS_CA_FILE", roots.to_str().unwrap())).await;
        let (agent, owner) = (app.default_agent(), app.owner());
        let site = Site { app, upstream, agent, owner };
        let scene = Self { site, home, authority };
        scene.credential("api", &json!({})).await;
        scene
    }

    /// Stores a bearer credential for the upstream.
    pub(super) async fn credential(&self, name: &str, fields: &Value) {
        let mut all = json!({"auth": {"kind": "bearer"}, "secret": SECRET, "allow_http": false});
        for (field, value) in fields.as_object().unwrap() {
            all[field] = value.clone();
        }
        self.site.credential(name, &all).await;
    }

    /// The upstream by its name, with its port.
    pub(super) fn named_host(&self) -> String {
        format!("{NAME}:{}", self.site.upstream.port())
    }

    /// `pyxis run OPTIONS -- COMMAND`, with the agent key in its usual variable.
    pub(super) fn command(&self, options: &[&str], command: &[&str]) -> Command {
        let url = format!("http://{}", self.site.app.address());
        let all = [&["run", "--url", &url], options, &["--"], command].concat();
        let mut command = self.site.app.command(&all);
        command.env("PATH", search_path()).env("HOME", self.home.path()).env("PX_AGENT_KEY", self.key());
        command.env("TMPDIR", self.home.path().join("tmp"));
        // The names are for the server alone.
        command.env_remove("LD_PRELOAD").env_remove("NSS_WRAPPER_HOSTS").current_dir(self.home.path());
        command
    }

    /// Runs it to its end. Neither what the tool could see when it began nor any file that it left holds the secret or
    /// the agent key.
    pub(super) async fn run(&self, options: &[&str], tool: &[&str]) -> Ran {
        self.run_with(options, tool, |_| {}).await
    }

    /// The same after a change of its environment or its directory.
    pub(super) async fn run_with(
        &self,
        options: &[&str],
        tool: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Ran {
        let script = format!("{{ {LOOK} }} >'{}' 2>&1; exec \"$@\"", self.visible_file().display());
        let looking = [&["sh", "-c", &script, "sh"], tool].concat();
        // A run that was refused had no tool.
        std::fs::write(self.visible_file(), "").unwrap();
        let mut command = self.command(options, &looking);
        change(&mut command);
        let ran = run(command).await;
        self.assert_clean(&ran);
        ran
    }

    /// The file with what the latest tool could see.
    fn visible_file(&self) -> PathBuf {
        self.home.path().join("seen")
    }

    #[track_caller]
    fn assert_clean(&self, ran: &Ran) {
        let seen = String::from_utf8_lossy(&std::fs::read(self.visible_file()).unwrap()).into_owned();
        assert!(
            seen.is_empty() || seen.contains("HTTPS_PROXY=") && seen.contains("BEGIN CERTIFICATE"),
            "{seen}"
        );
        assert!(!seen.contains("PRIVATE KEY"), "the key of the run's authority");
        assert!(!seen.lines().any(|line| line.starts_with("PX_")), "a setting of Pyxis: {seen}");
        for hidden in [SECRET, self.key()] {
            assert!(!format!("{ran:?}").contains(hidden), "{ran:?}");
            leaks::search_text_files(self.home.path(), hidden);
        }
    }

    pub(super) fn key(&self) -> &str {
        self.site.app.bootstrap["agent_key"].as_str().unwrap()
    }

    pub(super) fn url(&self, path: &str) -> String {
        self.site.upstream.url(path)
    }

    /// Asserts that the upstream received this many requests, all with the secret.
    #[track_caller]
    pub(super) fn all_requests_had_the_secret(&self, count: usize) {
        let requests = self.site.upstream.requests();
        let authorized = format!("Bearer {SECRET}");
        assert!(requests.iter().all(|request| request.header("authorization") == Some(&authorized)));
        assert_eq!(requests.len(), count, "{requests:?}");
    }

    /// The authority that the server trusts.
    pub(super) const fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(super) fn home(&self) -> &std::path::Path {
        self.home.path()
    }

    /// The only request that the upstream received; it had the secret.
    #[track_caller]
    pub(super) fn only_request(&self) -> Received {
        let [request]: [Received; 1] = self.site.upstream.requests().try_into().unwrap();
        assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
        request
    }
}

/// Lists what a command can see: its environment and that of its parent, what it inherited in memory, and every file of
/// the run.
pub(super) const LOOK: &str = r#"
    env
    tr '\0' '\n' < /proc/$$/environ
    tr '\0' '\n' < /proc/$PPID/environ
    tr '\0' ' ' < /proc/$$/cmdline
    tr '\0' ' ' < /proc/$PPID/cmdline
    for file in /proc/$$/fd/*; do
        case $(readlink "$file") in /memfd:*) cat "$file" ;; esac
    done
    directory=$(dirname "$SSL_CERT_FILE")
    stat -c '%a %n' "$directory" "$directory"/*
    cat "$directory"/*
    echo "directory=$directory"
"#;

/// A run whose command waits until this value is dropped, and the URL of its proxy.
pub(super) struct Running {
    child: Child,
    /// User and password of the proxy.
    pub(super) token: String,
    /// Its address.
    pub(super) address: String,
}

impl Running {
    /// A command that waits.
    pub(super) const SCRIPT: &[&str] = &["sh", "-c", "echo \"$HTTP_PROXY\"; read line"];

    /// Starts a run of that command.
    pub(super) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut text).unwrap();
        let (user, address) = text.trim().strip_prefix("http://").unwrap().split_once('@').unwrap();
        Self { token: user.to_owned(), address: address.to_owned(), child }
    }

    /// Sends a signal to `pyxis run` and waits until it has ended.
    pub(super) fn signal(&mut self, signal: &str) {
        pyxis_testkit::signal::send(signal, &self.child);
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its command ends with its input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The library by which one process has host names of its own (`cwrap.org/nss_wrapper.html`).
fn name_library() -> &'static str {
    let places = [
        "/usr/lib/x86_64-linux-gnu/libnss_wrapper.so",
        "/usr/lib/aarch64-linux-gnu/libnss_wrapper.so",
        "/usr/lib64/libnss_wrapper.so",
        "/usr/lib/libnss_wrapper.so",
    ];
    let found = places.into_iter().find(|place| std::path::Path::new(place).exists());
    found.expect("libnss_wrapper.so is missing: run ci/setup.sh")
}

/// Folders in which tools are found.
#[expect(
    clippy::disallowed_methods,
    reason = "tools are found where the person who runs the tests finds them"
)]
pub(super) fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap()
}
