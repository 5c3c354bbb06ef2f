//! The pages of tasks: propose, trim, approve, watch, stop.

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use pyxis_core::approval_mode::Role;
use pyxis_core::id::TaskId;
use pyxis_core::task::TaskState;
use pyxis_gateway::tasks::view::{self, TaskView};
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use crate::support::{Server, Team, UPSTREAM, next_event};

/// Proposes a task with two actions; returns its id.
pub(crate) async fn propose(server: &Server, team: &Team, purpose: &str, minutes: u32) -> TaskId {
    let action = |path: &str, max_uses: u32| {
        json!({
            "credential": "billing",
            "method": "POST",
            "url": format!("http://{UPSTREAM}{path}"),
            "content": ["json /amount <= 100", "json /to = \"<b>\""],
            "max_uses": max_uses,
        })
    };
    let actions = [action("/v1/refunds/*", 10), action("/v1/notes", 3)];
    let proposal = json!({"purpose": purpose, "actions": actions, "minutes": minutes});
    send_proposal(server, team, &proposal).await
}

/// Sends a proposal; returns the id of its task.
async fn send_proposal(server: &Server, team: &Team, proposal: &Value) -> TaskId {
    let request = Request::post("/agent/tasks")
        .header("x-px-key", &team.agent_key)
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(proposal.to_string()))
        .unwrap();
    assert_eq!(server.send(request).await, StatusCode::ACCEPTED);
    let (store, now) = (&server.gateway.store, server.gateway.now());
    let waiting = view::proposed(store, team.id, None, now).await.unwrap();
    waiting
        .iter()
        .find(|task| task.row.purpose == proposal["purpose"].as_str().unwrap())
        .expect("the proposed task")
        .row
        .id
}

pub(crate) async fn stored(server: &Server, team: &Team, id: TaskId) -> TaskView {
    view::load(&server.gateway.store, team.id, id, server.gateway.now()).await.unwrap()
}

engines! {
    async fn a_task_is_trimmed_approved_and_stopped_on_its_page(server: Server) {
        let (team, mut browser) = server.with_owner().await;
        let id = propose(&server, &team, "Refund the March orders", 120).await;
        let page = format!("/app/tasks/{id}");
        let inbox = browser.get("/app/inbox").await.text;
        assert!(inbox.contains("Refund the March orders") && inbox.contains(&page), "{inbox}");
        let text = browser.get(&page).await.text;
        for shown in [
            "/v1/refunds/*",
            "json /amount &lt;= 100",
            "&lt;b&gt;",
            "max=\"10\"",
            "Needs approval",
            "Approve task",
            "Deny this task",
        ] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        let fields = [("keep-1", "on"), ("uses-1", "2"), ("uses-2", "3"), ("minutes", "30")];
        let sent = browser.submit(&page, &format!("{page}/approve"), &fields).await;
        assert_eq!(sent.location(), page);
        let task = stored(&server, &team, id).await;
        assert_eq!(task.state, TaskState::Approved);
        assert_eq!(task.actions.iter().map(|action| action.max_uses).collect::<Vec<_>>(), [2, 0]);
        let text = browser.get(&page).await.text;
        for shown in ["Task approved.", "Running", "0 of 2", "removed", "data-countdown", "Stop task"] {
            assert!(text.contains(shown), "{shown}");
        }
        let sent = browser.submit(&page, &format!("{page}/stop"), &[]).await;
        assert_eq!(sent.location(), page);
        assert_eq!(stored(&server, &team, id).await.state, TaskState::Stopped);
        let again = browser.submit("/app/settings", &format!("{page}/stop"), &[]).await;
        assert_eq!(again.location(), page);
        assert!(browser.get(&page).await.text.contains("Nothing was changed"));
        assert!(browser.get("/app/tasks").await.text.contains("Stopped"));
    }

    async fn a_form_that_asks_for_more_is_refused_and_keeps_what_was_typed(server: Server) {
        let (team, mut browser) = server.with_owner().await;
        let id = propose(&server, &team, "Refund the March orders", 60).await;
        let page = format!("/app/tasks/{id}");
        for fields in [
            &[("keep-1", "on"), ("uses-1", "11"), ("minutes", "60")][..],
            &[("keep-1", "on"), ("uses-1", "many"), ("minutes", "60")],
            &[("keep-1", "on"), ("uses-1", "5"), ("minutes", "61")],
            &[("uses-1", "5"), ("minutes", "60")],
        ] {
            let refused = browser.submit(&page, &format!("{page}/approve"), fields).await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{fields:?}");
            let typed = format!("value=\"{}\"", fields[fields.len() - 2].1);
            assert!(refused.text.contains(&typed) && refused.text.contains("class=\"problem\""), "{fields:?}");
        }
        assert_eq!(stored(&server, &team, id).await.state, TaskState::Proposed);
        let denied = [("reason", "One by one, please")];
        browser.submit(&page, &format!("{page}/deny"), &denied).await;
        assert_eq!(stored(&server, &team, id).await.state, TaskState::Denied);
        assert!(browser.get(&page).await.text.contains("One by one, please"));
    }

    async fn a_member_without_the_right_sees_no_task_and_one_with_it_gives_30_minutes(server: Server) {
        let (team, _owner) = server.with_owner().await;
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        let id = propose(&server, &team, "Refund the March orders", 120).await;
        let page = format!("/app/tasks/{id}");
        assert_eq!(member.get(&page).await.status, StatusCode::FORBIDDEN);
        assert!(!member.get("/app/tasks").await.text.contains("Refund the March orders"));
        assert!(!member.get("/app/inbox").await.text.contains("Refund the March orders"));
        server.grant(&team, "mem@example.com", true, false).await;
        let text = member.get(&page).await.text;
        assert!(text.contains("<option value=\"30\" selected>") && !text.contains("value=\"60\""), "{text}");
        let all = [("keep-1", "on"), ("uses-1", "10"), ("keep-2", "on"), ("uses-2", "3")];
        let longer = [all[0], all[1], all[2], all[3], ("minutes", "60")];
        let refused = member.submit(&page, &format!("{page}/approve"), &longer).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        let fields = [all[0], all[1], all[2], all[3], ("minutes", "30")];
        member.submit(&page, &format!("{page}/approve"), &fields).await;
        assert_eq!(stored(&server, &team, id).await.state, TaskState::Approved);
    }
}

