//! Announcements of tasks: webhook events and browser notifications.

use axum::body::Body;
use http::{Method, StatusCode};
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TaskId;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::agents::{self, AgentPatch};
use pyxis_gateway::admin::push::{self, Subscription};
use pyxis_gateway::admin::webhooks::{self, WebhookInput};
use pyxis_gateway::notifications::webhooks::deliver_due;
use pyxis_gateway::tasks::decide::{self, Approval};
use pyxis_testkit::engines;
use pyxis_testkit::push::Browser;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use crate::races::proxy::Proxy;

const HOOKS: &str = "hooks.example.com";
const SERVICE: &str = "push.example.com";

/// A receiver of these events.
async fn hook(proxy: &Proxy, events: &[&str]) -> Upstream {
    let receiver = Upstream::https(&proxy.authority, &[HOOKS]).await;
    let input = WebhookInput {
        url: receiver.url_at(HOOKS, "/in"),
        events: events.iter().map(|event| (*event).to_owned()).collect(),
        ..WebhookInput::default()
    };
    webhooks::create(&proxy.state, &proxy.actor(), input).await.unwrap();
    receiver
}

/// Events that a receiver got so far.
async fn received_events(proxy: &Proxy, receiver: &Upstream) -> Vec<Value> {
    deliver_due(&proxy.state).await.unwrap();
    receiver.requests().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
}

/// A push service with one browser for each of the two owners.
async fn browsers(proxy: &Proxy, browser: &Browser) -> Upstream {
    let service = Upstream::https(&proxy.authority, &[SERVICE]).await;
    service.reply_with(|_| Reply::new(201));
    for (index, path) in ["/first", "/second"].into_iter().enumerate() {
        let new = Subscription {
            endpoint: service.url_at(SERVICE, path),
            p256dh: browser.p256dh(),
            auth: browser.auth(),
            label: "Chromium on Linux".to_owned(),
        };
        let user = proxy.approver(index, DecisionSurface::Dashboard).user;
        push::subscribe(&proxy.state, &proxy.actor(), user, new).await.unwrap();
    }
    service
}

pub(super) async fn propose(proxy: &Proxy, purpose: &str) -> TaskId {
    let action = |path: &str, max_uses: u32| {
        json!({
            "credential": "api", "method": "POST", "url": proxy.upstream.url(path),
            "content": ["json /amount <= 5"], "max_uses": max_uses,
        })
    };
    let body =
        json!({"purpose": purpose, "actions": [action("/pay", 3), action("/notes", 2)], "minutes": 60});
    let request = proxy.agent(Method::POST, "/agent/tasks").header("content-type", "application/json");
    let answer = proxy.call(request.body(Body::from(body.to_string())).unwrap()).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED, "{}", answer.body());
    answer.body()["task_id"].as_str().unwrap().parse().unwrap()
}

/// The first owner.
pub(super) fn owner(proxy: &Proxy) -> Actor {
    let owner = proxy.approver(0, DecisionSurface::Dashboard);
    Actor::user(owner.workspace, owner.user, &owner.email)
}

