//! Managers' changes to an agent, and the agent's view of its rights (`docs/reference/api.md#admin-api`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{Agent, Setup, Site, in_one_hour};

/// A GET that the workspace's rules let pass.
async fn get(site: &Site, agent: &Agent) -> crate::support::HttpResponse {
    agent.forward("api", "GET", &site.upstream.url("/")).send().await
}

/// Outcomes by method: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, WEBSOCKET.
fn methods(outcomes: [&str; 8]) -> Value {
    let names = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "WEBSOCKET"];
    let pairs = names.iter().zip(outcomes);
    pairs.map(|(method, outcome)| json!({"method": method, "outcome": outcome})).collect()
}

engines! {
    async fn what_an_owner_changes_of_an_agent_holds_for_its_key_at_once(setup: Setup) {
        in_one_hour(setup, async |setup| {
            let site = Site::with(setup).await;
            let owner = &site.owner.client;
            let made = site.owner.add_agent(&json!({"name": "bot"})).await;
            let path = format!("/admin/agents/{}", made["id"].as_str().unwrap());
            let bot = site.app.agent(made["key"].as_str().unwrap());

            let limited = json!({"name": "renamed", "rate_limit_per_hour": 1});
            let shown = owner.patch(&path, &limited).send().await.expect(200).json();
            assert_eq!(
                (&shown["name"], &shown["rate_limit_per_hour"], &shown["enabled"]),
                (&json!("renamed"), &json!(1), &json!(true))
            );
            get(&site, &bot).await.forwarded(200);
            get(&site, &bot).await.problem(429, "rate_limited");
            let records = site.forwards().await;
            assert_eq!(records.last().unwrap()["actor_name"], "renamed", "{records:?}");

            let free = json!({"rate_limit_per_hour": null, "enabled": false});
            owner.patch(&path, &free).send().await.expect(200);
            get(&site, &bot).await.problem(401, "invalid_key");
            owner.patch(&path, &json!({"enabled": true})).send().await.expect(200);
            get(&site, &bot).await.forwarded(200);

            owner.patch(&path, &json!({"name": "default-agent"})).send().await.problem(409, "name_taken");
            owner.patch(&path, &json!({"color": "red"})).send().await.problem(422, "invalid_field");

            let rotated = owner.call("POST", &format!("{path}/rotate")).send().await.expect(200).json();
            let again = site.app.agent(rotated["key"].as_str().unwrap());
            get(&site, &bot).await.problem(401, "invalid_key");
            get(&site, &again).await.forwarded(200);

            owner.delete(&path).send().await.expect(204);
            get(&site, &again).await.problem(401, "invalid_key");
            owner.get(&path).send().await.problem(404, "not_found");
            owner.delete(&path).send().await.problem(404, "not_found");
            let left = owner.get("/admin/agents").send().await.expect(200).json();
            assert_eq!(left["agents"].as_array().unwrap().len(), 1, "{left}");
            assert_eq!(site.upstream.requests().len(), 3);
        })
        .await;
    }

    async fn an_agent_is_told_by_method_and_host_what_would_happen(setup: Setup) {
        let site = Site::bare(setup).await;
        let wide = json!({
            "auth": {"kind": "bearer"}, "secret": "s3cret", "description": "The shop",
            "allowed_hosts": ["*.example.com", "shop.example.net:8443"],
        });
        site.credential("api", &wide).await;
        site.credential("plain", &json!({"auth": {"kind": "bearer"}, "secret": "s3cret"})).await;
        site.credential("hidden", &json!({"auth": {"kind": "bearer"}, "secret": "s3cret"})).await;
        site.policy(&json!({
            "auto_approve_methods": ["GET", "POST"], "require_approval_methods": ["PUT"],
            "deny_methods": ["DELETE"], "deny_urls": ["/admin"], "require_approval_urls": ["/orders/*/pay"],
            "auto_approve_urls": ["/status"], "require_reason": true,
        })).await;
        let narrow = site.owner.add_agent(&json!({"name": "bot", "credentials": ["api", "plain"]})).await;
        let narrow = site.app.agent(narrow["key"].as_str().unwrap());

        let told = narrow.client.get("/agent/services").send().await.expect(200).json();

        let host = site.upstream.addr().to_string();
        assert_eq!(told, json!({"agent": "bot", "services": [
            {
                "credential": "api", "description": "The shop",
                "allowed_hosts": ["*.example.com", "shop.example.net:8443"],
                "target_example": "http://shop.example.net:8443/",
                "methods": methods([
                    "proceeds", "proceeds", "proceeds", "pauses", "pauses", "denied", "pauses", "denied",
                ]),
                "url_rules": {"denied": ["/admin"], "pauses": ["/orders/*/pay"], "proceeds": ["/status"], "content": []},
                "reason_required": true,
            },
            {
                "credential": "plain", "description": "",
                "allowed_hosts": [host], "target_example": format!("http://{host}/"),
                "methods": methods([
                    "proceeds", "proceeds", "pauses", "pauses", "pauses", "pauses", "pauses", "pauses",
                ]),
                "url_rules": {"denied": [], "pauses": [], "proceeds": [], "content": []},
                "reason_required": false,
            },
        ]}));

        // Without a policy the workspace's mode decides.
        let mode = json!({"default_approval_mode": "autonomous"});
        site.owner.client.patch("/admin/settings", &mode).send().await.expect(200);
        let told = narrow.client.get("/agent/services").send().await.expect(200).json();
        assert_eq!(told["services"][1]["methods"], methods(["proceeds"; 8]));
    }
}
