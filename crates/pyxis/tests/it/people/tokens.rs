//! Personal access tokens (`docs/reference/behavior/proxy.md#tokens`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{App, Person, Setup, Site};

/// A token of `person`; the response has `id` and `token`.
pub(super) async fn token(person: &Person, name: &str, scopes: &[&str]) -> Value {
    let body = json!({"name": name, "scopes": scopes});
    person.client.post("/admin/tokens", &body).send().await.expect(201).json()
}

fn bearer(app: &App, token: &Value) -> Person {
    app.person(token["token"].as_str().unwrap())
}

engines! {
    async fn a_token_with_approve_decides_and_the_audit_names_it(setup: Setup) {
        let site = Site::with(setup).await;
        let made = token(&site.owner, "approval page", &["px:approve"]).await;
        assert_eq!(made["scopes"], json!(["px:approve"]));
        let page = bearer(&site.app, &made);
        let txn = site.pause("/orders").await;
        let listed = page.client.get("/approvals?state=pending").send().await.expect(200).json();
        assert_eq!(listed["approvals"][0]["txn_id"], txn.as_str());
        let shown = page.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
        assert_eq!(shown["body"]["content"], "a body to approve");
        let answer = page.approve(&txn).await;
        assert_eq!(answer, json!({"status": "approved", "approvals": 1, "min_approvals": 1}));
        let audit = site.app.audit().await;
        let approved = audit.iter().find(|record| record["kind"] == "approval.approved").unwrap();
        let detail = approved["detail"].to_string();
        assert!(detail.contains("\\\"surface\\\":\\\"api\\\"") || detail.contains("\"surface\":\"api\""), "{detail}");
        assert!(detail.contains("approval page"), "{detail}");
    }

    async fn a_scope_opens_its_own_doors_and_no_others(setup: Setup) {
        let site = Site::with(setup).await;
        let approve = bearer(&site.app, &token(&site.owner, "a", &["px:approve"]).await);
        let admin = bearer(&site.app, &token(&site.owner, "b", &["px:admin"]).await);
        let txn = site.pause("/orders").await;
        for path in ["/admin/agents", "/admin/members", "/admin/policies/api", "/admin/scorers"] {
            approve.client.get(path).send().await.problem(403, "insufficient_scope");
        }
        for path in ["/admin/agents", "/admin/members", "/admin/scorers"] {
            admin.client.get(path).send().await.expect(200);
        }
        admin.client.get("/approvals").send().await.problem(403, "insufficient_scope");
        admin.decide(&txn, "approve", &json!({})).await.problem(403, "insufficient_scope");
        // No token creates, lists or revokes tokens.
        for person in [&approve, &admin] {
            person.client.get("/admin/tokens").send().await.problem(403, "forbidden");
            let body = json!({"name": "more", "scopes": ["px:admin"]});
            person.client.post("/admin/tokens", &body).send().await.problem(403, "forbidden");
        }
        let both = bearer(&site.app, &token(&site.owner, "c", &["px:approve", "px:admin"]).await);
        both.client.get("/admin/agents").send().await.expect(200);
        both.approve(&txn).await;
    }

    async fn no_token_makes_a_sign_in_link_and_a_session_does(setup: Setup) {
        let site = Site::with(setup).await;
        let both = ["px:admin", "px:approve"];
        let program = bearer(&site.app, &token(&site.owner, "a", &both).await);
        site.app.admin("bo@people.example").await;
        let members = program.client.get("/admin/members").send().await.expect(200).json();
        let members = members["members"].as_array().unwrap();
        for member in members {
            let path = format!("/admin/members/{}/link", member["id"].as_str().unwrap());
            let refused = program.client.post(&path, &json!({})).send().await.problem(403, "forbidden");
            assert!(refused["detail"].as_str().unwrap().contains("session"), "{refused}");
            // A session cannot create one for itself.
            let answer = site.owner.client.post(&path, &json!({})).send().await;
            if member["email"] == "bo@people.example" {
                assert!(answer.expect(201).json()["link"].as_str().unwrap().contains("/link/"));
            } else {
                answer.problem(403, "forbidden");
            }
        }
        for role in ["member", "admin"] {
            let body = json!({"email": format!("{role}@people.example"), "role": role});
            for path in ["/admin/members", "/admin/invitations"] {
                program.client.post(path, &body).send().await.problem(403, "forbidden");
            }
            site.owner.client.post("/admin/invitations", &body).send().await.expect(201);
        }
    }

    async fn a_token_dies_with_its_revocation_its_person_and_their_role(setup: Setup) {
        let site = Site::with(setup).await;
        let bo = site.app.admin("bo@people.example").await;
        let made = token(&bo, "b", &["px:admin", "px:approve"]).await;
        let program = bearer(&site.app, &made);
        program.client.get("/admin/agents").send().await.expect(200);
        site.app.cli(&["user", "role", "bo@people.example", "member"]).await.expect(0);
        program.client.get("/admin/agents").send().await.problem(403, "forbidden");
        let listed = program.client.get("/approvals").send().await.expect(200).json();
        assert_eq!(listed["approvals"], json!([]), "a member without grants sees nothing");
        site.app.cli(&["user", "disable", "bo@people.example"]).await.expect(0);
        program.client.get("/approvals").send().await.problem(401, "unauthenticated");
        site.app.cli(&["user", "enable", "bo@people.example"]).await.expect(0);
        program.client.get("/approvals").send().await.expect(200);
        let path = format!("/admin/tokens/{}", made["id"].as_str().unwrap());
        site.owner.client.delete(&path).send().await.expect(204);
        program.client.get("/approvals").send().await.problem(401, "unauthenticated");
        site.owner.client.delete(&path).send().await.problem(404, "not_found");
    }
}