engines! {
    async fn endpoints_that_chose_them_hear_of_proposed_and_decided_tasks(proxy: &Proxy) {
        let receiver = hook(proxy, &["task.proposed", "task.decided"]).await;
        let by = (&owner(proxy), DecisionSurface::Dashboard);
        let task = propose(proxy, "Pay the bills").await;
        let event = |name: &str, expires: &str, actions: Value| json!({
            "event": name, "task_id": task.to_string(), "agent_name": "default-agent", "purpose": "Pay the bills",
            "actions": actions, "task_url": format!("http://localhost:8700/app/tasks/{task}"), "expires_at": expires,
        });
        let action = |uses: u32| json!({
            "credential_name": "api", "method": "POST", "target_host": "127.0.0.1", "max_uses": uses,
        });
        let [proposed] = received_events(proxy, &receiver).await.try_into().unwrap();
        let expires = proposed["expires_at"].as_str().unwrap().to_owned();
        assert_eq!(proposed, event("task.proposed", &expires, json!([action(3), action(2)])));
        let kept = pyxis_core::task::ApprovedAction { position: 1, max_uses: 1 };
        let approval = Approval { actions: Some(vec![kept]), minutes: Some(15) };
        let approved = decide::approve(&proxy.state, by, task, &approval).await.unwrap();
        let [_, decided] = received_events(proxy, &receiver).await.try_into().unwrap();
        let expires = approved.row.expires_at.to_rfc3339();
        let mut expected = event("task.decided", &expires, json!([action(1)]));
        expected["outcome"] = json!("approved");
        expected["approver"] = json!("a@example.com");
        expected["reason"] = Value::Null;
        assert_eq!(decided, expected);
        let other = propose(proxy, "Pay more").await;
        decide::deny(&proxy.state, by, other, Some("Not today".to_owned())).await.unwrap();
        let all = received_events(proxy, &receiver).await;
        let denied = all.iter().find(|event| event["outcome"] == "denied").unwrap();
        assert_eq!((&denied["task_id"], &denied["reason"]), (&json!(other.to_string()), &json!("Not today")));
    }

    async fn endpoints_hear_of_a_withdrawn_task_and_of_the_reason(proxy: &Proxy) {
        let receiver = hook(proxy, &["task.decided"]).await;
        let [by_agent, with_agent] = [propose(proxy, "Pay the bills").await, propose(proxy, "Pay more").await];
        let path = format!("/agent/tasks/{by_agent}/withdraw");
        let request = proxy.agent(Method::POST, &path).body(Body::empty()).unwrap();
        assert_eq!(proxy.send(request).await, StatusCode::OK);
        let agent = agents::list(&proxy.state.store, proxy.workspace).await.unwrap().remove(0);
        let patch = AgentPatch { enabled: Some(false), ..AgentPatch::default() };
        agents::update(&proxy.state, &proxy.actor(), agent.row.id, patch).await.unwrap();
        let told = received_events(proxy, &receiver).await;
        assert_eq!(told.len(), 2);
        for (task, reason) in [(by_agent, Value::Null), (with_agent, json!("agent disabled"))] {
            let event = told.iter().find(|event| event["task_id"] == json!(task.to_string())).unwrap();
            let decision = (&event["event"], &event["outcome"], &event["approver"], &event["reason"]);
            assert_eq!(decision, (&json!("task.decided"), &json!("withdrawn"), &Value::Null, &reason));
        }
    }

    async fn an_endpoint_without_a_selection_hears_of_no_task(proxy: &Proxy) {
        let receiver = hook(proxy, &[]).await;
        propose(proxy, "Pay the bills").await;
        assert_eq!(received_events(proxy, &receiver).await, [] as [Value; 0]);
    }

    async fn browsers_of_people_who_may_decide_are_told_once_of_a_proposed_task(proxy: &Proxy) {
        let browser = Browser::new();
        let service = browsers(proxy, &browser).await;
        propose(proxy, "A channel that tells no browser").await;
        push::send_due(&proxy.state).await.unwrap();
        assert!(service.requests().is_empty());
        proxy.policy(r#"{"channel": "dashboard", "allowed_approvers": ["b@example.com"]}"#).await;
        let task = propose(proxy, "Pay the secret bills").await;
        propose(proxy, "Pay the secret bills").await;
        for _ in 0..2 {
            push::send_due(&proxy.state).await.unwrap();
        }
        let [sent] = service.requests().try_into().unwrap();
        assert_eq!(sent.target, "/second", "the other person may not decide");
        let told: Value = serde_json::from_slice(&browser.decrypt(&sent.body)).unwrap();
        assert_eq!(told, json!({
            "title": "Pyxis: approval needed",
            "body": "default-agent proposes a task\nSecured by Pyxis",
            "path": format!("/app/tasks/{task}"),
            "tag": task.to_string(),
            "icon": null,
        }));
    }

    async fn a_task_that_was_decided_meanwhile_is_announced_to_no_browser(proxy: &Proxy) {
        let browser = Browser::new();
        let service = browsers(proxy, &browser).await;
        proxy.policy(r#"{"channel": "dashboard"}"#).await;
        let task = propose(proxy, "Pay the bills").await;
        decide::deny(&proxy.state, (&owner(proxy), DecisionSurface::Dashboard), task, None).await.unwrap();
        push::send_due(&proxy.state).await.unwrap();
        assert!(service.requests().is_empty());
    }
}
