//! The exact responses, row by row (`docs/reference/behavior/proxy.md#approvals-api`).

use pyxis_testkit::engines;
use serde_json::json;

use super::tokens::token;
use crate::support::{Setup, Site};

engines! {
    async fn every_answer_of_the_approvals_api_is_as_decided(setup: Setup) {
        let site = Site::with(setup).await;
        let made = token(&site.owner, "page", &["px:approve"]).await;
        let page = site.app.person(made["token"].as_str().unwrap());
        // 404, also for anything that is not an id.
        for txn in ["7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11", "none"] {
            page.decide(txn, "approve", &json!({})).await.problem(404, "not_found");
            page.client.get(&format!("/approvals/{txn}")).send().await.problem(404, "not_found");
        }
        // 422: a manager's grant through the API lasts 900 to 86400 seconds.
        let txn = site.pause("/a").await;
        for seconds in [0, 1, 899, 86_401] {
            let body = json!({"grant_seconds": seconds});
            page.decide(&txn, "approve", &body).await.problem(422, "invalid_field");
        }
        page.decide(&txn, "approve", &json!({"grant_seconds": "900"})).await.problem(422, "invalid_field");
        page.decide(&txn, "approve", &json!({"grant": 900})).await.problem(422, "invalid_field");
        // 200, and the grant serves the asking agent only.
        let body = json!({"grant_seconds": 86_400, "agent_only": true, "reason": "as every month"});
        let answer = page.approve_with(&txn, &body).await;
        assert_eq!((&answer["status"], &answer["approvals"], &answer["min_approvals"]), (&json!("approved"), &json!(1), &json!(1)));
        let grants = site.owner.grants().await;
        assert!(grants[0]["agent_id"].is_string(), "{grants:?}");
        let shown = page.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
        assert_eq!(shown["votes"][0]["reason"], "as every month");
        let told = site.app.audit().await.into_iter().find(|record| record["kind"] == "approval.approved");
        assert!(told.unwrap()["detail"].to_string().contains("as every month"));
        // 409 after a decision, and for a second vote of the same person.
        for verb in ["approve", "deny"] {
            page.decide(&txn, verb, &json!({})).await.problem(409, "already_decided");
        }
        let bo = site.app.admin("bo@people.example").await;
        site.policy(&json!({"min_approvals": 2})).await;
        let txn = site.pause("/b").await;
        assert_eq!(page.approve(&txn).await, json!({"status": "pending", "approvals": 1, "min_approvals": 2}));
        page.decide(&txn, "approve", &json!({})).await.problem(409, "already_decided");
        bo.decide(&txn, "approve", &json!({"grant_seconds": 1800})).await.problem(422, "invalid_field");
        assert_eq!(bo.deny(&txn, "no").await["status"], "denied");
        // 412 with the URL of the ceremony.
        site.policy(&json!({"passkey_required": true})).await;
        let txn = site.pause("/c").await;
        let refused = page.decide(&txn, "approve", &json!({})).await;
        assert_eq!(refused.header("location"), Some(format!("{}/approve/{txn}", base(&site)).as_str()));
        let refused = refused.problem(412, "passkey_required");
        assert_eq!(refused["url"], format!("{}/approve/{txn}", base(&site)));
        let shown = page.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
        assert_eq!((&shown["passkey_required"], &shown["min_approvals"]), (&json!(true), &json!(1)));
        // No body at all asks for nothing in particular.
        let bare = page.client.call("POST", &format!("/approvals/{txn}/approve")).send().await;
        bare.problem(412, "passkey_required");
        // A denial needs none.
        assert_eq!(page.deny(&txn, "not now").await["status"], "denied");
    }

    async fn what_a_grant_would_have_covered_is_told_where_one_can_be_opened(setup: Setup) {
        let site = Site::with(setup).await;
        let show = async |txn: &str| {
            site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json()
        };
        let first = site.pause("/a?page=1").await;
        site.owner.deny(&first, "no").await;
        assert_eq!(show(&first).await["grant_coverage"], json!(null), "it is decided");
        site.pause("/b").await;
        let txn = site.pause("/a?page=2").await;
        let covered = json!({"looked_at": 3, "covered": 2, "agents": ["default-agent"]});
        assert_eq!(show(&txn).await["grant_coverage"], covered);
        let listed = site.owner.client.get("/approvals").send().await.expect(200).json();
        assert_eq!(listed["approvals"][0]["grant_coverage"], json!(null), "not in lists");
        site.app.admin("bo@people.example").await;
        for policy in [json!({"min_approvals": 2}), json!({"require_approval_urls": ["/c"]})] {
            site.policy(&policy).await;
            let txn = site.pause(&format!("/c?{}", policy["min_approvals"])).await;
            assert_eq!(show(&txn).await["grant_coverage"], json!(null), "{policy}");
        }
    }

    async fn what_waits_is_listed_page_by_page_newest_first(setup: Setup) {
        let site = Site::with(setup).await;
        let mut asked = Vec::new();
        for n in 0..5 {
            asked.push(site.pause(&format!("/{n}")).await);
        }
        asked.reverse();
        let (mut seen, mut before) = (Vec::new(), String::new());
        loop {
            let page = site.owner.client.get(&format!("/approvals?limit=2{before}")).send().await.expect(200).json();
            let ids = page["approvals"].as_array().unwrap();
            seen.extend(ids.iter().map(|one| one["txn_id"].as_str().unwrap().to_owned()));
            let Some(next) = page["next_before"].as_str() else { break };
            before = format!("&before={next}");
        }
        seen.sort();
        asked.sort();
        assert_eq!(seen, asked);
        site.owner.client.get("/approvals?before=none").send().await.problem(404, "not_found");
        site.owner.client.get("/approvals?state=maybe").send().await.problem(422, "invalid_field");
    }

    async fn a_member_grants_exactly_half_an_hour(setup: Setup) {
        let site = Site::with(setup).await;
        let body = json!({
            "email": "mem@people.example", "role": "member", "credentials": [{"name": "api", "approve": true}],
        });
        site.owner.client.post("/admin/members", &body).send().await.expect(201);
        let member = site.app.sign_in("mem@people.example").await;
        let txn = site.pause("/a").await;
        for seconds in [900, 1799, 1801, 3600] {
            let body = json!({"grant_seconds": seconds});
            member.decide(&txn, "approve", &body).await.problem(422, "invalid_field");
        }
        member.approve_with(&txn, &json!({"grant_seconds": 1800})).await;
        assert_eq!(site.owner.grants().await.len(), 1);
    }
}

fn base(site: &Site) -> String {
    format!("http://localhost:{}", site.app.address().port())
}
