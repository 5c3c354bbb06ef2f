//! Text that cannot be stored: NUL is refused in the same words on both engines.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{Setup, Site};

const NUL: &str = "a\u{0}b";

/// Every text that the admin API accepts, with NUL in it: method, path, body, the named field.
fn texts(txn: &str) -> Vec<(&'static str, String, Value, &'static str)> {
    let credential = |field: &str, value: Value| {
        let mut body =
            json!({"name": "other", "auth": {"kind": "bearer"}, "secret": "s", "allowed_hosts": []});
        body[field] = value;
        body
    };
    let policy = "/admin/policies/api".to_owned();
    let created = "/admin/credentials".to_owned();
    let patched = "/admin/credentials/api".to_owned();
    let hosts = json!([NUL]);
    let header = json!({"kind": "header", "headers": [{"name": NUL, "format": "{secret}"}]});
    vec![
        ("POST", "/admin/agents".to_owned(), json!({"name": NUL}), "name"),
        ("POST", created.clone(), credential("name", json!(NUL)), "name"),
        ("POST", created.clone(), credential("description", json!(NUL)), "description"),
        ("POST", created.clone(), credential("allowed_hosts", hosts.clone()), "allowed_hosts"),
        ("POST", created, credential("auth", header), "auth"),
        ("PATCH", patched.clone(), json!({"description": NUL}), "description"),
        ("PATCH", patched, json!({"allowed_hosts": hosts.clone()}), "allowed_hosts"),
        ("PUT", policy.clone(), json!({"auto_approve_urls": hosts.clone()}), "auto_approve_urls"),
        ("PUT", policy.clone(), json!({"auto_approve_methods": hosts.clone()}), "auto_approve_methods"),
        ("PUT", policy.clone(), json!({"allowed_approvers": hosts}), "allowed_approvers"),
        ("PUT", policy.clone(), json!({"matrix_room": NUL}), "matrix_room"),
        ("PUT", policy, json!({"telegram_chat": NUL}), "telegram_chat"),
        ("POST", "/admin/members".to_owned(), json!({"email": NUL, "role": "admin"}), "email"),
        ("POST", format!("/approvals/{txn}/deny"), json!({"reason": NUL}), "reason"),
    ]
}

engines! {
    async fn nul_in_a_text_is_refused_with_422_and_names_the_field(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        for (method, path, body, field) in texts(&txn) {
            let answer = site.owner.client.call(method, &path).json(&body).send().await;
            assert_eq!(answer.status, 422, "{method} {path} {body}: {}", answer.text());
            let problem = answer.problem(422, "invalid_field");
            let named = problem["field"].as_str().unwrap();
            assert!(named.starts_with(field), "{method} {path} {body}: {problem}");
        }
        assert_eq!(site.agent.poll(&txn).await["status"], "pending");
    }

    async fn nul_in_what_is_looked_up_finds_nothing_or_is_refused(setup: Setup) {
        let site = Site::with(setup).await;
        for (path, statuses) in [
            ("/admin/credentials/a%00b", [404, 422]),
            ("/admin/policies/a%00b", [404, 422]),
            ("/admin/audit?text=a%00b", [422, 422]),
            ("/admin/audit?actor=a%00b", [422, 422]),
        ] {
            let answer = site.owner.client.get(path).send().await;
            assert!(statuses.contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
        }
        let session = json!({"email": NUL, "password": "wrong"});
        let refused = site.app.anonymous().post("/session", &session).send().await;
        assert!([401, 422].contains(&refused.status), "{refused:?}");
    }
}
