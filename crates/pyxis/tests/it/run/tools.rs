//! Each tool gets the response to a request with the secret, and never the secret.

mod git;
mod github;
mod java;
mod node;
mod packages;
mod python;

use std::fs;
use std::path::Path;
use std::process::Command;

use pyxis_testkit::upstream::Reply;
use serde_json::json;

use super::Scene;
use super::scene::SECRET;
use crate::support::app::Ran;

/// Runs a tool that fetches a URL of the upstream and prints the body.
async fn fetched(tool: &[&str]) -> (Scene, Ran) {
    let scene = Scene::new().await;
    let url = scene.url("/things?x=1");
    let command: Vec<&str> = tool.iter().map(|&part| if part == "URL" { &url } else { part }).collect();
    let ran = scene.run(&["--others", "refuse"], &command).await.expect(0);
    assert_eq!(ran.stdout.trim_end(), "ok", "{ran:?}");
    assert!(!format!("{ran:?}").contains(SECRET));
    assert_eq!(scene.only_request().target, "/things?x=1");
    refuses_strangers(&scene, tool).await;
    (scene, ran)
}

/// The same tool fails for a host that no credential allows.
async fn refuses_strangers(scene: &Scene, tool: &[&str]) {
    let command: Vec<&str> =
        tool.iter().map(|&part| if part == "URL" { "https://stranger.example/" } else { part }).collect();
    let ran = scene.run(&["--others", "refuse"], &command).await;
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("no credential of this agent allows stranger.example"), "{ran:?}");
}

#[tokio::test]
async fn curl_reaches_an_api_with_the_secret_attached() {
    let (scene, _) = fetched(&["curl", "-sSf", "URL"]).await;
    let record = scene.site.forwards().await.into_iter().next().unwrap();
    assert_eq!(record["detail"]["door"], "run", "{record}");
    assert!(record["detail"]["client"].as_str().unwrap().starts_with("curl/"), "{record}");
}

#[tokio::test]
async fn curl_speaks_either_version_of_http() {
    for (option, version) in [("--http1.1", "1.1"), ("--http2", "2")] {
        let scene = Scene::new().await;
        let command = ["curl", "-sSf", option, "-w", " %{http_version}", &scene.url("/")];
        let ran = scene.run(&[], &command).await.expect(0);
        assert_eq!(ran.stdout, format!("ok {version}"), "{ran:?}");
    }
}

#[tokio::test]
async fn head_is_answered_without_a_body_and_without_a_wrong_length() {
    let scene = Scene::new().await;
    let url = scene.url("/");
    for option in ["--http1.1", "--http2"] {
        let ran =
            scene.run(&[], &["curl", "-sSfI", "--suppress-connect-headers", option, &url]).await.expect(0);
        assert!(ran.stdout.contains(" 200") && !ran.stdout.contains("content-length"), "{ran:?}");
    }
    assert!(scene.site.upstream.requests().iter().all(|request| request.method == http::Method::HEAD));
}

#[tokio::test]
async fn wget_reaches_an_api_with_the_secret_attached() {
    fetched(&["wget", "-nv", "-O", "-", "URL"]).await;
}

#[tokio::test]
async fn urllib_of_python_reaches_an_api_with_the_secret_attached() {
    let code = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())";
    fetched(&["python3", "-c", code, "URL"]).await;
}

/// Node before version 24 has a proxy only for programs that bring one, as npm does; its `tls` reads the added roots.
#[tokio::test]
async fn tls_of_node_trusts_the_proxy() {
    let code = r"
        const [http, https, tls] = ['http', 'https', 'tls'].map(name => require('node:' + name));
        const proxy = new URL(process.env.HTTPS_PROXY), url = new URL(process.argv[1]);
        const headers = {
            'Proxy-Authorization': 'Basic ' + btoa(proxy.username + ':' + proxy.password),
        };
        const path = url.hostname + ':' + (url.port || 443);
        http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path, headers })
            .on('connect', (answer, socket) => {
                if (answer.statusCode !== 200) process.exit(1);
                const createConnection = () => tls.connect({ socket, host: url.hostname });
                https.get(url, { createConnection }, response => {
                    response.pipe(process.stdout);
                });
            })
            .end();";
    fetched(&["node", "-e", code, "URL"]).await;
}

