//! `pyxis audit in-flight`: what was open at a time (`docs/guides/run-in-production.md`).

use std::time::Duration;

use pyxis_core::clock::{Clock, SystemClock};
use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{Setup, Site};

/// More finished requests in the time asked about than a page of the audit trail has.
const FINISHED: usize = 1_050;
const AT_ONCE: usize = 25;

/// Requests that end as they should.
async fn finish_many(site: &Site) {
    let mut running = JoinSet::new();
    for number in 0..FINISHED {
        if running.len() == AT_ONCE {
            running.join_next().await.unwrap().unwrap();
        }
        let call = site.forward("GET", &format!("/finished/{number}"));
        running.spawn(async move { drop(call.send().await.forwarded(200)) });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
}

/// Requests that were open within 10 minutes of now.
async fn listed(site: &Site, more: &[&str]) -> Value {
    let now = SystemClock.now().to_rfc3339();
    let command = ["audit", "in-flight", "--around", &now, "--margin", "600"];
    site.app.cli_json(&[&command[..], more].concat()).await
}

/// State, method and workspace of each listed request.
fn facts(listed: &Value) -> Vec<(&str, &str, &str)> {
    let requests = listed["requests"].as_array().unwrap();
    requests
        .iter()
        .map(|one| {
            let word = |name: &str| one[name].as_str().unwrap();
            (word("state"), word("method"), word("workspace"))
        })
        .collect()
}

engines! {
    async fn a_request_that_was_open_on_a_busy_server_is_listed_and_so_is_its_unknown_end(setup: Setup) {
        let mut site = Site::with(setup).await;
        let made = site.app.cli_json(&["workspace", "add", "other", "--owner-email", "owner@other.example"]).await;
        let other = site.app.agent(made["agent_key"].as_str().unwrap());
        let owner = site.app.sign_in("owner@other.example").await;
        owner.add_credential(&json!({
            "name": "api", "auth": {"kind": "bearer"}, "secret": "other-canary",
            "allowed_hosts": [site.upstream.addr().to_string()], "allow_http": true,
        })).await;
        finish_many(&site).await;
        // One request that stays open in each workspace, and one that waits for a person.
        let mut held = Vec::new();
        for (number, agent) in [&site.agent, &other].into_iter().enumerate() {
            let (reply, release) = Reply::ok("late").hold();
            site.upstream.reply(reply);
            let call = agent.forward("api", "GET", &site.upstream.url("/open"));
            held.push((release, tokio::spawn(call.attempt())));
            site.upstream.received(FINISHED + number + 1).await;
        }
        let txn = site.pause("/pending").await;

        let all = listed(&site, &[]).await;
        let first = all["workspaces"][0].as_str().unwrap().to_owned();
        assert_eq!(
            facts(&all),
            [("passed", "GET", first.as_str()), ("passed", "GET", "other"), ("pending", "POST", first.as_str())],
        );
        assert_eq!(all["requests"][2]["txn_id"], json!(txn));
        assert_eq!(all["workspaces"], json!([first, "other"]));
        let of_other = listed(&site, &["--workspace", "other"]).await;
        assert_eq!(facts(&of_other), [("passed", "GET", "other")]);
        // A line says what it covers.
        let now = SystemClock.now();
        let text = site.app.cli(&["audit", "in-flight", "--around", &now.to_rfc3339()]).await.expect(0).stdout;
        assert!(text.contains("3 requests between") && text.contains("in all 2 workspaces"), "{text}");
        // Before they arrived, nothing was open.
        let before = now.minus(Duration::from_hours(2)).to_rfc3339();
        let none = site.app.cli_json(&["audit", "in-flight", "--around", &before]).await;
        assert_eq!(none["requests"], json!([]));
        let refused = site.app.cli(&["audit", "in-flight", "--margin", "18446744073709551615"]).await.expect(2);
        assert!(refused.stderr.contains("604800"), "{refused:?}");

        site.app.kill().await;
        drop(held);
        site.app.serve();
        site.app.owner().client.get("/approvals").send().await.expect(200);
        let after = listed(&site, &[]).await;
        let states: Vec<_> = facts(&after).into_iter().map(|(state, ..)| state).collect();
        assert_eq!(states, ["outcome_unknown", "outcome_unknown", "pending"], "{after}");
        assert!(after["requests"][0]["finished_at"].is_string(), "{after}");
    }
}
