//! Package managers that install from a registry of the test.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::json;

use super::super::Scene;
use super::super::scene::{SECRET, search_path};
use super::refuses_strangers;
use crate::support::app::Ran;

/// Makes a gzipped archive of a directory.
fn archive(home: &Path, file: &str, directory: &str) -> Vec<u8> {
    let done = Command::new("tar").args(["-czf", file, directory]).current_dir(home).status().unwrap();
    assert!(done.success());
    fs::read(home.join(file)).unwrap()
}

/// npm takes no address for a registry behind a proxy. So this one has the name `localhost`, which only this test does
/// not reach directly.
#[tokio::test]
async fn npm_installs_a_package_with_the_secret_attached() {
    let scene = Scene::new().await;
    let registry = Upstream::https(scene.authority(), &["localhost"]).await;
    let host = format!("localhost:{}", registry.port());
    scene.credential("registry", &json!({"allowed_hosts": [host]})).await;
    let package = scene.home().join("package");
    fs::create_dir(&package).unwrap();
    fs::write(package.join("package.json"), json!({"name": "thing", "version": "1.0.0"}).to_string())
        .unwrap();
    fs::write(package.join("index.js"), "console.log('from the registry')").unwrap();
    let tarball = archive(scene.home(), "thing.tgz", "package");
    let document = json!({
        "name": "thing",
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {
            "name": "thing", "version": "1.0.0",
            "dist": {"tarball": format!("https://{host}/thing/-/thing-1.0.0.tgz")},
        }},
    });
    registry.reply_with(move |request| match request.target.as_str() {
        "/thing" => Reply::json(&document.to_string()),
        "/thing/-/thing-1.0.0.tgz" => Reply::ok(tarball.clone()),
        _ => Reply::new(404),
    });
    let install = |registry: &str| {
        let direct = "env -u NO_PROXY -u no_proxy -u npm_config_noproxy";
        let options = "npm install --no-update-notifier --no-audit --no-fund --fetch-retries 0 --registry";
        direct
            .split(' ')
            .chain(options.split(' '))
            .chain([registry, "thing"])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let command = install(&format!("https://{host}/"));
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    scene.run(&["--others", "refuse"], &command).await.expect(0);
    let ran = scene.run(&[], &["node", "-e", "require('thing')"]).await.expect(0);
    assert_eq!(ran.stdout, "from the registry\n");
    let authorized = format!("Bearer {SECRET}");
    assert!(registry.requests().iter().all(|request| request.header("authorization") == Some(&authorized)));
    assert_eq!(registry.requests().len(), 2);
    fs::remove_dir_all(scene.home().join("node_modules")).unwrap();
    let strange = install("URL");
    refuses_strangers(&scene, &strange.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

/// The folder of the cargo that runs the tests. The one in `PATH` may ask the home directory which one to be.
fn with_cargo() -> OsString {
    let mut path = OsString::from(Path::new(env!("CARGO")).parent().unwrap());
    path.push(":");
    path.push(search_path());
    path
}

/// Fetches the dependencies of a package that needs `thing` from the registry at this URL.
async fn cargo_fetch(scene: &Scene, index: &str) -> Ran {
    let package = scene.home().join("package");
    fs::create_dir_all(package.join("src")).unwrap();
    fs::write(package.join("src/lib.rs"), "").unwrap();
    let manifest = "[package]\nname = \"p\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\
                    [dependencies]\nthing = { version = \"1\", registry = \"own\" }\n";
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    let surroundings = |command: &mut Command| {
        command
            .current_dir(&package)
            .env("PATH", with_cargo())
            .env("CARGO_HOME", scene.home().join("cargo"))
            .env("CARGO_NET_RETRY", "0")
            .env("CARGO_REGISTRIES_OWN_INDEX", format!("sparse+{index}"));
    };
    scene.run_with(&["--others", "refuse"], &["cargo", "fetch", "--quiet"], surroundings).await
}

#[tokio::test]
async fn cargo_fetches_from_a_sparse_registry_with_the_secret_attached() {
    let scene = Scene::new().await;
    let sources = scene.home().join("thing-1.0.0");
    fs::create_dir_all(sources.join("src")).unwrap();
    fs::write(sources.join("src/lib.rs"), "// from the registry").unwrap();
    let manifest = "[package]\nname = \"thing\"\nversion = \"1.0.0\"\nedition = \"2021\"\n";
    fs::write(sources.join("Cargo.toml"), manifest).unwrap();
    let file = archive(scene.home(), "thing-1.0.0.crate", "thing-1.0.0");
    let sum = Command::new("sha256sum").arg(scene.home().join("thing-1.0.0.crate")).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap().split(' ').next().unwrap().to_owned();
    let config = json!({"dl": scene.url("/dl/{crate}/{version}")}).to_string();
    let entry = json!({
        "name": "thing", "vers": "1.0.0", "deps": [], "features": {}, "yanked": false, "cksum": sum,
    });
    scene.site.upstream.reply_with(move |request| match request.target.as_str() {
        "/index/config.json" => Reply::json(&config),
        "/index/th/in/thing" => Reply::ok(format!("{entry}\n")),
        "/dl/thing/1.0.0" => Reply::ok(file.clone()),
        _ => Reply::new(404),
    });
    cargo_fetch(&scene, &scene.url("/index/")).await.expect(0);
    scene.all_requests_had_the_secret(3);
    let unpacked =
        Command::new("find").arg(scene.home().join("cargo")).args(["-name", "lib.rs"]).output().unwrap();
    assert!(String::from_utf8_lossy(&unpacked.stdout).contains("/thing-1.0.0/src/lib.rs"), "{unpacked:?}");
    let _ = fs::remove_file(scene.home().join("package/Cargo.lock"));
    let ran = cargo_fetch(&scene, "https://stranger.example/").await;
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("no credential of this agent allows stranger.example"), "{ran:?}");
}
