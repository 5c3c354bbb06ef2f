//! A person edits a pending request and approves it (`docs/reference/behavior/proxy.md#edits`).

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};

use crate::support::{HttpResponse, Person, SECRET, Setup, Site, until};

const BODY: &str = r#"{"amount":5000,"to":"acct_1"}"#;

/// A JSON request that waits for approval.
async fn pause(site: &Site, path: &str) -> String {
    let call = site.forward("POST", path).header("content-type", "application/json").header("x-mode", "fast");
    call.body(BODY).send().await.txn()
}

async fn show(person: &Person, txn: &str) -> Value {
    person.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json()
}

async fn digest(person: &Person, txn: &str) -> String {
    show(person, txn).await["digest"].as_str().unwrap().to_owned()
}

async fn edit(person: &Person, txn: &str, edit: Value) -> HttpResponse {
    person.decide(txn, "approve", &json!({"edit": edit})).await
}

/// The only request that waits for a person.
async fn waiting(site: &Site) -> String {
    until("a request waits", async || {
        let listed = site.owner.client.get("/approvals?state=pending").send().await.expect(200).json();
        listed["approvals"][0]["txn_id"].as_str().map(str::to_owned)
    })
    .await
}

/// A call that the agent holds open while `edited` approves it with a smaller amount; its answer.
async fn call_while_edited(site: &Site) -> HttpResponse {
    let call = site.forward("POST", "/held").header("prefer", "wait=30");
    let call = tokio::spawn(call.header("content-type", "application/json").body(BODY).send());
    let txn = waiting(site).await;
    edit(&site.owner, &txn, json!({"body": "{\"amount\":1}"})).await.expect(200);
    call.await.unwrap()
}

