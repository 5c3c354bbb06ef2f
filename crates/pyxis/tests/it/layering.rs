//! Enforcement of the layers between crates (ARCHITECTURE.md) and of the order of the modules within them.

mod modules;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use self::modules::ModuleSource;

/// Our crates that each crate may use, from the bottom up.
const MAY_USE: &[(&str, &[&str])] = &[
    ("pyxis-core", &[]),
    ("pyxis-scrub", &[]),
    ("pyxis-signing", &["pyxis-core"]),
    ("pyxis-sqlite", &[]),
    ("pyxis-store", &["pyxis-core", "pyxis-sqlite"]),
    ("pyxis-net", &["pyxis-core"]),
    ("pyxis-http", &["pyxis-core"]),
    ("pyxis-evm", &["pyxis-core", "pyxis-net", "pyxis-signing"]),
    ("pyxis-onnx", &[]),
    ("pyxis-models", &["pyxis-core", "pyxis-onnx"]),
    (
        "pyxis-scoring",
        &[
            "pyxis-core",
            "pyxis-evm",
            "pyxis-http",
            "pyxis-models",
            "pyxis-net",
            "pyxis-signing",
            "pyxis-store",
        ],
    ),
    ("pyxis-verify", &["pyxis-core", "pyxis-evm", "pyxis-http", "pyxis-net", "pyxis-signing", "pyxis-store"]),
    (
        "pyxis-gateway",
        &["pyxis-core", "pyxis-http", "pyxis-net", "pyxis-scrub", "pyxis-signing", "pyxis-store"],
    ),
    ("pyxis-mcp", &["pyxis-core", "pyxis-gateway"]),
    // The client side of a server that may be elsewhere: it knows nothing of the gateway but its HTTP interface.
    ("pyxis-run", &["pyxis-core", "pyxis-net"]),
    ("pyxis-signer", &["pyxis-core", "pyxis-http", "pyxis-net", "pyxis-signing"]),
    (
        "pyxis-dashboard",
        &["pyxis-core", "pyxis-gateway", "pyxis-http", "pyxis-scoring", "pyxis-store", "pyxis-verify"],
    ),
    (
        "pyxis",
        &[
            "pyxis-core",
            "pyxis-dashboard",
            "pyxis-evm",
            "pyxis-gateway",
            "pyxis-http",
            "pyxis-mcp",
            "pyxis-models",
            "pyxis-net",
            "pyxis-run",
            "pyxis-scoring",
            "pyxis-scrub",
            "pyxis-signer",
            "pyxis-signing",
            "pyxis-store",
            "pyxis-verify",
        ],
    ),
    // Installations of tests are databases that the store made, and nodes on them.
    ("pyxis-testkit", &["pyxis-core", "pyxis-net", "pyxis-store"]),
    (
        "pyxis-testbed",
        &[
            "pyxis-core",
            "pyxis-gateway",
            "pyxis-http",
            "pyxis-net",
            "pyxis-scoring",
            "pyxis-store",
            "pyxis-testkit",
            "pyxis-verify",
        ],
    ),
];

/// Libraries that only a few crates may use directly; all others must go through those.
const BELONGS_TO: &[(&str, &[&str])] = &[
    ("rusqlite", &["pyxis-sqlite", "pyxis-store", "pyxis-testkit"]),
    ("tokio-postgres", &["pyxis-store", "pyxis-testkit"]),
    ("deadpool-postgres", &["pyxis-store"]),
    ("tokio-postgres-rustls", &["pyxis-store"]),
    // pyxis-run only accepts connections.
    ("tokio-rustls", &["pyxis-net", "pyxis-run", "pyxis-testkit"]),
    ("rcgen", &["pyxis-run", "pyxis-testkit"]),
    ("oxjsonld", &["pyxis-scoring"]),
    ("oxrdf", &["pyxis-scoring"]),
    ("secp256k1", &["pyxis-signing"]),
    ("lz4_flex", &["pyxis-store"]),
    ("forust-ml", &["pyxis-models"]),
    ("parquet", &["pyxis-models", "pyxis-scoring"]),
    ("askama", &["pyxis-dashboard"]),
    ("webauthn-rs", &["pyxis-gateway"]),
    ("clap", &["pyxis"]),
    ("rmcp", &["pyxis-mcp"]),
    ("anyhow", &["pyxis"]),
    ("utoipa-axum", &["pyxis-http", "pyxis-scoring", "pyxis-verify", "pyxis-gateway", "pyxis"]),
    // Types that are read and written as JSON describe themselves, down to the core.
    (
        "utoipa",
        &[
            "pyxis-core",
            "pyxis-signing",
            "pyxis-http",
            "pyxis-scoring",
            "pyxis-verify",
            "pyxis-gateway",
            "pyxis",
        ],
    ),
];

