//! Approval of a task with a passkey, on its page. `docs/reference/behavior/proxy.md#tasks`.

use http::StatusCode;
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::digest;
use pyxis_core::id::TaskId;
use pyxis_core::task::TaskState;
use pyxis_gateway::admin::explanation::{self, ExplainedRequest};
use pyxis_testkit::authenticator::Authenticator;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::passkeys::{passkey_team, set_policy, state};
use crate::support::{Browser, ORIGIN_URL, Page, Server, Team, UPSTREAM, begin, finish, register};
use crate::tasks::{propose, stored};

/// A proposed task whose credential requires a passkey, and an owner who has one.
struct Scene {
    server: Server,
    team: Team,
    owner: Browser,
    key: Authenticator,
    task: TaskId,
}

/// Fields of the form, as a person leaves it.
type FormFields<'a> = [(&'a str, &'a str)];

const TRIMMED: &FormFields<'_> = &[("keep-1", "on"), ("uses-1", "2"), ("uses-2", "3"), ("minutes", "30")];

impl Fixture for Scene {
    async fn start(database: TestDatabase) -> Self {
        let (server, team, owner, key) = passkey_team(database).await;
        let task = propose(&server, &team, "Refund the March orders", 120).await;
        Self { server, team, owner, key, task }
    }
}

impl Scene {
    fn page(&self) -> String {
        format!("/app/tasks/{}", self.task)
    }

    async fn begin(&mut self, form: &FormFields<'_>) -> (Value, Value) {
        let page = self.page();
        let begun = begin(&mut self.owner, &page, &format!("{page}/begin"), form).await;
        let given = self.key.get(&begun["options"]);
        (begun, given)
    }

    async fn finish(&mut self, (begun, given): &(Value, Value), form: &FormFields<'_>) -> Page {
        let page = self.page();
        finish(&mut self.owner, &page, &format!("{page}/approve"), begun, given, form).await
    }

    async fn state(&self) -> TaskState {
        stored(&self.server, &self.team, self.task).await.state
    }

    /// The audit record of the approval.
    async fn approval(&mut self) -> Value {
        let text = self.owner.get("/app/audit/export.jsonl").await.text;
        let mut records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.rfind(|record| record["kind"] == "task.approved").unwrap()
    }

    /// The rule that decides a request of the agent.
    async fn rule(&self, path: &str, body: &str) -> String {
        let url = format!("http://{UPSTREAM}{path}");
        let request = ExplainedRequest {
            method: "POST",
            url: &url,
            agent: Some("default-agent"),
            body: Some(body),
            content_type: Some("application/json"),
            sent: None,
        };
        let explained =
            explanation::explain(&self.server.gateway, self.team.id, "billing", &request).await.unwrap();
        explained.rule.to_string()
    }
}

