//! Members, invitations and grants; roles and sessions; distinct people.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{App, Person, Setup, Site, until};

/// A person added by the owner through the API; the response has `id` and `link`.
async fn invite(owner: &Person, body: &Value) -> Value {
    owner.client.post("/admin/invitations", body).send().await.expect(201).json()
}

async fn id_of(app: &App, email: &str) -> String {
    let all = app.owner().client.get("/admin/members").send().await.expect(200).json();
    let members = all["members"].as_array().unwrap();
    members.iter().find(|one| one["email"] == email).unwrap()["id"].as_str().unwrap().to_owned()
}

/// The owner denies all requests of the only agent; returns the result.
async fn deny_all(site: &Site) -> Value {
    let agents = site.owner.client.get("/admin/agents").send().await.expect(200).json();
    let path = format!("/admin/agents/{}/deny-all", agents["agents"][0]["id"].as_str().unwrap());
    site.owner.client.post(&path, &json!({"reason": "astray"})).send().await.expect(200).json()
}

/// A request as shown to its approvers.
async fn get_approval(site: &Site, txn: &str) -> Value {
    site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json()
}

engines! {
    async fn a_member_is_invited_granted_and_decides_only_there(setup: Setup) {
        let site = Site::with(setup).await;
        site.credential("other", &json!({"auth": {"kind": "bearer"}, "secret": "x"})).await;
        let made = invite(&site.owner, &json!({
            "email": "mem@people.example", "role": "member", "credentials": [{"name": "api", "approve": true}],
        })).await;
        assert_eq!(made["credentials"], json!([{"name": "api", "approve": true, "policy": false}]));
        assert!(made["link"].as_str().unwrap().contains("/link/"));
        let waiting = site.owner.client.get("/admin/invitations").send().await.expect(200).json();
        let found = waiting["invitations"].as_array().unwrap();
        assert!(found.iter().any(|one| one["email"] == "mem@people.example" && one["expires_at"].is_string()));
        let member = site.app.sign_in("mem@people.example").await;
        let mine = site.pause("/orders").await;
        let target = site.upstream.url("/orders");
        let theirs = site.agent.forward("other", "POST", &target).body("x").send().await.txn();
        let listed = member.client.get("/approvals").send().await.expect(200).json();
        let ids: Vec<_> = listed["approvals"].as_array().unwrap().iter().map(|one| &one["txn_id"]).collect();
        assert_eq!(ids, [&json!(mine)]);
        member.client.get(&format!("/approvals/{theirs}")).send().await.problem(403, "not_eligible");
        for verb in ["approve", "deny"] {
            member.decide(&theirs, verb, &json!({})).await.problem(403, "not_eligible");
        }
        assert_eq!(member.approve(&mine).await["status"], "approved");
        for path in ["/admin/agents", "/admin/members", "/admin/credentials", "/admin/audit", "/admin/policies/api"] {
            member.client.get(path).send().await.problem(403, "forbidden");
        }
        let used = site.owner.client.get("/admin/invitations").send().await.expect(200).json();
        assert!(!used.to_string().contains("mem@people.example"), "{used}");
    }

    async fn grants_are_set_and_taken_away_at_once(setup: Setup) {
        let site = Site::with(setup).await;
        invite(&site.owner, &json!({"email": "mem@people.example", "role": "member"})).await;
        let member = site.app.sign_in("mem@people.example").await;
        let id = id_of(&site.app, "mem@people.example").await;
        let path = format!("/admin/members/{id}/credentials/api");
        let txn = site.pause("/a").await;
        member.decide(&txn, "approve", &json!({})).await.problem(403, "not_eligible");
        let set = site.owner.client.put(&path, &json!({"approve": true, "policy": true})).send().await;
        let set = set.expect(200).json();
        assert_eq!(set["credentials"], json!([{"name": "api", "approve": true, "policy": true}]));
        site.owner.client.delete(&path).send().await.expect(204);
        member.decide(&txn, "approve", &json!({})).await.problem(403, "not_eligible");
        site.app.cli(&["user", "grant", "mem@people.example", "api", "--approve"]).await.expect(0);
        member.approve(&txn).await;
        let nowhere = format!("/admin/members/{id}/credentials/none");
        site.owner.client.put(&nowhere, &json!({"approve": true})).send().await.problem(404, "not_found");
        let owner = id_of(&site.app, site.app.bootstrap["owner_email"].as_str().unwrap()).await;
        let managers = format!("/admin/members/{owner}/credentials/api");
        site.owner.client.put(&managers, &json!({"approve": true})).send().await.problem(409, "conflict");
    }

    async fn a_changed_role_ends_sessions_and_what_was_granted(setup: Setup) {
        let site = Site::with(setup).await;
        let admin = site.app.admin("bo@people.example").await;
        let id = id_of(&site.app, "bo@people.example").await;
        let path = format!("/admin/members/{id}");
        let changed = site.owner.client.patch(&path, &json!({"role": "member"})).send().await.expect(200).json();
        assert_eq!(changed["role"], "member");
        admin.client.get("/approvals").send().await.problem(401, "unauthenticated");
        site.app.cli(&["user", "grant", "bo@people.example", "api", "--approve", "--policy"]).await.expect(0);
        site.owner.client.patch(&path, &json!({"role": "admin"})).send().await.expect(200);
        let again = site.owner.client.patch(&path, &json!({"role": "member"})).send().await.expect(200).json();
        assert_eq!(again["credentials"], json!([]), "a way through manager revives no grant");
    }

    async fn a_person_who_lost_the_right_before_the_quorum_no_longer_counts(setup: Setup) {
        let site = Site::with(setup).await;
        invite(&site.owner, &json!({
            "email": "mem@people.example", "role": "member", "credentials": [{"name": "api", "approve": true}],
        })).await;
        site.policy(&json!({"min_approvals": 2})).await;
        let member = site.app.sign_in("mem@people.example").await;
        let bo = site.app.admin("bo@people.example").await;
        let txn = site.pause("/a").await;
        assert_eq!(member.approve(&txn).await, json!({"status": "pending", "approvals": 1, "min_approvals": 2}));
        let id = id_of(&site.app, "mem@people.example").await;
        let path = format!("/admin/members/{id}/credentials/api");
        site.owner.client.delete(&path).send().await.expect(204);
        assert_eq!(bo.approve(&txn).await["approvals"], 1, "the member's vote no longer counts");
        assert_eq!(site.owner.approve(&txn).await["status"], "approved");
    }

    async fn a_demoted_disabled_or_unlisted_person_does_not_count_either(setup: Setup) {
        let site = Site::with(setup).await;
        let owner = site.app.bootstrap["owner_email"].as_str().unwrap().to_owned();
        let third = site.app.admin("cleo@people.example").await;
        for how in ["demoted", "disabled", "unlisted"] {
            site.policy(&json!({"min_approvals": 2})).await;
            let email = format!("{how}@people.example");
            let admin = site.app.admin(&email).await;
            let txn = site.pause(&format!("/{how}")).await;
            assert_eq!(admin.approve(&txn).await["approvals"], 1);
            let door = format!("/admin/members/{}", id_of(&site.app, &email).await);
            let patch = |body: Value| site.owner.client.patch(&door, &body).send();
            match how {
                "demoted" => drop(patch(json!({"role": "member"})).await.expect(200)),
                "disabled" => drop(patch(json!({"enabled": false})).await.expect(200)),
                _ => {
                    let listed = [owner.as_str(), "cleo@people.example"];
                    site.policy(&json!({"min_approvals": 2, "allowed_approvers": listed})).await;
                }
            }
            assert_eq!(third.approve(&txn).await["approvals"], 1, "{how}");
            assert_eq!(site.owner.approve(&txn).await["status"], "approved", "{how}");
        }
    }

    async fn two_accounts_in_one_hand_are_one_approver(setup: Setup) {
        let site = Site::with(setup).await;
        site.app.admin("bo@people.example").await;
        site.policy(&json!({"min_approvals": 2})).await;
        let id = id_of(&site.app, "bo@people.example").await;
        // Stores what using such a link stores; the link itself is tested in a browser with the pages.
        let owner = id_of(&site.app, site.app.bootstrap["owner_email"].as_str().unwrap()).await;
        site.app.sql(&format!("UPDATE users SET opened_by = '{owner}', opened_at = 1 WHERE id = '{id}'"));
        let puppet = site.app.sign_in("bo@people.example").await;
        let txn = site.pause("/a").await;
        site.owner.approve(&txn).await;
        let refused = puppet.decide(&txn, "approve", &json!({})).await.problem(403, "not_eligible");
        assert!(refused["detail"].as_str().unwrap().contains("count as one person"), "{refused}");
        let votes = get_approval(&site, &txn).await["votes"].as_array().unwrap().len();
        assert_eq!(votes, 1, "a refused vote leaves nothing");
        // Each of them alone counts, and a third person completes the quorum.
        let third = site.app.admin("cleo@people.example").await;
        assert_eq!(third.approve(&txn).await["status"], "approved");
    }

    async fn a_member_proposes_a_policy_and_nothing_changes_before_the_passkey(setup: Setup) {
        let site = Site::with(setup).await;
        site.policy(&json!({"auto_approve_methods": ["GET"]})).await;
        invite(&site.owner, &json!({
            "email": "mem@people.example", "role": "member", "credentials": [{"name": "api", "policy": true}],
        })).await;
        let member = site.app.sign_in("mem@people.example").await;
        let put = |body: Value| member.client.put("/admin/policies/api", &body).send();
        let staged = put(json!({"auto_approve_methods": ["GET", "POST"]})).await.expect(202).json();
        assert_eq!(staged["status"], "staged");
        let confirm = staged["staged"]["confirm_url"].as_str().unwrap();
        assert!(confirm.contains("/app/staged/"), "{confirm}");
        assert_eq!(staged["staged"]["policy"]["auto_approve_methods"], json!(["GET", "POST"]));
        let stored = member.client.get("/admin/policies/api").send().await.expect(200).json();
        assert_eq!((&stored["auto_approve_methods"], &stored["version"]), (&json!(["GET"]), &json!(1)));
        put(json!({"auto_approve_methods": ["NONSENSE"]})).await.problem(422, "invalid_field");
        member.client.delete("/admin/policies/api").send().await.problem(403, "forbidden");
        member.explain("api", "GET", &site.upstream.url("/x")).await;
        // A second proposal replaces the first; a manager's PUT outdates it.
        put(json!({"min_approvals": 2})).await.problem(422, "invalid_field");
        site.app.admin("bo@people.example").await;
        put(json!({"min_approvals": 2})).await.expect(202);
        let list = || site.owner.client.get("/admin/policies/api/staged").send();
        let listed = list().await.expect(200).json();
        assert_eq!(listed["staged"].as_array().unwrap().len(), 1);
        assert_eq!(listed["staged"][0]["outdated"], false);
        site.policy(&json!({"auto_approve_methods": ["GET"], "require_reason": true})).await;
        let listed = list().await.expect(200).json();
        assert_eq!(listed["staged"][0]["outdated"], true);
        let path = format!("/admin/policies/api/staged/{}", listed["staged"][0]["id"].as_str().unwrap());
        member.client.delete(&path).send().await.expect(204);
        assert_eq!(list().await.expect(200).json()["staged"], json!([]));
        // They have no rights on the other credential.
        site.credential("other", &json!({"auth": {"kind": "bearer"}, "secret": "x"})).await;
        let other = member.client.put("/admin/policies/other", &json!({})).send().await;
        other.problem(403, "forbidden");
    }

    async fn what_an_owner_or_an_admin_writes_is_the_policy_at_once(setup: Setup) {
        let site = Site::with(setup).await;
        let admin = site.app.admin("bo@people.example").await;
        let managers = [(&site.owner, "auto_approve_methods", 200), (&admin, "deny_methods", 403)];
        for (version, (manager, field, then)) in (1..).zip(managers) {
            manager.client.put("/admin/policies/api", &json!({field: ["POST"]})).send().await.expect(200);
            let stored = manager.client.get("/admin/policies/api").send().await.expect(200).json();
            assert_eq!((&stored[field], &stored["version"]), (&json!(["POST"]), &json!(version)));
            let waiting = manager.client.get("/admin/policies/api/staged").send().await.expect(200).json();
            assert_eq!(waiting["staged"], json!([]), "nothing waits for a passkey");
            assert_eq!(site.forward("POST", "/x").body("x").send().await.status, then);
        }
    }

    async fn two_owners_cannot_leave_past_each_other(setup: Setup) {
        let site = Site::with(setup).await;
        site.app.cli(&["user", "add", "--email", "two@people.example", "--role", "owner"]).await.expect(0);
        let first = id_of(&site.app, site.app.bootstrap["owner_email"].as_str().unwrap()).await;
        let second = id_of(&site.app, "two@people.example").await;
        let two = site.app.sign_in("two@people.example").await;
        let body = json!({"role": "admin"});
        let leave = |person: &Person, id: &str| {
            tokio::spawn(person.client.patch(&format!("/admin/members/{id}"), &body).send())
        };
        let (a, b) = (leave(&site.owner, &second), leave(&two, &first));
        for answer in [a.await.unwrap(), b.await.unwrap()] {
            assert!([200, 401, 403, 409].contains(&answer.status), "{answer:?}");
        }
        let owners = site.app.sql("SELECT email FROM users WHERE role = 'owner' AND disabled_at IS NULL");
        assert!(!owners.is_empty());
    }

    async fn deny_all_disables_the_agent_and_denies_what_waits(setup: Setup) {
        let site = Site::with(setup).await;
        let (one, two) = (site.pause("/a").await, site.pause("/b").await);
        assert_eq!(deny_all(&site).await, json!({"denied": 2, "left": 0}));
        for txn in [one, two] {
            let shown = get_approval(&site, &txn).await;
            assert_eq!((&shown["status"], &shown["deny_reason"]), (&json!("denied"), &json!("astray")));
        }
        site.forward("GET", "/x").send().await.problem(401, "invalid_key");
    }

    async fn deny_all_leaves_what_one_approved_oneself_which_is_not_sent_either(setup: Setup) {
        let site = Site::with(setup).await;
        let admin = site.app.admin("bo@people.example").await;
        site.policy(&json!({"min_approvals": 2})).await;
        let (approved, other) = (site.pause("/a").await, site.pause("/b").await);
        site.owner.approve(&approved).await;
        assert_eq!(deny_all(&site).await, json!({"denied": 1, "left": 1}));
        assert_eq!(get_approval(&site, &other).await["status"], "denied");
        assert_eq!(get_approval(&site, &approved).await["status"], "pending");
        // While the agent is disabled, enough approvals do not help.
        assert_eq!(admin.approve(&approved).await["status"], "approved");
        let over = until("the request's end", async || {
            let shown = get_approval(&site, &approved).await;
            (!shown["error"].is_null()).then_some(shown)
        });
        assert_eq!(over.await["error"], "no_longer_allowed");
        assert!(site.upstream.requests().is_empty());
    }
}

