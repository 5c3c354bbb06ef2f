//! A network namespace in which every address is local.
//!
//! Connections there reach a listener of the test instead of the internet. Tests can thus see which addresses a program
//! dials and which it never does.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const INSIDE: &str = "PX_TESTKIT_NETNS";

/// Runs the test `name` (its full path, such as `dial::only_public`) again inside a namespace. Returns `true` there,
/// and `false` in the outer process once the inner run has passed.
///
/// Panics without the privilege or the tools, and if the inner run fails: tests that need a namespace have `netns` in
/// their names, so that `ci/test.sh` can leave them out.
#[expect(clippy::disallowed_methods, reason = "a test finds in this way where it runs")]
pub fn inside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if let Err(missing) = tools() {
        panic!("{name} cannot run: {missing}");
    }
    let namespace = Namespace::new();
    let program = std::env::current_exe().expect("the path of the test binary");
    let status = namespace
        .command(program.to_str().expect("a path that is text"))
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .expect("the inner run starts");
    assert!(status.success(), "the inner run of {name} failed");
    false
}

fn tools() -> Result<(), &'static str> {
    if !may_make_namespaces() {
        return Err("making a network namespace needs CAP_SYS_ADMIN and CAP_NET_ADMIN");
    }
    let found = Command::new("ip").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) { Ok(()) } else { Err("iproute2 is missing") }
}

/// True if the effective capabilities contain `CAP_SYS_ADMIN` (21) and `CAP_NET_ADMIN` (12).
fn may_make_namespaces() -> bool {
    let needed = (1_u64 << 21) | (1 << 12);
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
            u64::from_str_radix(line.trim(), 16).ok()
        })
        .is_some_and(|held| held & needed == needed)
}

struct Namespace(String);

impl Namespace {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let this = Self(format!("px-test-{}-{number}", std::process::id()));
        ip(&["netns", "add", &this.0]);
        ip(&["-n", &this.0, "link", "set", "lo", "up"]);
        ip(&["-n", &this.0, "route", "add", "local", "0.0.0.0/0", "dev", "lo"]);
        ip(&["-n", &this.0, "-6", "route", "add", "local", "::/0", "dev", "lo"]);
        this
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0, program]);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.0]);
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().expect("ip runs");
    assert!(status.success() || std::thread::panicking(), "ip {} failed", arguments.join(" "));
}