engines! {
    async fn a_passkey_approves_a_task_as_it_was_trimmed(scene: &mut Scene) {
        let page = scene.page();
        let text = scene.owner.get(&page).await.text;
        for shown in ["Approve task with passkey", "data-ceremony-when", "data-passkey-note", "name=\"ceremony\""] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert_eq!(text.matches(" data-passkey ").count(), 2, "{text}");
        let answer = scene.begin(TRIMMED).await;
        let sent = scene.finish(&answer, TRIMMED).await;
        assert_eq!((sent.status, sent.location()), (StatusCode::SEE_OTHER, page.as_str()));
        let task = stored(&scene.server, &scene.team, scene.task).await;
        assert_eq!((task.state, task.row.passkey.as_deref()), (TaskState::Approved, Some("laptop")));
        assert_eq!(task.actions.iter().map(|action| action.max_uses).collect::<Vec<_>>(), [2, 0]);
        let text = scene.owner.get(&page).await.text;
        assert!(text.contains("Task approved.") && text.contains("with the passkey laptop"), "{text}");
        let (covered, body) = ("/v1/refunds/7", r#"{"amount":5,"to":"<b>"}"#);
        assert_eq!(scene.rule(covered, body).await, "task");
        assert_ne!(scene.rule("/v1/notes", body).await, "task", "its action was removed");
        assert_ne!(scene.rule(covered, r#"{"amount":500,"to":"<b>"}"#).await, "task");
    }

    async fn the_audit_has_the_ceremony_and_all_that_its_digest_covers(scene: &mut Scene) {
        let answer = scene.begin(TRIMMED).await;
        scene.finish(&answer, TRIMMED).await;
        let detail = scene.approval().await["detail"].clone();
        assert_eq!(detail["passkey"]["name"], "laptop");
        for part in ["id", "client_data", "authenticator_data", "signature"] {
            assert!(detail["passkey"]["assertion"][part].is_string(), "{part}: {detail}");
        }
        let mut remaining = Vec::new();
        for (index, action) in detail["actions"].as_array().unwrap().iter().enumerate() {
            let part = |name: &str| action[name].clone();
            if part("max_uses") != json!(0) {
                let words = [part("credential"), part("method"), part("url"), part("content"), part("max_uses")];
                remaining.push([vec![json!(index + 1)], words.to_vec()].concat());
            }
        }
        let covered =
            json!([detail["task_id"], detail["agent"], detail["purpose"], detail["minutes"], remaining]);
        let text = format!("pyxis: approve a task, version 1\n{covered}");
        assert_eq!(detail["digest"], digest::sha256_hex(text.as_bytes()));
    }

    async fn an_answer_is_for_exactly_what_was_on_the_form(scene: &mut Scene) {
        let changed: [&FormFields<'_>; 5] = [
            &[("keep-1", "on"), ("uses-1", "3"), ("minutes", "30")],
            &[("keep-1", "on"), ("uses-1", "2"), ("minutes", "60")],
            &[("keep-1", "on"), ("uses-1", "2"), ("keep-2", "on"), ("uses-2", "1"), ("minutes", "30")],
            &[("keep-2", "on"), ("uses-2", "2"), ("minutes", "30")],
            &[("keep-1", "on"), ("uses-1", "10"), ("keep-2", "on"), ("uses-2", "3"), ("minutes", "120")],
        ];
        for form in changed {
            let answer = scene.begin(TRIMMED).await;
            scene.finish(&answer, form).await;
            assert_eq!(scene.state().await, TaskState::Proposed, "{form:?}");
            scene.finish(&answer, TRIMMED).await;
            assert_eq!(scene.state().await, TaskState::Proposed, "the answer is used up");
        }
        // A proposal that is changed under the form.
        let answer = scene.begin(TRIMMED).await;
        scene.server.database.run("UPDATE task_actions SET url = url || 'x'").await;
        scene.finish(&answer, TRIMMED).await;
        assert_eq!(scene.state().await, TaskState::Proposed);
        let page = scene.page();
        assert!(scene.owner.get(&page).await.text.contains("The passkey was not accepted"));
        let answer = scene.begin(TRIMMED).await;
        scene.finish(&answer, TRIMMED).await;
        assert_eq!(scene.state().await, TaskState::Approved);
    }

    async fn an_answer_for_one_task_is_for_no_other_and_for_no_request(scene: &mut Scene) {
        let other = propose(&scene.server, &scene.team, "Refund the April orders", 120).await;
        let (begun, given) = scene.begin(TRIMMED).await;
        let page = format!("/app/tasks/{other}");
        finish(&mut scene.owner, &page, &format!("{page}/approve"), &begun, &given, TRIMMED).await;
        assert_eq!(stored(&scene.server, &scene.team, other).await.state, TaskState::Proposed);
        let txn = scene.server.post_pending(&scene.team, "/v1/pay", "", "{}").await;
        let page = format!("/app/approvals/{txn}");
        let (begun, given) = scene.begin(TRIMMED).await;
        finish(&mut scene.owner, &page, &format!("{page}/approve"), &begun, &given, &[]).await;
        assert_eq!(state(&scene.server, &scene.team, &txn).await, ApprovalState::Pending);
        let begun = begin(&mut scene.owner, &page, &format!("{page}/begin"), &[]).await;
        let given = scene.key.get(&begun["options"]);
        scene.finish(&(begun, given), TRIMMED).await;
        assert_eq!(scene.state().await, TaskState::Proposed);
    }

    async fn an_answer_is_its_persons_own(scene: &mut Scene) {
        let page = scene.page();
        let mut bo = scene.server.with_person(&scene.team, "bo@example.com", Role::Admin).await;
        let lacks = "requires a passkey, and you have none";
        assert!(bo.get(&page).await.text.contains(lacks) && !scene.owner.get(&page).await.text.contains(lacks));
        let refused = bo.submit(&page, &format!("{page}/begin"), TRIMMED).await;
        assert_eq!(refused.status, StatusCode::CONFLICT);
        assert!(refused.text.contains("no passkey yet"), "{}", refused.text);
        let mut theirs = Authenticator::new(ORIGIN_URL, 5);
        register(&mut bo, &mut theirs, "bo").await;
        let (begun, given) = scene.begin(TRIMMED).await;
        finish(&mut bo, &page, &format!("{page}/approve"), &begun, &given, TRIMMED).await;
        let (begun, _) = scene.begin(TRIMMED).await;
        let given = theirs.get(&begun["options"]);
        scene.finish(&(begun, given), TRIMMED).await;
        assert_eq!(scene.state().await, TaskState::Proposed);
    }

    async fn a_form_without_a_passkey_is_sent_back_to_the_page(scene: &mut Scene) {
        let page = scene.page();
        let sent = scene.owner.submit(&page, &format!("{page}/approve"), TRIMMED).await;
        assert_eq!((sent.status, sent.location()), (StatusCode::SEE_OTHER, page.as_str()));
        assert!(scene.owner.get(&page).await.text.contains("This task needs a passkey."));
        assert_eq!(scene.state().await, TaskState::Proposed);
        for (form, why) in [
            (&[("keep-1", "on"), ("uses-1", "11"), ("minutes", "30")][..], "1 to 10 uses"),
            (&[("keep-1", "on"), ("uses-1", "many"), ("minutes", "30")][..], "number of requests"),
            (&[("keep-1", "on"), ("uses-1", "1")][..], "how long"),
        ] {
            let refused = scene.owner.submit(&page, &format!("{page}/begin"), form).await;
            assert_eq!(refused.status, StatusCode::CONFLICT, "{form:?}");
            assert!(refused.text.contains(why), "{why}: {}", refused.text);
        }
        // Denying needs none.
        scene.owner.submit(&page, &format!("{page}/deny"), &[]).await;
        assert_eq!(scene.state().await, TaskState::Denied);
        let refused = scene.owner.submit("/app/settings", &format!("{page}/begin"), TRIMMED).await;
        assert_eq!(refused.status, StatusCode::CONFLICT);
    }

    async fn a_policy_that_comes_to_require_a_passkey_stops_a_task_without_one_only(scene: &mut Scene) {
        set_policy(&scene.server, &scene.team, "{}").await;
        let page = scene.page();
        let text = scene.owner.get(&page).await.text;
        assert!(text.contains("Approve task") && !text.contains("data-ceremony"), "{text}");
        scene.owner.submit(&page, &format!("{page}/approve"), TRIMMED).await;
        assert_eq!(scene.state().await, TaskState::Approved);
        set_policy(&scene.server, &scene.team, r#"{"passkey_required":true}"#).await;
        assert_eq!(scene.state().await, TaskState::Stopped);
        scene.task = propose(&scene.server, &scene.team, "Refund the April orders", 120).await;
        let answer = scene.begin(TRIMMED).await;
        scene.finish(&answer, TRIMMED).await;
        set_policy(&scene.server, &scene.team, r#"{"passkey_required":true,"deny_urls":["/v1/other"]}"#).await;
        assert_eq!(scene.state().await, TaskState::Approved);
    }
}
