//! `allowed_hosts` and the egress guard: `docs/reference/behavior/proxy.md#egress-guard`.

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::json;

use crate::support::{SECRET, Setup, Site};

/// A site whose operator opened no network.
async fn closed() -> Site {
    Site::with(Setup::new().without("PX_EGRESS_ALLOW")).await
}

async fn credential_for(site: &Site, hosts: &[&str]) {
    let fields = json!({"auth": {"kind": "bearer"}, "secret": SECRET, "allowed_hosts": hosts});
    site.credential("for", &fields).await;
}

engines! {
    async fn autonomous_mode_opens_no_host_and_no_network_and_shows_no_secret(setup: Setup) {
        let site = Site::with(setup).await;
        let mode = json!({"default_approval_mode": "autonomous"});
        site.owner.client.patch("/admin/settings", &mode).send().await.expect(200);
        credential_for(&site, &["10.0.0.1"]).await;
        for method in ["GET", "DELETE"] {
            let outside = site.agent.forward("api", method, "https://api.example.com/");
            outside.send().await.problem(403, "host_not_allowed");
            let inside = site.agent.forward("for", method, "http://10.0.0.1/");
            let refused = inside.send().await.problem(403, "target_not_allowed");
            assert!(refused["agent_action"].as_str().unwrap().contains("PX_EGRESS_ALLOW"), "{refused}");
        }
        assert_eq!(site.upstream.connections(), 0);
        site.upstream.reply_with(|request| Reply::ok(request.header("authorization").unwrap().to_owned()));
        let passed = site.forward("DELETE", "/").send().await.forwarded(200);
        assert_eq!(passed.text(), "Bearer [REDACTED:api]");
    }
}

engines! {
    async fn a_wildcard_over_a_public_suffix_is_refused_by_name_and_a_stored_one_is_shown(setup: Setup) {
        let site = Site::with(setup).await;
        let fields = |hosts: &[&str]| {
            json!({"name": "wide", "auth": {"kind": "bearer"}, "secret": SECRET, "allowed_hosts": hosts})
        };
        for entry in ["*.co.uk", "*.CO.UK:8443", "*.github.io", "*.s3.amazonaws.com", "*.\u{516c}\u{53f8}.cn"] {
            let made = site.owner.client.post("/admin/credentials", &fields(&["api.example.com", entry])).send();
            let refused = made.await.problem(422, "invalid_field");
            assert_eq!(refused["field"], "allowed_hosts");
            assert!(refused["detail"].as_str().unwrap().contains(entry), "{refused}");
            let change = json!({ "allowed_hosts": [entry] });
            let changed = site.owner.client.patch("/admin/credentials/api", &change).send().await;
            changed.problem(422, "invalid_field");
        }
        credential_for(&site, &["*.example.co.uk"]).await;
        site.app.sql("UPDATE credentials SET allowed_hosts = '[\"*.co.uk\"]' WHERE name = 'for'");
        let ran = site.app.cli(&["doctor"]).await;
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stdout.contains("its allowed host *.co.uk admits any name under co.uk"), "{ran:?}");
        // It does not prevent the start or the credential's other uses.
        let judged = site.agent.forward("for", "GET", "https://example.com/").send().await;
        judged.problem(403, "host_not_allowed");
        let page = site.owner.client.get("/admin/credentials/for").send().await.expect(200).json();
        assert_eq!(page["allowed_hosts"], json!(["*.co.uk"]));
    }
}

#[tokio::test]
async fn special_addresses_are_refused_whatever_the_method() {
    let site = closed().await;
    let hosts = [
        "127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[2606:4700:1:2:0:5efe:127.0.0.1]",
        "[2606:4700:1:2:200:5efe:a9fe:a9fe]",
        "[fd00::1]",
        "[fe80::1]",
        "[ff02::1]",
        "[2001:db8::1]",
    ];
    credential_for(&site, &hosts).await;
    for host in hosts {
        for (method, scheme) in [("GET", "http"), ("POST", "https")] {
            let target = format!("{scheme}://{host}/");
            site.agent.forward("for", method, &target).send().await.problem(403, "target_not_allowed");
        }
    }
    let inbox = site.owner.client.get("/approvals").send().await.expect(200).json();
    assert_eq!(inbox["approvals"], json!([]));
}

