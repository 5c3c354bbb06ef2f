//! The image that packaging/ makes (`docs/guides/run-in-containers.md`): unpacked, and started as container engines do.
//!
//! Needs umoci and user namespaces; `ci/test.sh` leaves these tests out where they are missing.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pyxis_core::clock::UnixMillis;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::documents::read;
use crate::signer::process::{Signer, my_app};
use crate::support::Client;
use crate::support::app::{Process, run};
use crate::support::client::Address;

/// An unpacked image.
struct Image {
    directory: TempDir,
    /// Runtime configuration, as `config.json` of an OCI bundle.
    config: Value,
}

/// Runs a script of packaging/ on the program, with a strict umask.
async fn package(script: &str, into: &Path) {
    let script = format!("{}/../../packaging/{script}", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "umask 077; exec \"$@\"", "sh", &script, env!("CARGO_BIN_EXE_pyxis")]).arg(into);
    run(command).await.expect(0);
}

impl Image {
    async fn unpacked() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (image, bundle) = (directory.path().join("image"), directory.path().join("bundle"));
        package("image.sh", &image).await;
        let mut unpack = Command::new("umoci");
        unpack.args(["unpack", "--rootless", "--image"]).arg(&image).arg(&bundle);
        run(unpack).await.expect(0);
        let config = serde_json::from_slice(&std::fs::read(bundle.join("config.json")).unwrap()).unwrap();
        // Container engines add these.
        std::fs::create_dir_all(bundle.join("rootfs/etc")).unwrap();
        std::fs::write(bundle.join("rootfs/etc/hosts"), "127.0.0.1 localhost\n").unwrap();
        std::fs::create_dir(directory.path().join("volume")).unwrap();
        Self { directory, config }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("bundle/rootfs")
    }

    /// The image's own command.
    fn command(&self) -> Vec<&str> {
        let arguments = self.config["process"]["args"].as_array().unwrap();
        arguments.iter().map(|argument| argument.as_str().unwrap()).collect()
    }

    /// A command in a container: the image's user, environment and directory, a root that cannot be written, and a
    /// volume for the data. It needs no privilege.
    fn container(&self, arguments: &[&str]) -> Command {
        const MOUNT: &str = "set -e; root=$1; volume=$2; user=$3; group=$4; shift 4
            mount --bind \"$root\" \"$root\"
            mount --bind \"$volume\" \"$root/var/lib/pyxis\"
            mount -o remount,bind,ro \"$root\"
            exec unshare --user --map-user=\"$user\" --map-group=\"$group\" --root \"$root\" --wd /var/lib/pyxis \"$@\"";
        let process = &self.config["process"];
        let mut command = Command::new("/usr/bin/unshare");
        command.args(["--user", "--map-root-user", "--mount", "/bin/sh", "-c", MOUNT, "sh"]);
        command.arg(self.root()).arg(self.directory.path().join("volume"));
        command.args(["uid", "gid"].map(|id| process["user"][id].to_string())).args(arguments);
        let variables = process["env"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
        command.env_clear().envs(variables.filter_map(|text| text.split_once('='))).stdin(Stdio::null());
        command.env("PX_METRICS_LISTEN", "off");
        command
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_image_says_what_it_is_and_serves_as_nobody_from_a_root_that_cannot_be_written() {
    let image = Image::unpacked().await;
    assert_description(&image);
    assert_content(&image.root());
    assert_serves(&image).await;
    assert_runs_the_signer(image).await;
}
async fn assert_serves(image: &Image) {
    assert_eq!(image.command(), ["/usr/bin/pyxis", "serve"]);
    let elsewhere = image.container(&["/usr/bin/pyxis", "bootstrap", "--data-dir", "/data"]);
    let refused = run(elsewhere).await.expect(1);
    assert!(refused.stderr.contains("Read-only file system"), "{refused:?}");
    let bootstrap = image.container(&["/usr/bin/pyxis", "bootstrap", "--json"]);
    let agent_key = run(bootstrap).await.expect(0).json()["agent_key"].clone();

    let mut serve = image.container(&[&image.command()[..], &["--json"]].concat());
    // Tests run in parallel.
    serve.env("PX_LISTEN", "127.0.0.1:0");
    let (server, mut lines) = Process::start(serve);
    let greeting: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let address = greeting["address"].as_str().unwrap();
    let url = format!("http://{address}");
    let check = || run(image.container(&["/usr/bin/pyxis", "healthcheck", "--url", &url]));
    assert_eq!(check().await.expect(0).stdout, "ready\n");
    let client = Client::new(Address::new(address.parse().unwrap()));
    let services = client.get("/agent/services").header("x-px-key", agent_key.as_str().unwrap());
    services.send().await.expect(200);
    assert!(server.stop().await.success());
    check().await.expect(1);
}

fn assert_description(image: &Image) {
    let process = &image.config["process"];
    assert_eq!(process["user"], json!({"uid": 65532, "gid": 65532}));
    assert_eq!(process["cwd"], "/var/lib/pyxis");
    for variable in ["PX_DATA_DIR=/var/lib/pyxis", "PX_LISTEN=0.0.0.0:8700"] {
        assert!(process["env"].as_array().unwrap().contains(&json!(variable)), "{process}");
    }
    let annotations = &image.config["annotations"];
    assert_eq!(annotations["org.opencontainers.image.exposedPorts"], "8700");
    assert_eq!(annotations["org.opencontainers.image.stopSignal"], "SIGTERM");
    let label =
        |name: &str| annotations[format!("org.opencontainers.image.{name}")].as_str().unwrap_or_default();
    assert_eq!(label("title"), "Pyxis");
    assert!(label("description").starts_with("Self-hosted credential proxy"), "{annotations}");
    assert_eq!(label("licenses"), "Apache-2.0");
    assert_eq!(label("version"), env!("CARGO_PKG_VERSION"));
    let revision = label("revision");
    assert!(revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit()), "{annotations}");
    assert!(UnixMillis::parse_rfc3339(label("created")).is_some(), "{annotations}");
    for (name, value) in annotations.as_object().unwrap() {
        assert!(!value.as_str().unwrap().contains('$'), "{name} was not filled in: {value}");
    }
    let mounts = image.config["mounts"].as_array().unwrap();
    assert!(mounts.iter().any(|mount| mount["destination"] == "/var/lib/pyxis"), "a volume for the data");
}

/// The program and its libraries, and no shell.
fn assert_content(root: &Path) {
    for path in ["", "usr", "usr/bin", "usr/bin/pyxis"] {
        let mode = std::fs::metadata(root.join(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755, "nobody may read and run {path:?}");
    }
    // Nothing else anywhere can be run: only the program, and libraries that it loads.
    let mut programs = Vec::new();
    executables(root, &mut programs);
    let is_library = |path: &PathBuf| path.to_str().unwrap().contains(".so");
    programs.retain(|path| !is_library(path));
    assert_eq!(programs, [root.join("usr/bin/pyxis")]);
    for shell in ["sh", "bash", "dash", "ash", "busybox"] {
        for folder in ["bin", "usr/bin", "sbin", "usr/sbin"] {
            let path = root.join(folder).join(shell);
            assert!(std::fs::symlink_metadata(&path).is_err(), "{}", path.display());
        }
    }
}

/// Files below a folder that someone may run.
fn executables(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            executables(&path, found);
        } else if meta.is_file() && meta.permissions().mode() & 0o111 != 0 {
            found.push(path);
        }
    }
}

