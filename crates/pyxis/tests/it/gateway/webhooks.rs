//! Webhook endpoints by the admin API and the command line, and one delivery end to end.

use pyxis_testkit::engines;
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use crate::support::{Setup, Site, until};

/// A program that trusts the authority's certificates.
fn believing(setup: Setup, authority: &Authority) -> (Setup, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ca.pem");
    std::fs::write(&path, authority.pem()).expect("a file");
    (setup.env("PX_EGRESS_CA_FILE", path.to_str().expect("text")), directory)
}

async fn add(site: &Site, body: &Value) -> Value {
    site.owner.client.post("/admin/webhooks", body).send().await.expect(201).json()
}

async fn deliveries(site: &Site, id: &str) -> Vec<Value> {
    let answer = site.owner.client.get(&format!("/admin/webhooks/{id}/deliveries")).send().await.expect(200);
    answer.json()["deliveries"].as_array().expect("a list").clone()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}"))
}

engines! {
    async fn an_endpoint_hears_of_a_request_and_its_denial_and_can_hear_it_again(setup: Setup) {
        let authority = Authority::new();
        let (setup, _directory) = believing(setup, &authority);
        let receiver = Upstream::https(&authority, &["127.0.0.1"]).await;
        let site = Site::with(setup).await;
        let made = add(&site, &json!({"url": receiver.url("/in")})).await;
        let (id, secret) = (text(&made, "id"), text(&made, "secret"));
        assert!(secret.starts_with("whsec_"), "{secret}");
        assert_eq!((&made["events"], &made["enabled"]), (&json!([]), &json!(true)));

        let txn = site.pause("/v1/items").await;
        site.owner.deny(&txn, "no").await;
        let [requested, decided] = receiver.received(2).await.try_into().expect("two");
        let (requested, decided) = if requested.header("px-event") == Some("approval.requested") {
            (requested, decided)
        } else {
            (decided, requested)
        };
        let told: Value = serde_json::from_slice(&requested.body).expect("JSON");
        assert_eq!((&told["txn_id"], &told["body_preview"]), (&json!(txn), &json!("a body to approve")));
        let told: Value = serde_json::from_slice(&decided.body).expect("JSON");
        assert_eq!((&told["outcome"], &told["channel"]), (&json!("denied"), &json!("agent_reflected")));

        let stored = until("both are stored as delivered", async || {
            let stored = deliveries(&site, id).await;
            stored.iter().all(|delivery| delivery["status"] == "delivered").then_some(stored)
        })
        .await;
        assert_eq!(stored.len(), 2);
        let first = text(&stored[1], "id");
        assert_eq!((stored[1]["response_status"].as_i64(), text(&stored[1], "response_excerpt")), (Some(200), "ok"));
        let shown = site.owner.client.get(&format!("/admin/deliveries/{first}")).send().await.expect(200).json();
        assert_eq!(text(&shown, "body").as_bytes(), requested.body);

        let path = format!("/admin/deliveries/{first}/resend");
        site.owner.client.post(&path, &json!({})).send().await.expect(202);
        let again = receiver.received(3).await.pop().expect("three");
        assert_eq!((&again.body, again.header("px-delivery")), (&requested.body, Some(first)));
        site.app.logs().contains(secret).then(|| panic!("the secret is in the log"));
    }

    async fn a_signature_that_is_asked_for_is_told_like_a_request_of_this_server(setup: Setup) {
        let authority = Authority::new();
        let (setup, _directory) = believing(setup, &authority);
        let receiver = Upstream::https(&authority, &["127.0.0.1"]).await;
        let site = Site::with(setup).await;
        add(&site, &json!({"url": receiver.url("/in")})).await;
        let key = json!({"name": "treasury", "auth": {"kind": "signing_key", "algorithm": "ed25519"}});
        site.owner.add_credential(&key).await;
        let ask = async |payload: &str| {
            let body = json!({"payload": payload, "encoding": "utf8", "algorithm": "ed25519", "hash": "none"});
            let call = site.agent.client.post("/sign", &body).header("x-px-credential", "treasury");
            call.header("x-px-reason", "pay").send().await.txn()
        };
        let (signed, denied, withdrawn) = (ask("one").await, ask("two").await, ask("three").await);
        site.owner.approve(&signed).await;
        site.owner.deny(&denied, "no").await;
        site.agent.client.delete(&format!("/agent/approvals/{withdrawn}")).send().await.expect(204);
        let all: Vec<Value> =
            receiver.received(6).await.iter().map(|sent| serde_json::from_slice(&sent.body).expect("JSON")).collect();
        let of = |event: &str, txn: &str| {
            let found = all.iter().find(|body| body["event"] == event && body["txn_id"] == txn);
            found.unwrap_or_else(|| panic!("{event} of {txn} in {all:?}")).clone()
        };
        for txn in [&signed, &denied, &withdrawn] {
            let told = of("approval.requested", txn);
            assert_eq!((&told["method"], &told["target_host"]), (&json!("POST"), &json!("localhost")), "{told}");
            assert_eq!((&told["credential_name"], &told["summary"]), (&json!("treasury"), &json!("pay")));
        }
        let owner = &site.app.bootstrap["owner_email"];
        let decided = |txn: &str, outcome: &str| json!({
            "event": "approval.decided", "txn_id": txn, "outcome": outcome, "approver": owner,
            "channel": "agent_reflected", "upstream_status": null,
        });
        assert_eq!(of("approval.decided", &signed), decided(&signed, "approved"), "no upstream gave a status");
        assert_eq!(of("approval.decided", &denied), decided(&denied, "denied"));
        assert_eq!(of("approval.expired", &withdrawn), json!({"event": "approval.expired", "txn_id": withdrawn}));
    }

    async fn what_is_under_way_survives_a_crash_of_the_server(setup: Setup) {
        let authority = Authority::new();
        let (setup, _directory) = believing(setup, &authority);
        let receiver = Upstream::https(&authority, &["127.0.0.1"]).await;
        receiver.reply(Reply::new(500));
        let mut site = Site::with(setup).await;
        let made = add(&site, &json!({"url": receiver.url("/in"), "events": ["approval.requested"]})).await;
        site.pause("/v1/items").await;
        receiver.received(1).await;
        let id = text(&made, "id").to_owned();
        until("the failure is noted", async || {
            (deliveries(&site, &id).await[0]["attempts"] == 1).then_some(())
        })
        .await;
        site.app.kill().await;
        site.app.sql("UPDATE deliveries SET next_at = 1");
        site.app.serve();
        let all = receiver.received(2).await;
        assert_eq!(all[0].header("px-delivery"), all[1].header("px-delivery"));
        assert_eq!(all[0].body, all[1].body);
    }
}

