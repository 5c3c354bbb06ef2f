//! The path that the policy matched is, byte for byte, the path on the wire
//! (`docs/reference/forwarding.md#the-target`).

use pyxis_testkit::upstream::Reply;
use serde_json::json;

use crate::support::{SECRET, Site};

#[tokio::test]
async fn the_path_on_the_wire_is_canonical() {
    let site = Site::new().await;
    for (asked, wire) in [
        ("", "/"),
        ("/", "/"),
        ("/a/./b", "/a/b"),
        ("/a/../b", "/b"),
        ("/../../b", "/b"),
        ("/a/%2e%2E/b", "/b"),
        ("/a/%2e/b", "/a/b"),
        ("/a/.%2E/b", "/b"),
        ("/%61%2D%7e", "/a-~"),
        ("/a%2Fb", "/a%2Fb"),
        ("/a?x=1&y=%20#fragment", "/a?x=1&y=%20"),
        ("/a#fragment?x=1", "/a"),
        ("/a/b/", "/a/b/"),
    ] {
        site.forward("GET", asked).send().await.forwarded(200);
        assert_eq!(site.upstream.requests().last().unwrap().target, wire, "asked for {asked}");
    }
}

#[tokio::test]
async fn the_policy_sees_the_canonical_path() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_urls": ["/open"], "deny_urls": ["/closed"]})).await;
    for path in ["/open/../closed", "/open/%2e%2e/closed", "/x/..//closed", "/cl%6fsed", "/%63losed/x"] {
        site.forward("GET", path).send().await.problem(403, "denied_by_policy");
    }
    site.forward("DELETE", "/closed/../open/x").send().await.forwarded(200);
    assert_eq!(site.upstream.requests().last().unwrap().target, "/open/x");
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn deny_rules_are_tried_on_every_plausible_reading() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_methods": ["GET"], "deny_urls": ["/admin/users"]})).await;
    for path in [
        "/admin%2Fusers",
        "/admin%252Fusers",
        "/admin//users",
        "/admin;x=1/users",
        "/admin/users;jsessionid=1",
        "/admin/%2575sers",
        "/admin/users/",
    ] {
        site.forward("GET", path).send().await.problem(403, "denied_by_policy");
    }
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_target_that_is_no_absolute_plain_url_is_refused() {
    let site = Site::new().await;
    let host = site.upstream.addr();
    for target in [
        "/relative".to_owned(),
        "nonsense".to_owned(),
        "//127.0.0.1/x".to_owned(),
        "https://".to_owned(),
        format!("ftp://{host}/"),
        "file:///etc/passwd".to_owned(),
        format!("ws://{host}/"),
        format!("http://user:pass@{host}/"),
        format!("http://user@{host}/"),
        format!("http:\\\\{host}\\x"),
        format!("http://{host}/a\\..\\b"),
        format!("http://{host}/a\tb"),
        "http://127.0.0.1:99999/".to_owned(),
    ] {
        site.agent.forward("api", "GET", &target).send().await.problem(400, "invalid_target");
    }
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn plain_http_needs_the_credentials_consent() {
    let site = Site::new().await;
    site.credential("strict", &json!({"auth": {"kind": "bearer"}, "secret": SECRET, "allow_http": false}))
        .await;
    let answer = site.agent.forward("strict", "GET", &site.upstream.url("/")).send().await;
    answer.problem(400, "invalid_target");
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn redirects_go_back_to_the_agent_with_their_location_scrubbed() {
    let site = Site::new().await;
    for status in [301, 302, 303, 307, 308] {
        let there = site.upstream.url("/elsewhere");
        site.upstream.reply(Reply::new(status).header("location", &format!("{there}?token={SECRET}")));
        let answer = site.forward("GET", "/").send().await.forwarded(status);
        assert_eq!(answer.header("location"), Some(format!("{there}?token=[REDACTED:api]").as_str()));
    }
    assert_eq!(site.upstream.requests().len(), 5);
}
