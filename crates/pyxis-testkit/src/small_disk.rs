//! A small disk that a test fills, in a mount namespace of its own.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

const INSIDE: &str = "PX_TESTKIT_MOUNTS";

/// Runs the test `name` (its full path) again in a mount namespace that ends with it. Returns `true` there, and `false` in
/// the outer process once the inner run has passed.
///
/// Panics without the privilege, and if the inner run fails. Tests that need it have `full_disk::` in their path, so that
/// `ci/test.sh` can leave them out.
#[expect(clippy::disallowed_methods, reason = "a test finds in this way where it runs")]
pub fn inside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("the path of the test binary");
    let status = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "--"])
        .arg(program)
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .expect("unshare, of util-linux, starts");
    assert!(status.success(), "the inner run of {name} failed; it needs CAP_SYS_ADMIN");
    false
}

/// A mounted disk. It disappears with the namespace.
pub struct SmallDisk {
    ballast: PathBuf,
}

impl SmallDisk {
    /// Mounts an empty disk of `mib` MiB at an existing directory, for its owner alone.
    pub fn mount(directory: &Path, mib: u32) -> Self {
        let options = format!("size={mib}m,mode=700");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(directory).status();
        assert!(mount.is_ok_and(|status| status.success()), "a disk at {}", directory.display());
        Self { ballast: directory.join("ballast") }
    }

    /// Writes until nothing fits anymore.
    pub fn fill(&self) {
        let mut file = File::create(&self.ballast).expect("a file");
        loop {
            match file.write_all(&[0; 4096]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return,
                Err(error) => panic!("{}: {error}", self.ballast.display()),
            }
        }
    }

    /// Frees what [`SmallDisk::fill`] wrote.
    pub fn free(&self) {
        std::fs::remove_file(&self.ballast).expect("what fills the disk");
    }
}