/// Libraries that a crate must not use, so that it keeps its purpose.
const DOES_WITHOUT: &[(&str, &[&str])] = &[
    ("pyxis-core", &["tokio", "axum", "hyper", "http", "tracing"]),
    ("pyxis-scrub", &["tokio", "axum", "hyper", "http", "tracing"]),
    ("pyxis-onnx", &["tokio", "axum", "hyper", "http", "tracing"]),
    ("pyxis-models", &["tokio", "axum", "hyper", "http", "tracing"]),
    ("pyxis-signing", &["tokio", "axum", "hyper", "http", "tracing"]),
    ("pyxis-sqlite", &["axum", "hyper", "http"]),
    ("pyxis-store", &["axum", "hyper", "http"]),
    ("pyxis-net", &["axum"]),
];

/// Words that only some crates' sources may contain, and why.
const WORDS: &[(&[&str], &[&str], &str)] = &[
    // pyxis-sqlite has statements in its tests only, on tables of their own.
    (
        &["SELECT ", "INSERT INTO ", "DELETE FROM "],
        &["pyxis-store", "pyxis-sqlite"],
        "SQL lives in pyxis-store",
    ),
    (
        &["hyper::client", "hyper_util::client", "TlsConnector", "TcpStream::connect", "UdpSocket"],
        &["pyxis-net"],
        "only pyxis-net opens outbound sockets",
    ),
];

/// File names that say nothing about their content.
const EMPTY_NAMES: &[&str] =
    &["mod.rs", "common.rs", "helper.rs", "helpers.rs", "manager.rs", "types.rs", "util.rs", "utils.rs"];

/// Longest source file, in lines.
const MAX_LINES: usize = 600;

struct Package {
    name: String,
    directory: PathBuf,
    /// Normal and build dependencies; those of tests are not restricted.
    dependencies: BTreeSet<String>,
}