engines! {
    async fn what_is_no_token_is_refused_when_it_is_made(setup: Setup) {
        let app = App::start(setup).await;
        let owner = app.owner();
        for body in [
            json!({"name": "x", "scopes": []}),
            json!({"name": "x", "scopes": ["px:everything"]}),
            json!({"name": "", "scopes": ["px:approve"]}),
            json!({"name": "x\ny", "scopes": ["px:approve"]}),
            json!({"name": "x", "scopes": ["px:approve"], "expires_in_days": 0}),
            json!({"name": "x"}),
            json!({"name": "x", "scopes": ["px:approve"], "more": 1}),
        ] {
            owner.client.post("/admin/tokens", &body).send().await.problem(422, "invalid_field");
        }
        token(&owner, "twice", &["px:approve"]).await;
        let again = json!({"name": "Twice", "scopes": ["px:approve"]});
        owner.client.post("/admin/tokens", &again).send().await.problem(409, "name_taken");
        let listed = owner.client.get("/admin/tokens").send().await.expect(200).json();
        assert!(listed["tokens"][0].get("token").is_none(), "{listed}");
    }
}

engines! {
    async fn a_member_makes_no_admin_token_and_sees_only_their_own(setup: Setup) {
        let app = App::start(setup).await;
        token(&app.owner(), "owners", &["px:admin"]).await;
        app.cli(&["user", "add", "--email", "mem@people.example", "--role", "member"]).await.expect(0);
        let member = app.sign_in("mem@people.example").await;
        let body = json!({"name": "x", "scopes": ["px:admin"]});
        member.client.post("/admin/tokens", &body).send().await.problem(403, "forbidden");
        token(&member, "mine", &["px:approve"]).await;
        let listed = member.client.get("/admin/tokens").send().await.expect(200).json();
        assert_eq!(listed["tokens"].as_array().unwrap().len(), 1);
        member.client.get("/admin/tokens?all=true").send().await.problem(403, "forbidden");
        let all = app.owner().client.get("/admin/tokens?all=true").send().await.expect(200).json();
        assert_eq!(all["tokens"].as_array().unwrap().len(), 2);
    }
}
