//! Several decisions in one request (`docs/reference/behavior/proxy.md#approvals-api`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::tokens::token;
use crate::support::{HttpResponse, Person, SECRET, Setup, Site};

/// Sends a list of decisions.
async fn send(person: &Person, decisions: &Value) -> HttpResponse {
    person.client.post("/approvals/decide", &json!({"decisions": decisions})).send().await
}

/// The results of a list that is not refused as a whole.
async fn decide(person: &Person, decisions: &Value) -> Vec<Value> {
    let answer = send(person, decisions).await.expect(200).json();
    let results = answer["results"].as_array().expect("a list").clone();
    let asked = decisions.as_array().expect("a list");
    assert_eq!(results.len(), asked.len());
    for (result, asked) in results.iter().zip(asked) {
        assert_eq!(result["txn_id"], asked["txn_id"], "in the order of the request");
        let is_problem = result["status"] != 200;
        assert_eq!((result["outcome"].is_null(), result["problem"].is_null()), (is_problem, !is_problem));
    }
    results
}

fn approve(txn: &str) -> Value {
    json!({"txn_id": txn, "verdict": "approve"})
}

fn deny(txn: &str, reason: &str) -> Value {
    json!({"txn_id": txn, "verdict": "deny", "reason": reason})
}

/// Status and code of a result's problem, which says the same as its own response would.
fn problem(result: &Value) -> (u64, &str) {
    assert_eq!(result["problem"]["status"], result["status"]);
    assert_eq!(result["problem"]["type"], "about:blank");
    (result["status"].as_u64().expect("a status"), result["problem"]["code"].as_str().expect("a code"))
}

async fn state(site: &Site, txn: &str) -> Value {
    site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json()["status"].clone()
}

/// A member who may approve requests of `api`.
async fn member(site: &Site, email: &str) -> Person {
    let rights = json!([{"name": "api", "approve": true}]);
    let body = json!({"email": email, "role": "member", "credentials": rights});
    site.owner.client.post("/admin/members", &body).send().await.expect(201);
    site.app.sign_in(email).await
}

