//! `gh`, the command line of GitHub, which insists on a token, against a stand-in of GitHub Enterprise Server.

use std::process::Command;

use pyxis_testkit::upstream::{Received, Reply};
use serde_json::{Value, json};

use super::super::Scene;
use crate::support::Setup;
use crate::support::app::Ran;

/// The responses of the API that `gh api user` and `gh pr list` ask for.
fn api(request: &Received) -> Reply {
    match request.target.as_str() {
        "/api/v3/user" => Reply::json(r#"{"login":"octocat"}"#),
        "/api/graphql" => graphql(&String::from_utf8_lossy(&request.body)),
        _ => Reply::new(404),
    }
}

/// `gh` first asks which fields this server has, then for the pull requests.
fn graphql(body: &str) -> Reply {
    let data = if body.contains("__type") {
        json!({"PullRequest": {"fields": []}, "StatusCheckRollupContextConnection": {"fields": []}})
    } else {
        let pull_request = json!({
            "number": 7, "title": "Made behind the proxy", "state": "OPEN", "isDraft": false,
            "url": "https://ghe.example.test/o/r/pull/7", "headRefName": "topic",
            "headRepositoryOwner": {"id": "1", "login": "o"}, "isCrossRepository": false,
            "createdAt": "2026-01-01T00:00:00Z",
        });
        let page = json!({"hasNextPage": false, "endCursor": null});
        json!({"repository": {"pullRequests": {"totalCount": 1, "nodes": [pull_request], "pageInfo": page}}})
    };
    Reply::json(&json!({ "data": data }).to_string())
}

/// Runs `gh` against the upstream, with a placeholder as its token.
async fn gh(scene: &Scene, arguments: &[&str]) -> Ran {
    let host = scene.named_host();
    gh_at(scene, &host, arguments).await
}

async fn gh_at(scene: &Scene, host: &str, arguments: &[&str]) -> Ran {
    let tool = [&["gh"], arguments].concat();
    let with_token = |command: &mut Command| {
        command.env("GH_HOST", host).env("GH_ENTERPRISE_TOKEN", "px_placeholder_github_token");
    };
    scene.run_with(&["--others", "refuse"], &tool, with_token).await
}

#[tokio::test]
async fn gh_reads_through_both_apis_of_a_server_with_the_secret_attached() {
    let scene = Scene::with_name(Setup::new()).await;
    scene.site.upstream.reply_with(api);
    let policy = json!({"auto_approve_methods": ["GET"], "auto_approve_urls": ["/api/graphql"]});
    scene.site.owner.set_policy("named", &policy).await;
    let user = gh(&scene, &["api", "user", "--jq", ".login"]).await.expect(0);
    assert_eq!(user.stdout, "octocat\n");
    let repository = format!("{}/o/r", scene.named_host());
    let list = gh(&scene, &["pr", "list", "--repo", &repository]).await.expect(0);
    assert!(list.stdout.starts_with("7\tMade behind the proxy\ttopic\tOPEN"), "{list:?}");
    let requests = scene.site.upstream.requests();
    scene.all_requests_had_the_secret(requests.len());
    let targets: Vec<&str> = requests.iter().map(|request| request.target.as_str()).collect();
    assert_eq!(targets[0], "/api/v3/user");
    assert!(targets.len() > 1 && targets[1..].iter().all(|target| *target == "/api/graphql"), "{targets:?}");
    assert!(scene.site.forwards().await.iter().all(|record| record["detail"]["door"] == "run"));
}

#[tokio::test]
async fn gh_prints_what_pyxis_says_when_a_person_must_approve_and_for_a_stranger() {
    let scene = Scene::with_name(Setup::new().env("PX_ENTRANCE_WAIT_SECS", "0")).await;
    scene.site.upstream.reply_with(api);
    let policy = json!({"auto_approve_methods": ["GET"], "auto_approve_urls": ["/api/graphql"]});
    scene.site.owner.set_policy("named", &policy).await;
    let mutation = "query=mutation { closeIssue(input: {}) { clientMutationId } }";
    let ran = gh(&scene, &["api", "graphql", "-f", mutation]).await;
    let text = format!("{}{}", ran.stdout, ran.stderr);
    assert!(ran.code != Some(0) && text.contains("Pyxis: "), "{ran:?}");
    assert!(text.contains("approve"), "{ran:?}");
    let pending: Value =
        scene.site.owner.client.get("/approvals?state=pending").send().await.expect(200).json();
    assert_eq!(pending["approvals"].as_array().unwrap().len(), 1);

    let stranger = gh_at(&scene, "stranger.example", &["api", "user"]).await;
    assert_ne!(stranger.code, Some(0), "{stranger:?}");
    assert!(stranger.stderr.contains("no credential of this agent allows stranger.example"), "{stranger:?}");
    assert!(scene.site.upstream.requests().is_empty());
}
