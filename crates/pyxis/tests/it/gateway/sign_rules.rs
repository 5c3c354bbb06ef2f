//! The rules for every agent request hold here too (`docs/reference/signing.md#request`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::client::Call;
use crate::support::{Agent, Setup, Site, in_one_hour, until};

async fn site(setup: Setup) -> Site {
    let site = Site::bare(setup).await;
    let body = json!({"name": "treasury", "auth": {"kind": "signing_key", "algorithm": "ed25519"}});
    site.owner.add_credential(&body).await;
    site
}

fn payload(hex: &str) -> Value {
    json!({"payload": hex, "algorithm": "ed25519"})
}

fn sign_call(agent: &Agent, hex: &str) -> Call {
    agent.client.post("/sign", &payload(hex)).header("x-px-credential", "treasury")
}

async fn pending(site: &Site) -> String {
    until("a pending signature", async || {
        let list = site.owner.client.get("/approvals?state=pending").send().await.expect(200).json();
        list["approvals"][0]["txn_id"].as_str().map(str::to_owned)
    })
    .await
}

engines! {
    async fn signatures_and_forwards_share_one_hourly_budget(setup: Setup) {
        in_one_hour(setup, async |setup| {
            let site = site(setup).await;
            site.credential("api", &json!({"auth": {"kind": "bearer"}, "secret": "s"})).await;
            let made = site.owner.add_agent(&json!({"name": "two", "credentials": "all", "rate_limit_per_hour": 2})).await;
            let agent = site.app.agent(made["key"].as_str().unwrap());
            // A request with invalid control headers does not count.
            agent.client.post("/sign", &payload("00")).send().await.problem(400, "missing_header");
            let txn = sign_call(&agent, "00").send().await.txn();
            agent.forward("api", "GET", &site.upstream.url("/")).send().await.forwarded(200);
            let refused = sign_call(&agent, "01").send().await;
            assert_eq!(refused.header("ratelimit-limit"), Some("2"));
            refused.problem(429, "rate_limited");
            agent.forward("api", "GET", &site.upstream.url("/")).send().await.problem(429, "rate_limited");
            // Neither does polling, and a 429 created no transaction.
            assert_eq!(agent.poll(&txn).await["status"], "pending");
            let list = site.owner.client.get("/approvals?state=pending").send().await.expect(200).json();
            assert_eq!(list["approvals"].as_array().unwrap().len(), 1);
        })
        .await;
    }

    async fn an_idempotency_key_stands_for_one_signature(setup: Setup) {
        let site = site(setup).await;
        let keyed = |hex: &str| sign_call(&site.agent, hex).header("idempotency-key", "k").send();
        let txn = keyed("00").await.txn();
        assert_eq!(keyed("00").await.txn(), txn);
        keyed("01").await.problem(422, "idempotency_key_reused");
        site.owner.approve(&txn).await;
        let outcome = site.agent.outcome(&txn).await;
        let again = keyed("00").await.forwarded(200);
        assert_eq!(Value::String(again.text()), outcome["response"]["body"]);
    }

    async fn who_prefers_to_wait_gets_the_signature_or_the_refusal(setup: Setup) {
        let site = site(setup).await;
        let waiting = tokio::spawn(sign_call(&site.agent, "00").header("prefer", "wait=30").send());
        site.owner.approve(&pending(&site).await).await;
        let signed = waiting.await.unwrap().forwarded(200).json();
        assert_eq!(signed["algorithm"], "ed25519");
        let waiting = tokio::spawn(sign_call(&site.agent, "01").header("prefer", "wait=30").send());
        site.owner.deny(&pending(&site).await, "not this one").await;
        assert_eq!(waiting.await.unwrap().problem(403, "approval_denied")["reason"], "not this one");
        sign_call(&site.agent, "02").header("prefer", "wait=0").send().await.txn();
    }

    async fn two_approvers_and_passkeys_are_asked_for_as_the_policy_says(setup: Setup) {
        let site = site(setup).await;
        let bo = site.app.admin("bo@people.example").await;
        site.owner.set_policy("treasury", &json!({"min_approvals": 2})).await;
        let txn = sign_call(&site.agent, "00").send().await.txn();
        let first = site.owner.approve(&txn).await;
        assert_eq!(first, json!({"status": "pending", "approvals": 1, "min_approvals": 2}));
        assert_eq!(site.agent.poll(&txn).await["status"], "pending");
        assert_eq!(bo.approve(&txn).await["status"], "approved");
        assert_eq!(site.agent.outcome(&txn).await["response"]["status"], 200);
        site.owner.set_policy("treasury", &json!({"passkey_required": true})).await;
        let txn = sign_call(&site.agent, "01").send().await.txn();
        site.owner.decide(&txn, "approve", &json!({})).await.problem(412, "passkey_required");
        assert_eq!(site.agent.poll(&txn).await["status"], "pending");
    }
}