engines! {
    async fn several_requests_are_decided_and_each_gets_its_own_answer(setup: Setup) {
        let site = Site::with(setup).await;
        let (one, two) = (site.pause("/one").await, site.pause("/two").await);
        let (done, unknown) = (site.pause("/done").await, "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11");
        site.owner.deny(&done, "no").await;
        let list = json!([approve(&two), approve(unknown), deny(&one, "not today"), approve(&done), approve("none")]);
        let results = decide(&site.owner, &list).await;
        let approved = json!({"status": "approved", "approvals": 1, "min_approvals": 1});
        assert_eq!(results[0], json!({"txn_id": two, "status": 200, "outcome": approved}));
        assert_eq!(problem(&results[1]), (404, "not_found"));
        let denied = json!({"status": "denied", "approvals": 0, "min_approvals": 1});
        assert_eq!(results[2], json!({"txn_id": one, "status": 200, "outcome": denied}));
        assert_eq!(problem(&results[3]), (409, "already_decided"));
        assert_eq!(results[3]["problem"]["state"], "denied");
        assert_eq!(problem(&results[4]), (404, "not_found"));
        assert_eq!(site.agent.outcome(&two).await["status"], "approved");
        let told = site.agent.outcome(&one).await;
        assert_eq!((&told["status"], &told["reason"]), (&json!("denied"), &json!("not today")));
        // Once more: nothing is sent again.
        let again = decide(&site.owner, &list).await;
        assert_eq!((problem(&again[0]), problem(&again[2])), ((409, "already_decided"), (409, "already_decided")));
        let paths: Vec<String> = site.upstream.requests().iter().map(|request| request.target.clone()).collect();
        assert_eq!(paths, ["/two"]);
    }

    async fn a_list_that_breaks_a_rule_is_refused_as_a_whole(setup: Setup) {
        let site = Site::with(setup).await;
        let (one, two) = (site.pause("/one").await, site.pause("/two").await);
        let too_many: Vec<Value> = (0..101).map(|n| approve(&format!("none-{n}"))).collect();
        for list in [
            json!([]),
            json!([approve(&one), approve(&two), approve(&one)]),
            json!([approve(&one), deny(&one.to_uppercase(), "the same in capitals")]),
            json!([approve(&one), {"txn_id": two, "verdict": "postpone"}]),
            json!([approve(&one), {"txn_id": two, "verdict": ""}]),
            Value::Array(too_many),
        ] {
            send(&site.owner, &list).await.problem(400, "invalid_decisions");
        }
        // There is no grant for several requests, and nothing that approves what is not named.
        for extra in ["grant_seconds", "agent_only", "max_uses"] {
            let mut item = approve(&one);
            item[extra] = json!(1800);
            send(&site.owner, &json!([item, approve(&two)])).await.problem(422, "invalid_field");
            let body = json!({"decisions": [approve(&one)], extra: 1800});
            site.owner.client.post("/approvals/decide", &body).send().await.problem(422, "invalid_field");
        }
        for body in [json!({}), json!({"all": true}), json!({"decisions": "all"}), json!({"decisions": [{"txn_id": one}]})] {
            site.owner.client.post("/approvals/decide", &body).send().await.problem(422, "invalid_field");
        }
        site.owner.client.call("POST", "/approvals/decide").body("no JSON").send().await.problem(400, "invalid_json");
        assert_eq!((state(&site, &one).await, state(&site, &two).await), (json!("pending"), json!("pending")));
        assert_eq!(site.owner.grants().await, Vec::<Value>::new());
    }

    async fn a_hundred_requests_fit_into_one_list(setup: Setup) {
        let site = Site::with(setup).await;
        site.owner.lift_pending_limits().await;
        let mut list = Vec::new();
        for n in 0..100 {
            let txn = site.pause(&format!("/{n}")).await;
            list.push(if n % 2 == 0 { approve(&txn) } else { deny(&txn, "odd") });
        }
        let results = decide(&site.owner, &Value::Array(list.clone())).await;
        for (n, result) in results.iter().enumerate() {
            let expected = if n % 2 == 0 { "approved" } else { "denied" };
            assert_eq!((&result["status"], &result["outcome"]["status"]), (&json!(200), &json!(expected)), "{result}");
        }
        for item in list.iter().step_by(2) {
            site.agent.outcome(item["txn_id"].as_str().unwrap()).await;
        }
        assert_eq!(site.upstream.requests().len(), 50);
    }

    async fn a_reason_is_redacted_and_a_bad_one_fails_alone(setup: Setup) {
        let site = Site::with(setup).await;
        let (one, two, three) = (site.pause("/one").await, site.pause("/two").await, site.pause("/three").await);
        let noted = json!({"txn_id": three, "verdict": "approve", "reason": format!("as agreed, {SECRET}")});
        let list = json!([deny(&one, &format!("do not use {SECRET}")), deny(&two, &"x".repeat(2001)), noted]);
        let results = decide(&site.owner, &list).await;
        assert_eq!(results[0]["outcome"]["status"], "denied");
        assert_eq!((problem(&results[1]), &results[1]["problem"]["field"]), ((422, "invalid_field"), &json!("reason")));
        assert_eq!(results[2]["outcome"]["status"], "approved");
        let told = site.agent.outcome(&one).await;
        assert!(told["reason"].as_str().unwrap().starts_with("do not use ["), "{told}");
        assert_eq!(state(&site, &two).await, "pending");
        let audit = format!("{:?}", site.app.audit().await);
        assert!(audit.contains("as agreed") && !audit.contains("sk-canary"), "{audit}");
    }

    async fn a_person_decides_what_they_may_and_nothing_else_of_the_list(setup: Setup) {
        let site = Site::with(setup).await;
        site.credential("other", &json!({"auth": {"kind": "bearer"}, "secret": "another-secret"})).await;
        let member = member(&site, "mem@people.example").await;
        let mine = site.pause("/mine").await;
        let theirs = site.agent.forward("other", "POST", &site.upstream.url("/theirs")).send().await.txn();
        let results = decide(&member, &json!([approve(&theirs), approve(&mine)])).await;
        assert_eq!(problem(&results[0]), (403, "not_eligible"));
        assert_eq!(results[1]["outcome"]["status"], "approved");
        assert_eq!(state(&site, &theirs).await, "pending");
    }

    async fn a_quorum_counts_one_voice_of_each_person(setup: Setup) {
        let site = Site::with(setup).await;
        let bo = site.app.admin("bo@people.example").await;
        site.policy(&json!({"min_approvals": 2})).await;
        let (one, two) = (site.pause("/one").await, site.pause("/two").await);
        let list = json!([approve(&one), approve(&two)]);
        for result in decide(&site.owner, &list).await {
            assert_eq!(result["outcome"], json!({"status": "pending", "approvals": 1, "min_approvals": 2}));
        }
        for result in decide(&site.owner, &list).await {
            assert_eq!(problem(&result), (409, "already_decided"));
            assert_eq!(result["problem"]["state"], "pending");
        }
        let results = decide(&bo, &json!([deny(&one, "no"), approve(&two)])).await;
        assert_eq!(results[0]["outcome"]["status"], "denied");
        assert_eq!(results[1]["outcome"], json!({"status": "approved", "approvals": 2, "min_approvals": 2}));
    }

    async fn an_expired_request_and_one_that_needs_a_passkey_stop_no_other(setup: Setup) {
        let site = Site::with(setup.env("PX_APPROVAL_TIMEOUT_SECS", "1")).await;
        let expired = site.pause("/expired").await;
        site.agent.outcome(&expired).await;
        site.policy(&json!({"passkey_required": true, "approval_timeout_secs": 600})).await;
        let (locked, denied) = (site.pause("/locked").await, site.pause("/denied").await);
        site.policy(&json!({"approval_timeout_secs": 600})).await;
        let open = site.pause("/open").await;
        let list = json!([approve(&expired), approve(&locked), deny(&denied, "a denial needs no passkey"), approve(&open)]);
        let results = decide(&site.owner, &list).await;
        assert_eq!((problem(&results[0]), &results[0]["problem"]["state"]), ((409, "already_decided"), &json!("expired")));
        assert_eq!(problem(&results[1]), (412, "passkey_required"));
        assert!(results[1]["problem"]["url"].as_str().unwrap().ends_with(&format!("/approve/{locked}")));
        assert_eq!(results[2]["outcome"]["status"], "denied");
        assert_eq!(results[3]["outcome"]["status"], "approved");
        assert_eq!(state(&site, &locked).await, "pending");
    }

    async fn a_token_with_approve_decides_several_and_no_one_else_gets_in(setup: Setup) {
        let site = Site::with(setup).await;
        let made = token(&site.owner, "list page", &["px:approve"]).await;
        let page = site.app.person(made["token"].as_str().unwrap());
        let (one, two) = (site.pause("/one").await, site.pause("/two").await);
        let admin = token(&site.owner, "admin", &["px:admin"]).await;
        let admin = site.app.person(admin["token"].as_str().unwrap());
        send(&admin, &json!([approve(&one)])).await.problem(403, "insufficient_scope");
        let nobody = site.app.person("no token");
        send(&nobody, &json!([approve(&one)])).await.problem(401, "unauthenticated");
        for result in decide(&page, &json!([approve(&one), approve(&two)])).await {
            assert_eq!(result["outcome"]["status"], "approved");
        }
        let audit = site.app.audit().await;
        let approved: Vec<_> = audit.iter().filter(|record| record["kind"] == "approval.approved").collect();
        assert_eq!(approved.len(), 2);
        assert!(approved.iter().all(|record| record["detail"].to_string().contains("list page")), "{approved:?}");
    }
}