#[test]
fn a_crate_uses_only_the_crates_below_it() {
    let mut broken = Vec::new();
    for package in packages() {
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == package.name) else {
            broken.push(format!("{} is not in the table of layers", package.name));
            continue;
        };
        for used in package.dependencies.iter().filter(|name| is_ours(name)) {
            if !allowed.contains(&used.as_str()) {
                broken.push(format!("{} must not use {used}", package.name));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_table_of_layers_stands_bottom_up_so_it_has_no_circle() {
    for (position, (name, allowed)) in MAY_USE.iter().enumerate() {
        for used in *allowed {
            let below = MAY_USE[..position].iter().any(|(below, _)| below == used);
            assert!(below, "{name} may use {used}, which does not stand above it in the table");
        }
    }
}

#[test]
fn the_modules_of_a_crate_have_no_circle_at_any_level() {
    let mut broken = Vec::new();
    for package in packages() {
        for (parent, needs) in modules::needs(&sources(&package.directory.join("src"))) {
            if let Some(circle) = modules::circle(&needs) {
                let level = [&[package.name.clone()][..], &parent].concat().join("::");
                broken.push(format!("{level}: {}", circle.join(" needs ")));
            }
        }
    }
    assert!(broken.is_empty(), "move what they share below both\n{}", broken.join("\n"));
}

#[test]
fn a_library_is_used_only_where_it_belongs() {
    let mut broken = Vec::new();
    for package in packages() {
        for used in &package.dependencies {
            let owners = BELONGS_TO.iter().find(|(library, _)| library == used).map(|(_, owners)| owners);
            if owners.is_some_and(|owners| !owners.contains(&package.name.as_str())) {
                broken.push(format!("{} must not use {used}", package.name));
            }
            let shunned = DOES_WITHOUT.iter().find(|(name, _)| *name == package.name);
            if shunned.is_some_and(|(_, shunned)| shunned.contains(&used.as_str())) {
                broken.push(format!("{} must do without {used}", package.name));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn words_of_one_layer_do_not_appear_in_another() {
    let mut broken = Vec::new();
    for package in packages().iter().filter(|package| package.name != "pyxis-testkit") {
        for file in rust_files(&package.directory.join("src")) {
            for (number, line) in read(&file).lines().enumerate() {
                broken.extend(
                    misplaced(&package.name, line)
                        .map(|why| format!("{}:{}: {why}", file.display(), number + 1)),
                );
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_file_is_one_idea() {
    let mut broken = Vec::new();
    for package in packages() {
        for file in
            ["src", "tests", "benches"].iter().flat_map(|part| rust_files(&package.directory.join(part)))
        {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if EMPTY_NAMES.contains(&name) {
                broken.push(format!("{}: the name says nothing about what is inside", file.display()));
            }
            let lines = read(&file).lines().count();
            if lines > MAX_LINES {
                broken.push(format!("{}: {lines} lines, at most {MAX_LINES}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_crate_lives_in_the_folder_of_its_name() {
    for package in packages() {
        assert_eq!(package.directory.file_name().and_then(|name| name.to_str()), Some(&*package.name));
    }
}

fn is_ours(name: &str) -> bool {
    name == "pyxis" || name.starts_with("pyxis-")
}

/// Reasons that `line` is not allowed in a source of `package`.
fn misplaced<'a>(package: &'a str, line: &'a str) -> impl Iterator<Item = &'static str> + use<'a> {
    let comment = line.trim_start().starts_with("//");
    WORDS
        .iter()
        .filter(move |(words, owners, _)| {
            !comment && !owners.contains(&package) && words.iter().any(|word| line.contains(word))
        })
        .map(|(_, _, why)| *why)
}

/// The packages of the workspace, as cargo sees them. Uses neither the network nor the lock file.
fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages: Vec<Package> = list(&metadata, "packages").iter().map(Package::read).collect();
    assert!(packages.len() > 5, "found the packages of the workspace");
    packages
}

impl Package {
    fn read(value: &Value) -> Self {
        let manifest = Path::new(text(value, "manifest_path"));
        let normal = list(value, "dependencies").iter().filter(|dependency| dependency["kind"] != "dev");
        Self {
            name: text(value, "name").to_owned(),
            directory: manifest.parent().expect("a manifest lies in a folder").to_owned(),
            dependencies: normal.map(|dependency| text(dependency, "name").to_owned()).collect(),
        }
    }
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().expect("a text")
}

fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value[member].as_array().expect("a list")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("a source file is text")
}

/// The sources of a crate, each with its place among the modules.
fn sources(src: &Path) -> Vec<ModuleSource> {
    let place = |file: &Path| -> Vec<String> {
        let below = file.strip_prefix(src).expect("it was found there").with_extension("");
        let parts = below.iter().map(|part| part.to_string_lossy().into_owned()).collect::<Vec<_>>();
        if parts == ["lib"] || parts == ["main"] { Vec::new() } else { parts }
    };
    let files = rust_files(src).into_iter();
    files.map(|file| ModuleSource { place: place(&file), text: read(&file) }).collect()
}

/// Every Rust file below `directory`, which may be absent.
fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