/// npm takes no address for a registry behind a proxy, and no name leads to the upstream; so Pyxis answers itself.
#[tokio::test]
async fn npm_prints_the_explanation_of_a_refusal() {
    let scene = Scene::new().await;
    scene.credential("registry", &json!({"allowed_hosts": ["registry.example.invalid"]})).await;
    scene.site.owner.set_policy("registry", &json!({"deny_urls": ["/thing"]})).await;
    let registry = "https://registry.example.invalid/";
    let options = ["--no-update-notifier", "--fetch-retries", "0", "--registry", registry];
    let npm = [&["npm", "view"], &options[..], &["thing", "version"]].concat();
    let ran = scene.run(&["--others", "refuse"], &npm).await;
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("Pyxis: ") && ran.stderr.contains("denied_by_policy"), "{ran:?}");
}

fn git(directory: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"];
    let done = Command::new("git").args(identity).args(arguments).current_dir(directory).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Serves a repository as files, which git calls the dumb protocol.
fn serve_repository(scene: &Scene) {
    let made = scene.home().join("made");
    fs::create_dir(&made).unwrap();
    git(&made, &["init", "-q"]);
    fs::write(made.join("readme"), "from the upstream").unwrap();
    git(&made, &["add", "readme"]);
    git(&made, &["commit", "-q", "-m", "first"]);
    git(scene.home(), &["clone", "-q", "--bare", "made", "served.git"]);
    git(&scene.home().join("served.git"), &["update-server-info"]);
    let root = scene.home().to_owned();
    scene.site.upstream.reply_with(move |request| {
        let path = request.target.split('?').next().unwrap_or_default();
        match fs::read(root.join(path.trim_start_matches('/'))) {
            Ok(content) => Reply::ok(content).header("content-type", "text/plain"),
            Err(_) => Reply::new(404),
        }
    });
}

#[tokio::test]
async fn git_clones_with_the_secret_attached() {
    let scene = Scene::new().await;
    serve_repository(&scene);
    let url = scene.url("/served.git");
    scene.run(&["--others", "refuse"], &["git", "clone", "-q", &url, "cloned"]).await.expect(0);
    let cloned = fs::read_to_string(scene.home().join("cloned/readme")).unwrap();
    assert_eq!(cloned, "from the upstream");
    let authorized = format!("Bearer {SECRET}");
    let requests = scene.site.upstream.requests();
    assert!(requests.iter().all(|request| request.header("authorization") == Some(&authorized)));
    refuses_strangers(&scene, &["git", "ls-remote", "URL"]).await;
}

#[tokio::test]
async fn a_tool_that_sends_its_placeholder_gets_the_secret_attached_instead() {
    let scene = Scene::new().await;
    // A second host, whose preset knows the variable.
    scene.credential("github", &json!({"allowed_hosts": ["api.github.com"]})).await;
    let url = scene.url("/");
    let script = format!(
        r#"curl -sSf -u "x-access-token:$GITHUB_TOKEN" {url} && curl -sSf -H "X-Api-Key: $GITHUB_TOKEN" {url} && echo "$GITHUB_TOKEN""#
    );
    let mut command = scene.command(&[], &["sh", "-c", &script]);
    command.env("GITHUB_TOKEN", "ghp_the_person_s_own");
    let ran = crate::support::app::run(command).await.expect(0);
    assert_eq!(ran.stdout, "okokpx_placeholder_github_token\n", "{ran:?}");
    for request in scene.site.upstream.requests() {
        assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
        assert_eq!(request.header("x-api-key"), None);
    }
}