engines! {
    async fn an_address_that_is_not_https_or_not_public_is_refused(setup: Setup) {
        let site = Site::with(setup).await;
        for url in [
            "http://hooks.example.com/in",
            "http://127.0.0.1/in",
            "ftp://hooks.example.com/in",
            "hooks.example.com",
            "",
            "https://10.0.0.1/in",
            "https://169.254.169.254/latest",
            "https://[fd00::1]/in",
            "https://localhost.local/in",
            "https://user:pass@hooks.example.com/in",
            "https://hooks.example.com/in#part",
            "https://8.8.8.8:22/in",
        ] {
            let answer = site.owner.client.post("/admin/webhooks", &json!({"url": url})).send().await;
            assert_eq!(answer.problem(422, "invalid_field")["field"], "url", "{url}");
        }
        for (body, field) in [
            (json!({}), "url"),
            (json!({"url": "https://8.8.8.8/", "events": ["approval.made"]}), "events"),
            (json!({"url": "https://8.8.8.8/", "secret": "mine"}), "secret"),
            (json!({"url": "https://8.8.8.8/", "description": "x".repeat(501)}), "description"),
        ] {
            let answer = site.owner.client.post("/admin/webhooks", &body).send().await;
            assert_eq!(answer.problem(422, "invalid_field")["field"], field);
        }
        site.owner.client.call("POST", "/admin/webhooks").body("{").send().await.problem(400, "invalid_json");
        let list = site.owner.client.get("/admin/webhooks").send().await.expect(200).json();
        assert_eq!(list, json!({"webhooks": []}));
    }
}

engines! {
    async fn without_the_open_network_loopback_is_refused_too(setup: Setup) {
        let site = Site::with(setup.without("PX_EGRESS_ALLOW")).await;
        for url in ["https://127.0.0.1:8443/in", "https://localhost/in", "https://[::1]/in"] {
            let answer = site.owner.client.post("/admin/webhooks", &json!({"url": url})).send().await;
            assert_eq!(answer.problem(422, "invalid_field")["field"], "url", "{url}");
        }
    }
}