#[tokio::test]
async fn the_event_stream_of_a_running_task_tells_its_request_and_later_the_outcome() {
    let upstream = Upstream::http().await;
    let config = pyxis_gateway::Config::default();
    let server = Server::reaching(TestDatabase::sqlite(), config, &[upstream.addr()]).await;
    let (team, mut browser) = server.with_owner().await;
    server.add_bearer(team.id, "notes", &upstream.addr().to_string()).await;
    let action =
        json!({"credential": "notes", "method": "POST", "url": upstream.url("/notes"), "max_uses": 2});
    let proposal = json!({"purpose": "Take notes", "actions": [action], "minutes": 30});
    let id = send_proposal(&server, &team, &proposal).await;
    let page = format!("/app/tasks/{id}");
    let fields = [("keep-1", "on"), ("uses-1", "2"), ("minutes", "30")];
    browser.submit(&page, &format!("{page}/approve"), &fields).await;

    let mut stream = browser.open(&format!("/app/events?task={id}")).await.into_body();
    let mut mark = async || {
        let event = next_event(&mut stream).await;
        let data = event.strip_prefix("event: inbox\ndata: ").unwrap_or_else(|| panic!("{event}"));
        let data: Value = serde_json::from_str(data).unwrap();
        data["mark"].as_str().unwrap().to_owned()
    };
    assert_eq!(mark().await, "approved-0-0-0");
    let (reply, release) = Reply::ok("noted").hold();
    upstream.reply(reply);
    let request = team.request("notes", "POST", &upstream.url("/notes"));
    let (sent, ()) = tokio::join!(server.send(request), async {
        upstream.received(1).await;
        // The use is counted first; the request follows, and has no outcome yet.
        let mut shown = mark().await;
        if shown == "approved-1-0-0" {
            shown = mark().await;
        }
        assert!(
            shown.starts_with("approved-1-") && shown.ends_with("-0") && shown != "approved-1-0-0",
            "{shown}"
        );
        let text = browser.get(&page).await.text;
        assert!(text.contains(&format!("data-live=\"{shown}\"")) && text.contains("/notes"), "{text}");
        drop(release);
        assert_eq!(mark().await, format!("{}-1", shown.strip_suffix("-0").unwrap()));
    });
    assert_eq!(sent, StatusCode::OK);
}
