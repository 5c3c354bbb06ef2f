//! git over its smart protocol, which sends POST to read as well as to write.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use pyxis_testkit::upstream::{Received, Reply};
use serde_json::json;

use super::super::Scene;
use super::{git, refuses_strangers};

/// An answer of git's own server program (`git-http-backend`, CGI) for the repositories in `root`.
fn backend(root: &Path, request: &Received) -> Reply {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", request.method.as_str())
        .env("CONTENT_LENGTH", request.body.len().to_string());
    let headers = [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ];
    for (header, variable) in headers {
        if let Some(value) = request.header(header) {
            command.env(variable, value);
        }
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let body = request.body.clone();
    let writing = std::thread::spawn(move || input.write_all(&body));
    let output = child.wait_with_output().unwrap().stdout;
    writing.join().unwrap().unwrap();
    let end = output.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(output[..end].to_vec()).unwrap();
    let fields: Vec<_> = head.lines().filter_map(|line| line.split_once(": ")).collect();
    let status = fields.iter().find(|(name, _)| *name == "Status");
    let status = status.map_or(200, |(_, text)| text[..3].parse().unwrap());
    let reply = Reply::new(status).body(output[end + 4..].to_vec());
    fields
        .iter()
        .filter(|(name, _)| *name != "Status")
        .fold(reply, |reply, (name, value)| reply.header(name, value))
}

#[tokio::test]
async fn git_fetches_and_pushes_over_its_smart_protocol_with_the_secret_attached() {
    let scene = Scene::new().await;
    let policy = json!({
        "auto_approve_methods": ["GET"],
        "auto_approve_urls": ["/*/git-upload-pack", "/*/git-receive-pack"],
    });
    scene.site.owner.set_policy("api", &policy).await;
    git(scene.home(), &["init", "-q", "--bare", "served.git"]);
    git(&scene.home().join("served.git"), &["config", "http.receivepack", "true"]);
    let root = scene.home().to_owned();
    scene.site.upstream.reply_with(move |request| backend(&root, request));

    let made = scene.home().join("made");
    fs::create_dir(&made).unwrap();
    git(&made, &["init", "-q"]);
    fs::write(made.join("readme"), "pushed").unwrap();
    git(&made, &["add", "readme"]);
    git(&made, &["commit", "-q", "-m", "first"]);
    let url = scene.url("/served.git");
    let made = made.to_str().unwrap();
    let refuse = &["--others", "refuse"];
    scene.run(refuse, &["git", "-C", made, "push", "-q", &url, "HEAD:refs/heads/main"]).await.expect(0);
    scene.run(refuse, &["git", "clone", "-q", "-b", "main", &url, "cloned"]).await.expect(0);
    assert_eq!(fs::read_to_string(scene.home().join("cloned/readme")).unwrap(), "pushed");
    scene.run(refuse, &["git", "-C", "cloned", "fetch", "-q"]).await.expect(0);

    let posts = scene.site.upstream.requests();
    let posts: Vec<_> = posts.iter().filter(|request| request.method == http::Method::POST).collect();
    assert!(posts.iter().any(|request| request.target.ends_with("/git-receive-pack")), "{posts:?}");
    assert!(posts.iter().any(|request| request.target.ends_with("/git-upload-pack")), "{posts:?}");
    scene.all_requests_had_the_secret(scene.site.upstream.requests().len());
    refuses_strangers(&scene, &["git", "-C", made, "push", "-q", "URL", "HEAD"]).await;
}
