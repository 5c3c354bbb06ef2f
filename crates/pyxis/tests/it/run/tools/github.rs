//! `gh`, the command line of GitHub, which insists on a token.

use super::super::Scene;
use crate::support::app::run;

/// Go never sends a request for a loopback address through a proxy, and no name leads to the upstream; so Pyxis answers
/// itself.
#[tokio::test]
async fn gh_trusts_the_proxy_and_prints_the_answer_of_pyxis() {
    let scene = Scene::new().await;
    scene.answers_itself("github.example.invalid", "/api/v3/user").await;
    let api = |host: &str| {
        let mut command = scene.command(&["--others", "refuse"], &["gh", "api", "user"]);
        command.env("GH_HOST", host).env("GH_ENTERPRISE_TOKEN", "px_placeholder_github_token");
        command
    };
    let ran = run(api("github.example.invalid")).await.expect(1);
    assert!(ran.stdout.contains("Pyxis: ") && ran.stdout.contains("denied_by_policy"), "{ran:?}");
    let stranger = run(api("stranger.example")).await;
    assert_ne!(stranger.code, Some(0), "{stranger:?}");
    assert!(stranger.stderr.contains("no credential of this agent allows stranger.example"), "{stranger:?}");
}