engines! {
    async fn the_edited_request_is_sent_and_its_agent_is_told_the_difference(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = pause(&site, "/pay?limit=10&keep=%7e").await;
        let asked = digest(&site.owner, &txn).await;
        let changes = json!({
            "body": r#"{"amount":50,"to":"acct_1"}"#,
            "query": [["keep", "~"], ["limit", "5"]],
            "headers": [["x-mode", null], ["x-note", "checked"]],
        });
        let body = json!({"edit": changes, "digest": asked, "reason": "less"});
        assert_eq!(site.owner.approve_with(&txn, &body).await["status"], "approved");
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!(outcome["response"]["status"], 200, "{outcome}");
        let [sent] = site.upstream.received(1).await.try_into().unwrap();
        assert_eq!((sent.text(), sent.target.as_str()), (r#"{"amount":50,"to":"acct_1"}"#, "/pay?keep=%7e&limit=5"));
        assert_eq!((sent.header("x-mode"), sent.header("x-note")), (None, Some("checked")));
        assert_eq!(sent.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
        // The agent is told.
        let difference = &outcome["edited"]["difference"];
        assert_eq!(difference["body_patch"], json!([{"op": "replace", "path": "/amount", "value": 50}]));
        assert_eq!(difference["query"], json!([{"name": "limit", "before": ["10"], "after": ["5"]}]));
        let headers = json!([
            {"name": "x-mode", "before": ["fast"], "after": []}, {"name": "x-note", "before": [], "after": ["checked"]},
        ]);
        assert_eq!(difference["headers"], headers);
        // Three records: as asked, as decided, as sent.
        let shown = show(&site.owner, &txn).await;
        let edited = &shown["edited"];
        assert_eq!((&edited["edits"], &edited["asked_body"]["content"]), (&json!(1), &json!(BODY)));
        assert!(edited["asked_target"].as_str().unwrap().ends_with("/pay?limit=10&keep=%7e"), "{edited}");
        let record = &edited["record"];
        assert_eq!(record["asked_digest"], asked);
        assert_eq!((&record["decided_digest"], &record["sent_digest"]), (&shown["digest"], &shown["digest"]));
        assert_ne!(shown["digest"], asked);
        let audit = site.app.audit().await;
        let told = audit.iter().find(|record| record["kind"] == "approval.edited").unwrap();
        let detail = &told["detail"];
        assert_eq!((&detail["digest_before"], &detail["digest"]), (&json!(asked), &shown["digest"]));
        assert_eq!(detail["parts"], json!(["body", "query", "headers"]));
        assert!(told["actor"].as_str().unwrap().starts_with("user:"), "{told}");
        assert!(!told.to_string().contains("acct_1"), "texts stay out of the trail");
    }

    async fn an_edit_voids_earlier_votes_and_the_others_approve_what_they_read(setup: Setup) {
        let site = Site::with(setup).await;
        let second = site.app.admin("second@people.example").await;
        site.policy(&json!({"min_approvals": 2})).await;
        let txn = pause(&site, "/pay").await;
        let asked = digest(&site.owner, &txn).await;
        second.approve(&txn).await;
        // Somebody who voted may edit as well; their own vote is among those that fall.
        let decided = edit(&site.owner, &txn, json!({"body": "{\"amount\":1}"})).await.expect(200).json();
        assert_eq!((&decided["status"], &decided["approvals"]), (&json!("pending"), &json!(1)));
        let shown = show(&second, &txn).await;
        assert_eq!(shown["votes"].as_array().unwrap().len(), 1);
        assert_eq!(shown["edited"]["record"]["difference"]["body_patch"][0]["op"], "replace");
        // Neither without a digest nor with the old one.
        second.decide(&txn, "approve", &json!({})).await.problem(409, "request_changed");
        second.decide(&txn, "approve", &json!({"digest": asked})).await.problem(409, "request_changed");
        let stale = json!({"digest": asked, "edit": {"body": "{}"}});
        second.decide(&txn, "approve", &stale).await.problem(409, "request_changed");
        assert_eq!(site.agent.poll(&txn).await["status"], "pending");
        assert_eq!(site.upstream.requests().len(), 0);
        // A second edit starts again, from the edited request.
        let now = shown["digest"].clone();
        let again = json!({"digest": now, "edit": {"body": "{\"amount\":2}"}});
        assert_eq!(second.approve_with(&txn, &again).await["approvals"], 1);
        let now = digest(&site.owner, &txn).await;
        assert_eq!(site.owner.approve_with(&txn, &json!({"digest": now})).await["status"], "approved");
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!(site.upstream.received(1).await[0].text(), "{\"amount\":2}");
        assert_eq!(outcome["edited"]["asked_digest"], asked);
    }

    async fn an_edited_request_is_among_several_only_with_its_digest(setup: Setup) {
        let site = Site::with(setup).await;
        let second = site.app.admin("second@people.example").await;
        site.policy(&json!({"min_approvals": 2})).await;
        let txn = pause(&site, "/pay").await;
        let asked = digest(&site.owner, &txn).await;
        edit(&site.owner, &txn, json!({"body": "{\"amount\":1}"})).await.expect(200);
        let decide = async |seen: Option<&str>| {
            let mut item = json!({"txn_id": txn, "verdict": "approve"});
            if let Some(seen) = seen {
                item["digest"] = json!(seen);
            }
            let list = json!({"decisions": [item]});
            let answer = second.client.post("/approvals/decide", &list).send().await.expect(200).json();
            answer["results"][0].clone()
        };
        for seen in [None, Some(asked.as_str())] {
            assert_eq!(decide(seen).await["problem"]["code"], "request_changed", "{seen:?}");
        }
        let now = digest(&second, &txn).await;
        assert_eq!(decide(Some(&now)).await["outcome"]["status"], "approved");
        site.agent.outcome(&txn).await;
        assert_eq!(site.upstream.received(1).await[0].text(), "{\"amount\":1}");
    }

    async fn a_refused_edit_says_what_to_change_and_nothing_is_lost(setup: Setup) {
        let site = Site::with(setup.env("PX_PENDING_BODY_MAX_BYTES", "1000")).await;
        let second = site.app.admin("second@people.example").await;
        site.policy(&json!({"min_approvals": 2, "content_rules": ["/pay json /amount <= 9000 else deny"]})).await;
        let txn = pause(&site, "/pay?limit=10").await;
        let before = show(&site.owner, &txn).await;
        second.approve(&txn).await;
        for (changes, named, said) in [
            (json!({"body": "{\"amount\":9001}"}), "edit", "policy denies"),
            (json!({"body": BODY}), "edit", "changes nothing"),
            (json!({}), "edit", "changes nothing"),
            (json!({"body": "x".repeat(1001)}), "edit.body", "at most 1000 bytes"),
            (json!({"body": SECRET}), "edit.body", "secret"),
            (json!({"query": [["a", SECRET]]}), "edit.query", "secret"),
            (json!({"query": [["a", "x".repeat(9000)]]}), "edit.query", "8192"),
            (json!({"headers": [["authorization", "Bearer x"]]}), "edit.headers", "the credential sets"),
            (json!({"headers": [["X_Authorization", SECRET]]}), "edit.headers", "secret"),
            (json!({"headers": [["host", "evil.example"]]}), "edit.headers", "not forwarded"),
            (json!({"headers": [["x-px-key", "k"]]}), "edit.headers", "not forwarded"),
            (json!({"headers": [["x-http-method-override", "PUT"]]}), "edit.headers", "not forwarded"),
            (json!({"headers": [["cookie", "a=b"]]}), "edit.headers", "not forwarded"),
            (json!({"headers": [["content-length", "3"]]}), "edit.headers", "not forwarded"),
            (json!({"headers": [["x-note", "a\r\nx-other: b"]]}), "edit.headers", "line end"),
            (json!({"headers": [["bad name", "x"]]}), "edit.headers", "not that of an HTTP header"),
        ] {
            let problem = edit(&site.owner, &txn, changes.clone()).await.problem(422, "invalid_field");
            assert_eq!(problem["field"], named, "{changes} {problem}");
            assert!(problem["detail"].as_str().unwrap().contains(said), "{changes} {problem}");
        }
        for unknown in [json!({"path": "/x"}), json!({"method": "GET"}), json!({"credential": "other"})] {
            edit(&site.owner, &txn, unknown).await.problem(422, "invalid_field");
        }
        let grant = json!({"edit": {"body": "{}"}, "grant_seconds": 900});
        site.owner.decide(&txn, "approve", &grant).await.problem(422, "invalid_field");
        let after = show(&site.owner, &txn).await;
        assert_eq!((&after["digest"], &after["body"]), (&before["digest"], &before["body"]));
        assert_eq!(after["votes"].as_array().unwrap().len(), 1, "the earlier vote still stands");
        assert_eq!(after["edited"], Value::Null);
        assert_eq!(site.owner.approve(&txn).await["status"], "approved");
        site.agent.outcome(&txn).await;
        assert_eq!(site.upstream.received(1).await[0].text(), BODY);
        assert!(!site.app.audit().await.iter().any(|record| record["kind"] == "approval.edited"));
    }

    async fn an_edit_passes_the_allowed_hosts_and_the_policy_as_they_are_now(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = pause(&site, "/pay").await;
        site.policy(&json!({"deny_urls": ["/pay"]})).await;
        let problem = edit(&site.owner, &txn, json!({"body": "{}"})).await.problem(422, "invalid_field");
        assert!(problem["detail"].as_str().unwrap().contains("policy"), "{problem}");
        site.policy(&json!({})).await;
        let hosts = json!({"allowed_hosts": ["other.example"]});
        site.owner.client.patch("/admin/credentials/api", &hosts).send().await.expect(200);
        let problem = edit(&site.owner, &txn, json!({"body": "{}"})).await.problem(422, "invalid_field");
        assert!(problem["detail"].as_str().unwrap().contains("host is not allowed"), "{problem}");
        let shown = show(&site.owner, &txn).await;
        assert_eq!((&shown["status"], &shown["body"]["content"]), (&json!("pending"), &json!(BODY)));
        assert_eq!(site.upstream.requests().len(), 0);
    }

    async fn an_edit_passes_the_egress_guard_as_it_is_now(setup: Setup) {
        let mut site = Site::with(setup).await;
        let txn = pause(&site, "/pay").await;
        site.app.restart_with(|setup| setup.without("PX_EGRESS_ALLOW")).await;
        let problem = edit(&site.owner, &txn, json!({"body": "{}"})).await.problem(422, "invalid_field");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with("edit: the edited request cannot be sent: target is not allowed"), "{problem}");
        let shown = show(&site.owner, &txn).await;
        assert_eq!((&shown["status"], &shown["body"]["content"]), (&json!("pending"), &json!(BODY)));
        assert!(shown["votes"].as_array().is_none_or(Vec::is_empty), "{shown}");
        assert!(site.upstream.requests().is_empty());
    }

    async fn a_response_and_a_failure_of_an_edited_request_say_so(setup: Setup) {
        let site = Site::with(setup).await;
        let answer = call_while_edited(&site).await.forwarded(200);
        assert_eq!(answer.header("px-edited"), Some("true"));
        site.upstream.reply_with(|_| Reply::abort());
        let failed = call_while_edited(&site).await;
        assert_eq!(failed.header("px-edited"), Some("true"));
        failed.problem(502, "outcome_unknown");
        // What no one edited does not say so, and neither can an upstream.
        site.upstream.reply_with(|_| Reply::ok("ok").header("px-edited", "true"));
        let txn = pause(&site, "/plain").await;
        site.owner.approve(&txn).await;
        let outcome = site.agent.outcome(&txn).await;
        assert!(outcome.get("edited").is_none(), "{outcome}");
        assert!(!outcome["response"]["headers"].to_string().contains("px-edited"), "{outcome}");
    }

    async fn the_same_request_of_the_agent_joins_the_edited_one(setup: Setup) {
        let site = Site::with(setup).await;
        let second = site.app.admin("second@people.example").await;
        site.policy(&json!({"min_approvals": 2})).await;
        let txn = pause(&site, "/pay").await;
        edit(&site.owner, &txn, json!({"body": "{}"})).await.expect(200);
        assert_eq!(pause(&site, "/pay").await, txn);
        second.deny(&txn, "no").await;
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!((&outcome["status"], &outcome["edited"]["sent_digest"]), (&json!("denied"), &Value::Null));
        assert_eq!(site.upstream.requests().len(), 0);
    }

    async fn what_is_not_text_or_not_a_request_is_not_edited(setup: Setup) {
        let site = Site::with(setup).await;
        let call = site.forward("POST", "/upload").body(&b"\xff\x00binary"[..]);
        let txn = call.send().await.txn();
        let problem = edit(&site.owner, &txn, json!({"body": "text"})).await.problem(422, "invalid_field");
        assert!(problem["detail"].as_str().unwrap().contains("binary"), "{problem}");
        let call = site.forward("POST", "/gzip").header("content-encoding", "gzip").body("text");
        let txn = call.send().await.txn();
        edit(&site.owner, &txn, json!({"body": "text 2"})).await.problem(422, "invalid_field");
        // Its query and headers can be.
        edit(&site.owner, &txn, json!({"query": [["a", "1"]]})).await.expect(200);
        let key = json!({"name": "treasury", "auth": {"kind": "signing_key", "algorithm": "ed25519"}});
        site.owner.add_credential(&key).await;
        let payload = json!({"payload": "00", "algorithm": "ed25519"});
        let txn = site.agent.client.post("/sign", &payload).header("x-px-credential", "treasury").send().await.txn();
        let problem = edit(&site.owner, &txn, json!({"body": "{}"})).await.problem(422, "invalid_field");
        assert!(problem["detail"].as_str().unwrap().contains("sign"), "{problem}");
        // The agent's text contains a stored secret, which the approver cannot see.
        let txn = site.forward("POST", "/leak").body(format!("key={SECRET}&a=1")).send().await.txn();
        let problem = edit(&site.owner, &txn, json!({"body": "a=2"})).await.problem(422, "invalid_field");
        assert!(problem["detail"].as_str().unwrap().contains("not shown"), "{problem}");
    }

    async fn only_those_who_may_decide_may_edit(setup: Setup) {
        let site = Site::with(setup).await;
        let body = json!({"email": "mem@people.example", "role": "member", "credentials": []});
        site.owner.client.post("/admin/members", &body).send().await.expect(201);
        let member = site.app.sign_in("mem@people.example").await;
        let txn = pause(&site, "/pay").await;
        let before = digest(&site.owner, &txn).await;
        edit(&member, &txn, json!({"body": "{}"})).await.problem(403, "not_eligible");
        // A passkey that is missing undoes the edit as well.
        site.policy(&json!({"passkey_required": true})).await;
        edit(&site.owner, &txn, json!({"body": "{}"})).await.problem(412, "passkey_required");
        assert_eq!(digest(&site.owner, &txn).await, before);
        site.owner.deny(&txn, "no").await;
        edit(&site.owner, &txn, json!({"body": "{}"})).await.problem(409, "already_decided");
    }
}