#[test]
fn the_health_check_of_the_containerfile_needs_no_shell() {
    let text = read("packaging/Containerfile");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("HEALTHCHECK ")).collect();
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    let (options, command) = line.split_once(" CMD ").expect("a command");
    let command: Vec<String> = serde_json::from_str(command).expect("the exec form");
    assert_eq!(command, ["/usr/bin/pyxis", "healthcheck"]);
    assert!(options.contains("--timeout=5s"), "longer than the 3 seconds of a check: {options}");
    // The guide says which image has it.
    let guide = read("docs/guides/run-in-containers.md");
    assert!(guide.contains("Only this second image has a `HEALTHCHECK`"));
}

#[tokio::test]
async fn the_bill_of_materials_lists_every_crate_of_the_program_and_the_libraries_of_the_image() {
    let directory = tempfile::tempdir().unwrap();
    package("rootfs.sh", directory.path()).await;
    let path = directory.path().join("root/usr/share/doc/pyxis/sbom.cdx.json");
    let bill: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let components = bill["components"].as_array().unwrap();

    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    tree.args(["tree", "--package", "pyxis", "--edges", "normal", "--prefix", "none", "--locked"]);
    let tree = run(tree).await.expect(0).stdout;
    let mut crates: Vec<_> = tree.lines().filter_map(|line| line.split_once(" v")).collect();
    crates.sort_unstable();
    crates.dedup();
    assert!(crates.len() > 100, "{tree}");
    for (name, rest) in crates.into_iter().filter(|(name, _)| *name != "pyxis") {
        let version = rest.split(' ').next().unwrap();
        let is_it = |component: &&Value| component["name"] == name && component["version"] == version;
        let component =
            components.iter().find(is_it).unwrap_or_else(|| panic!("{name} {version} is missing"));
        let is_own = name.starts_with("pyxis-");
        assert_eq!(component["hashes"][0]["content"].is_string(), !is_own, "{component}");
        let depends_on_it = |entry: &Value| {
            entry["dependsOn"].as_array().is_some_and(|refs| refs.contains(&component["bom-ref"]))
        };
        assert!(
            bill["dependencies"].as_array().unwrap().iter().any(depends_on_it),
            "nothing depends on {name}"
        );
    }
    let libc = |component: &&Value| component["purl"].as_str().is_some_and(|purl| purl.contains("/libc6@"));
    assert!(components.iter().any(|component| libc(&component)), "the C library");
}

async fn assert_runs_the_signer(image: Image) {
    let mut command = image.container(&["/usr/bin/pyxis", "signer", "--listen", "0.0.0.0", "--json"]);
    // Its token keeps others out while it listens.
    command.envs(my_app()).env("OAUTH_SIGNER_PORT", "0").env("OAUTH_SIGNER_TOKEN", "t0ken");
    let signer = Signer::run(&mut command, image.directory);
    assert_eq!(signer.greeting["host"], "0.0.0.0", "reachable from outside the container");
    let health = signer.client().get("/health").header("authorization", "Bearer t0ken").send().await;
    assert_eq!(health.expect(200).json()["credentials"], json!(["my-app"]));
}