engines! {
    async fn an_endpoint_is_shown_changed_and_removed_and_its_secret_never_again(setup: Setup) {
        let site = Site::with(setup).await;
        let url = "https://8.8.8.8/in";
        let made =
            add(&site, &json!({"url": url, "events": ["approval.expired"], "description": "pager"})).await;
        let (id, secret) = (text(&made, "id").to_owned(), text(&made, "secret").to_owned());
        let path = format!("/admin/webhooks/{id}");
        let client = &site.owner.client;
        for answer in
            [client.get("/admin/webhooks").send().await.expect(200), client.get(&path).send().await.expect(200)]
        {
            answer.hides(&secret);
            assert!(answer.text().contains(url) && answer.text().contains("pager"));
        }
        let patched =
            client.patch(&path, &json!({"events": [], "enabled": false})).send().await.expect(200).json();
        assert_eq!(
            (&patched["events"], &patched["enabled"], &patched["url"]),
            (&json!([]), &json!(false), &json!(url))
        );
        client.patch(&path, &json!({"url": "http://8.8.8.8/"})).send().await.problem(422, "invalid_field");
        let rotated = client.post(&format!("{path}/rotate-secret"), &json!({})).send().await.expect(200).json();
        assert!(text(&rotated, "secret").starts_with("whsec_") && text(&rotated, "secret") != secret);
        assert!(client.get(&path).send().await.expect(200).json()["previous_secret_until"].is_string());
        assert_eq!(client.delete(&path).send().await.status, 204);
        for answer in [
            client.get(&path).send().await,
            client.patch(&path, &json!({})).send().await,
            client.delete(&path).send().await,
            client.post(&format!("{path}/rotate-secret"), &json!({})).send().await,
            client.get(&format!("{path}/deliveries")).send().await,
            client.get("/admin/webhooks/none").send().await,
            client.get("/admin/deliveries/none").send().await,
            client.post(&format!("/admin/deliveries/{id}/resend"), &json!({})).send().await,
        ] {
            answer.problem(404, "not_found");
        }
        site.app.anonymous().get("/admin/webhooks").send().await.problem(401, "unauthenticated");
        let kinds: Vec<String> = site.app.audit().await.iter().map(|row| text(row, "kind").to_owned()).collect();
        for kind in ["webhook.created", "webhook.changed", "webhook.secret_replaced", "webhook.removed"] {
            assert!(kinds.iter().any(|found| found == kind), "{kind}");
        }
    }
}

engines! {
    async fn the_command_line_does_the_same(setup: Setup) {
        let site = Site::with(setup).await;
        let app = &site.app;
        let made =
            app.cli_json(&["webhook", "add", "--url", "https://8.8.8.8/in", "--event", "approval.decided"]).await;
        let id = text(&made, "id");
        assert!(text(&made, "secret").starts_with("whsec_"));
        assert_eq!(app.cli_json(&["webhook", "list"]).await[0]["events"], json!(["approval.decided"]));
        assert_eq!(app.cli_json(&["webhook", "disable", id]).await["enabled"], false);
        assert_eq!(app.cli_json(&["webhook", "enable", id]).await["enabled"], true);
        assert!(text(&app.cli_json(&["webhook", "rotate-secret", id]).await, "secret").starts_with("whsec_"));
        assert_eq!(app.cli_json(&["webhook", "deliveries", "--webhook", id]).await, json!([]));
        app.cli(&["webhook", "resend", id]).await.expect(1);
        app.cli(&["webhook", "add", "--url", "http://8.8.8.8/in"]).await.expect(1);
        assert_eq!(app.cli_json(&["webhook", "remove", id, "--yes"]).await["removed"], id);
        assert_eq!(app.cli_json(&["webhook", "list"]).await, json!([]));
    }
}

engines! {
    async fn deliveries_are_listed_a_page_at_a_time_and_by_what_they_are(setup: Setup) {
        let site = Site::with(setup).await;
        // Nothing listens there, so they wait for their next attempt.
        let made = add(&site, &json!({"url": "https://127.0.0.1:9/in"})).await;
        let id = text(&made, "id");
        for path in ["/a", "/b", "/c"] {
            let txn = site.pause(path).await;
            site.agent.withdraw(&txn).await.expect(204);
        }
        let page = async |query: &str| {
            site.owner.client.get(&format!("/admin/deliveries?{query}")).send().await.expect(200).json()
        };
        let first = page("limit=4").await;
        assert_eq!(first["deliveries"].as_array().expect("a list").len(), 4);
        let rest = page(&format!("limit=4&before={}", text(&first, "next_before"))).await;
        assert_eq!(
            (rest["deliveries"].as_array().expect("a list").len(), &rest["next_before"]),
            (2, &Value::Null)
        );
        let some = page(&format!("event=approval.expired&status=pending&webhook_id={id}")).await;
        assert_eq!(some["deliveries"].as_array().expect("a list").len(), 3);
        for query in ["status=lost", "event=x", "before=1", "webhook_id=1", "txn_id=1"] {
            let answer = site.owner.client.get(&format!("/admin/deliveries?{query}")).send().await;
            answer.problem(422, "invalid_field");
        }
    }
}
