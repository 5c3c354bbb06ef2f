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
/// Panics without the privilege or the tools, and if the inner run fails. Tests that need a namespace have `netns`
/// in their names, so that `ci/test.sh` can leave them out.
pub fn inside(name: &str) -> bool {
    run_in(name, Namespace::of_every_address)
}

/// Like [`inside`], with a cable to another machine instead of all the addresses. Returns that machine, or `None` in
/// the outer process.
pub fn attached_machine(name: &str) -> Option<Machine> {
    run_in(name, Namespace::new).then(Machine::new)
}

#[expect(clippy::disallowed_methods, reason = "a test finds in this way where it runs")]
fn run_in(name: &str, make: impl FnOnce() -> Namespace) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if let Err(missing) = tools() {
        panic!("{name} cannot run: {missing}");
    }
    let namespace = make();
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
        this
    }

    fn of_every_address() -> Self {
        let this = Self::new();
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

/// Another machine, at the end of a cable.
pub struct Machine(Namespace);

impl Machine {
    pub const ADDRESS: &str = "10.77.0.2";

    /// Connects it to the namespace of this process.
    fn new() -> Self {
        let there = Namespace::new();
        ip(&["link", "add", "px-here", "type", "veth", "peer", "name", "px-there", "netns", &there.0]);
        ip(&["address", "add", "10.77.0.1/24", "dev", "px-here"]);
        ip(&["link", "set", "px-here", "up"]);
        ip(&["-n", &there.0, "address", "add", "10.77.0.2/24", "dev", "px-there"]);
        ip(&["-n", &there.0, "link", "set", "px-there", "up"]);
        Self(there)
    }

    /// A command that runs there.
    pub fn command(&self, program: &str) -> Command {
        self.0.command(program)
    }

    /// Cuts the cable: nothing arrives any more, and nobody is told.
    pub fn cut(&self) {
        ip(&["-n", &self.0.0, "link", "set", "px-there", "down"]);
    }

    /// Connects it again.
    pub fn reconnect(&self) {
        ip(&["-n", &self.0.0, "link", "set", "px-there", "up"]);
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
