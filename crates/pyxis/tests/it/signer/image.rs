//! The output of packaging/ (`docs/reference/signer.md#small-image`). A root with the program and its libraries, and
//! an image of that.
//!
//! Needs umoci and user namespaces; `ci/test.sh` leaves these tests out where they are missing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::process::{Signer, my_app};
use crate::support::app::run;

/// Runs a script of packaging/ on the program, with a strict umask.
async fn package(script: &str, into: &Path) {
    let script = format!("{}/../../packaging/{script}", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "umask 077; exec \"$@\"", "sh", &script, env!("CARGO_BIN_EXE_pyxis")]).arg(into);
    run(command).await.expect(0);
}

/// A command that runs with this root as this user of a namespace, if that needs no privilege.
fn rooted(root: &Path, user: &Value) -> Command {
    let mut command = Command::new("/usr/bin/unshare");
    let map = |whose: &str, id: &str| format!("--map-{whose}={}", user[id]);
    command.args(["--user", &map("user", "uid"), &map("group", "gid"), "--root"]).arg(root).env_clear();
    command
}

/// Starts a signer there. Its token keeps others out while it listens.
fn start(mut command: Command, arguments: &[&str], directory: TempDir) -> Signer {
    command.args(arguments).arg("--json").env("OAUTH_SIGNER_PORT", "0").env("OAUTH_SIGNER_TOKEN", "t0ken");
    Signer::run(command.envs(my_app()), directory)
}

async fn assert_signs(signer: &Signer) {
    let health = signer.client().get("/health").header("authorization", "Bearer t0ken").send().await;
    assert_eq!(health.expect(200).json()["credentials"], json!(["my-app"]));
}

#[tokio::test]
async fn a_signer_starts_where_there_is_nothing_but_the_program_and_its_libraries() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    package("rootfs.sh", &root).await;
    let command = rooted(&root, &json!({"uid": 0, "gid": 0}));
    let signer = start(command, &["/usr/bin/pyxis", "signer"], directory);
    assert_signs(&signer).await;
}

#[tokio::test]
async fn the_image_runs_the_signer_as_nobody_by_its_own_command() {
    let directory = tempfile::tempdir().unwrap();
    let (image, bundle) = (directory.path().join("image"), directory.path().join("bundle"));
    package("image.sh", &image).await;
    let mut unpack = Command::new("umoci");
    unpack.args(["unpack", "--rootless", "--image"]).arg(&image).arg(&bundle);
    run(unpack).await.expect(0);

    let config: Value = serde_json::from_slice(&std::fs::read(bundle.join("config.json")).unwrap()).unwrap();
    let process = &config["process"];
    assert_eq!(process["user"], json!({"uid": 65532, "gid": 65532}));
    assert_eq!(config["annotations"]["org.opencontainers.image.exposedPorts"], "8080");
    let root = bundle.join("rootfs");
    for path in ["", "usr", "usr/bin", "usr/bin/pyxis"] {
        let mode = std::fs::metadata(root.join(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755, "nobody may read and run {path:?}");
    }

    let arguments: Vec<&str> =
        process["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect();
    let signer = start(rooted(&root, &process["user"]), &arguments, directory);
    assert_eq!(signer.greeting["host"], "0.0.0.0", "reachable from outside the container");
    assert_signs(&signer).await;
}