#[tokio::test]
async fn odd_spellings_of_loopback_reach_nothing() {
    let site = closed().await;
    let port = site.upstream.port();
    for host in [
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "017700000001",
        "127.0.0.1.",
        "①②⑦.0.0.1",
    ] {
        let target = format!("http://{host}:{port}/");
        let answer = site.agent.client.call("POST", "/forward").header("x-px-credential", "api");
        // A header value is bytes; the last spelling is UTF-8.
        let answer = answer.header_bytes("x-px-target", target.as_bytes()).send().await;
        let code = answer.header("px-error").unwrap_or_default();
        assert!(
            ["invalid_target", "target_not_allowed", "host_not_allowed"].contains(&code),
            "{target}: {answer:?}"
        );
    }
    assert_eq!(site.upstream.connections(), 0);
}

#[tokio::test]
async fn names_of_one_machine_or_network_are_refused() {
    let site = closed().await;
    let hosts = ["localhost", "single", "printer.local", "metadata.google.internal", "a.localhost"];
    credential_for(&site, &hosts).await;
    for host in hosts {
        let answer = site.agent.forward("for", "GET", &format!("http://{host}/")).send().await;
        answer.problem(403, "target_not_allowed");
    }
}

#[tokio::test]
async fn well_known_ports_of_other_protocols_are_refused() {
    let site = closed().await;
    credential_for(&site, &["example.com"]).await;
    for port in [22, 25, 53, 110, 143, 465, 587, 6379] {
        let answer = site.agent.forward("for", "GET", &format!("https://example.com:{port}/")).send().await;
        answer.problem(403, "target_not_allowed");
    }
}

#[tokio::test]
async fn an_opened_network_opens_nothing_else() {
    let site =
        Site::with(Setup::new().without("PX_EGRESS_ALLOW").env("PX_EGRESS_ALLOW", "127.0.0.2/32")).await;
    site.forward("GET", "/").send().await.problem(403, "target_not_allowed");
    assert_eq!(site.upstream.connections(), 0);
}

#[tokio::test]
async fn localhost_is_a_target_where_loopback_is_open() {
    let site = Site::new().await;
    let host = format!("localhost:{}", site.upstream.port());
    credential_for(&site, &[&host]).await;
    site.agent.forward("for", "GET", &site.upstream.url_at("localhost", "/x")).send().await.forwarded(200);
    assert_eq!(site.upstream.received(1).await[0].host, host);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_pauses_a_post_and_fails_a_get() {
    let site = Site::new().await;
    credential_for(&site, &["nothing.invalid"]).await;
    let target = "https://nothing.invalid/x";
    let txn = site.agent.forward("for", "POST", target).send().await.txn();
    site.agent.forward("for", "GET", target).send().await.problem(502, "upstream_error");
    site.owner.approve(&txn).await;
    let outcome = site.agent.outcome(&txn).await;
    assert_eq!((&outcome["status"], &outcome["error"]), (&json!("approved"), &json!("upstream_error")));
    assert_eq!(outcome["response"], json!(null));
}

#[tokio::test]
async fn allowed_hosts_match_exactly_or_by_a_leading_wildcard() {
    let site = Site::new().await;
    credential_for(&site, &["api.example.com", "*.wild.example.org", "port.example.com:8443"]).await;
    for (url, allowed) in [
        ("https://api.example.com/", true),
        ("https://API.Example.COM/", true),
        ("https://api.example.com:8443/", true),
        ("https://x.api.example.com/", false),
        ("https://example.com/", false),
        ("https://api.example.com.evil.net/", false),
        ("https://evilapi.example.com/", false),
        ("https://a.wild.example.org/", true),
        ("https://a.b.wild.example.org/", true),
        ("https://wild.example.org/", false),
        ("https://evilwild.example.org/", false),
        ("https://port.example.com:8443/", true),
        ("https://port.example.com/", false),
        ("https://port.example.com:9443/", false),
    ] {
        let explained = site.owner.explain("for", "GET", url).await;
        let expected = if allowed { "gated_default" } else { "allowed_hosts" };
        assert_eq!(explained["rule"], expected, "{url}: {explained}");
        if !allowed {
            assert_eq!(explained["decision"], "refuse", "{url}");
            site.agent.forward("for", "POST", url).send().await.problem(403, "host_not_allowed");
        }
    }
}

#[tokio::test]
async fn without_allowed_hosts_nothing_is_reachable() {
    let site = Site::new().await;
    let created = json!({"name": "blank", "description": "", "connector": "sidecar", "api_base": site.upstream.url("")});
    site.owner.add_credential(&created).await;
    for method in ["GET", "POST"] {
        let answer = site.agent.forward("blank", method, "https://api.example.com/").send().await;
        answer.problem(403, "host_not_allowed");
    }
    assert_eq!(site.upstream.connections(), 0);
}