engines! {
    async fn an_invitation_is_withdrawn_until_it_is_used(setup: Setup) {
        let app = App::start(setup).await;
        let owner = app.owner();
        let made = invite(&owner, &json!({"email": "late@people.example", "role": "member"})).await;
        let path = format!("/admin/invitations/{}", made["id"].as_str().unwrap());
        owner.client.delete(&path).send().await.expect(204);
        owner.client.delete(&path).send().await.problem(404, "not_found");
        invite(&owner, &json!({"email": "late@people.example", "role": "member"})).await;
        app.sign_in("late@people.example").await;
        let path = format!("/admin/invitations/{}", id_of(&app, "late@people.example").await);
        owner.client.delete(&path).send().await.problem(409, "conflict");
    }
}

engines! {
    async fn what_cannot_be_invited_is_refused_and_nobody_is_added(setup: Setup) {
        let app = App::start(setup).await;
        let owner = app.owner();
        for body in [
            json!({"email": "no address", "role": "member"}),
            json!({"email": "x@people.example", "role": "emperor"}),
            json!({"email": "x@people.example", "role": "member", "credentials": [{"name": "none", "approve": true}]}),
            json!({"email": "x@people.example", "role": "admin", "credentials": [{"name": "none", "approve": true}]}),
        ] {
            owner.client.post("/admin/invitations", &body).send().await.problem(422, "invalid_field");
        }
        let all = owner.client.get("/admin/members").send().await.expect(200).json();
        assert_eq!(all["members"].as_array().unwrap().len(), 1);
        let admin = app.admin("bo@people.example").await;
        let body = json!({"email": "y@people.example", "role": "owner"});
        admin.client.post("/admin/members", &body).send().await.problem(403, "forbidden");
    }
}
