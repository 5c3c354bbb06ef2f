//! Escalation of requests that no one decides, people on call, and quiet hours
//! (`docs/reference/notifications.md#escalation-and-quiet-hours`).

use std::time::Duration;

use http::StatusCode;
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{TxnId, UserId};
use pyxis_core::policy::Policy;
use pyxis_gateway::admin::push::{self, Subscription};
use pyxis_gateway::admin::{people, policies};
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::{Error, State, workers};
use pyxis_store::audit::{self, AuditFilter};
use pyxis_store::chat_identities::{self, ChatIdentityRow};
use pyxis_store::chat_messages;
use pyxis_store::quiet_hours::{self, QuietHoursRow};
use pyxis_testkit::engines;
use pyxis_testkit::push::Browser;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use crate::races::proxy::Proxy;

mod messages;

const SERVICE: &str = "push.example.com";
/// A room that is told first, one after 10 minutes, and everyone after 20.
const POLICY: &str = r#"{"channel": "slack", "slack_channel": "C0OPS", "escalation": [
    {"after_minutes": 10, "telegram_chat": "-100200"}, {"after_minutes": 20, "people": "eligible"}]}"#;

fn minutes(count: u64) -> Duration {
    Duration::from_mins(count)
}

pub(super) fn person(proxy: &Proxy, index: usize) -> UserId {
    proxy.approver(index, DecisionSurface::Dashboard).user
}

/// Links an account on Telegram, where its id is also that of the private chat.
pub(super) async fn link(proxy: &Proxy, user: UserId, account: &str) {
    let new = ChatIdentityRow {
        workspace_id: proxy.workspace,
        platform: ChatPlatform::TELEGRAM,
        external_id: account.to_owned(),
        user_id: user,
        label: account.to_owned(),
        linked_at: proxy.clock_now(),
    };
    chat_identities::link(&proxy.state.store, &new).await.unwrap();
}

/// Chats with a message about a transaction, and the times when they are due.
async fn messages(proxy: &Proxy, txn: TxnId) -> Vec<(String, Option<UnixMillis>)> {
    let rows = chat_messages::list(&proxy.state.store, proxy.workspace, txn).await.unwrap();
    let mut told: Vec<_> = rows.into_iter().map(|row| (row.chat, row.next_at)).collect();
    told.sort();
    told
}

async fn chats(proxy: &Proxy, txn: TxnId) -> Vec<String> {
    messages(proxy, txn).await.into_iter().map(|(chat, _)| chat).collect()
}

async fn escalate(proxy: &Proxy) -> Option<UnixMillis> {
    workers::escalate_tick(&proxy.state).await.unwrap()
}

/// Details of the recorded escalations, oldest first.
async fn recorded(proxy: &Proxy) -> Vec<Value> {
    let events = vec![AuditEvent::ApprovalEscalated];
    let filter = AuditFilter { events, limit: 100, ..AuditFilter::default() };
    let found = audit::search(&proxy.state.store, proxy.workspace, &filter).await.unwrap();
    let mut details: Vec<Value> =
        found.into_iter().map(|row| serde_json::from_str(&row.record.record.detail).unwrap()).collect();
    details.reverse();
    details
}

/// Another node on the same database.
pub(super) fn second_node(proxy: &Proxy) -> State {
    proxy.another_node(proxy.state.config.clone()).0
}

/// Sets the hours around now as quiet, from an hour ago for an hour and a half. Returns their end.
pub(super) async fn set_quiet(proxy: &Proxy, user: UserId) -> UnixMillis {
    let minute = proxy.clock_now().seconds().div_euclid(60);
    let of_day = |minute: i64| minute.rem_euclid(24 * 60);
    let row = QuietHoursRow {
        user_id: user,
        workspace_id: proxy.workspace,
        time_zone: "UTC".to_owned(),
        start_minute: of_day(minute - 60),
        end_minute: of_day(minute + 30),
    };
    quiet_hours::set(&proxy.state.store, &row).await.unwrap();
    UnixMillis((minute + 30) * 60_000)
}

async fn push_service(proxy: &Proxy) -> Upstream {
    let service = Upstream::https(&proxy.authority, &[SERVICE]).await;
    service.reply_with(|_| Reply::new(201));
    service
}

async fn subscribe(proxy: &Proxy, service: &Upstream, user: UserId, path: &str) {
    let browser = Browser::new();
    let new = Subscription {
        endpoint: service.url_at(SERVICE, path),
        p256dh: browser.p256dh(),
        auth: browser.auth(),
        label: "Chromium on Linux".to_owned(),
    };
    push::subscribe(&proxy.state, &proxy.actor(), user, new).await.unwrap();
}

engines! {
    async fn a_step_is_performed_after_its_minutes_and_not_before(proxy: &Proxy) {
        proxy.policy(POLICY).await;
        link(proxy, person(proxy, 0), "4242").await;
        let asked_at = proxy.clock_now();
        let txn = proxy.pause(1).await;
        assert_eq!(escalate(proxy).await, Some(asked_at.plus(minutes(10))));
        proxy.advance(Duration::from_millis(599_999));
        escalate(proxy).await;
        assert_eq!(chats(proxy, txn).await, ["C0OPS"]);
        proxy.advance(Duration::from_millis(1));
        assert_eq!(escalate(proxy).await, Some(asked_at.plus(minutes(20))));
        assert_eq!(chats(proxy, txn).await, ["-100200", "C0OPS"]);
        escalate(proxy).await;
        assert_eq!(chats(proxy, txn).await.len(), 2, "once");
        proxy.advance(minutes(10));
        assert_eq!(escalate(proxy).await, None);
        assert_eq!(chats(proxy, txn).await, ["-100200", "4242", "C0OPS"]);
        assert_eq!(recorded(proxy).await, [
            json!({"step": 1, "channels": ["telegram"], "asked": 1}),
            json!({"step": 2, "channels": ["telegram"], "asked": 1}),
        ]);
    }

    async fn a_request_that_is_no_longer_pending_is_not_escalated(proxy: &Proxy) {
        proxy.policy(r#"{"channel": "slack", "slack_channel": "C0OPS", "approval_timeout_secs": 300,
            "escalation": [{"after_minutes": 4, "telegram_chat": "-1"}, {"after_minutes": 6, "telegram_chat": "-2"}]}"#).await;
        let owner = proxy.approver(0, DecisionSurface::Dashboard);
        let mut all = Vec::new();
        for round in 1..=4 {
            all.push(proxy.pause(round).await);
        }
        decide(&proxy.state, &owner, all[0], Decision::Approve(None)).await.unwrap();
        decide(&proxy.state, &owner, all[1], Decision::Deny(None)).await.unwrap();
        assert_eq!(proxy.withdraw(all[2]).await, StatusCode::NO_CONTENT);
        // The last one expires before anyone looks for due steps.
        proxy.advance(minutes(10));
        assert_eq!(escalate(proxy).await, None);
        workers::expire_tick(&proxy.state).await.unwrap();
        escalate(proxy).await;
        for txn in all {
            assert_eq!(chats(proxy, txn).await, ["C0OPS"]);
        }
        assert!(recorded(proxy).await.is_empty());
    }

    async fn a_request_that_lacks_one_of_two_approvals_is_escalated(proxy: &Proxy) {
        proxy.policy(r#"{"channel": "slack", "slack_channel": "C0OPS", "min_approvals": 2,
            "escalation": [{"after_minutes": 4, "telegram_chat": "-1"}]}"#).await;
        let txn = proxy.pause(1).await;
        let owner = proxy.approver(0, DecisionSurface::Dashboard);
        decide(&proxy.state, &owner, txn, Decision::Approve(None)).await.unwrap();
        proxy.advance(minutes(4));
        escalate(proxy).await;
        assert_eq!(chats(proxy, txn).await, ["-1", "C0OPS"]);
    }

    async fn of_two_nodes_only_one_performs_a_step(proxy: &Proxy) {
        proxy.policy(POLICY).await;
        let second = second_node(proxy);
        let mut all = Vec::new();
        for round in 1..=8 {
            all.push(proxy.pause(round).await);
        }
        proxy.advance(minutes(10));
        let ticks = [&proxy.state, &second, &proxy.state, &second].map(workers::escalate_tick);
        for done in futures_util::future::join_all(ticks).await {
            done.unwrap();
        }
        for txn in all {
            assert_eq!(chats(proxy, txn).await, ["-100200", "C0OPS"]);
        }
        assert_eq!(recorded(proxy).await.len(), 8);
    }

    async fn a_node_that_starts_later_performs_what_became_due_before(proxy: &Proxy) {
        proxy.policy(POLICY).await;
        let txn = proxy.pause(1).await;
        proxy.advance(minutes(15));
        let restarted = second_node(proxy);
        workers::escalate_tick(&restarted).await.unwrap();
        assert_eq!(chats(proxy, txn).await, ["-100200", "C0OPS"]);
    }

    async fn the_next_people_are_asked_and_no_one_twice(proxy: &Proxy) {
        let service = push_service(proxy).await;
        proxy.policy(r#"{"channel": "chat_primary", "on_call": ["a@example.com"], "escalation": [
            {"after_minutes": 5, "people": ["B@example.com"]}, {"after_minutes": 10, "people": "eligible"}]}"#).await;
        let (first, second) = (person(proxy, 0), person(proxy, 1));
        let (third, _) = people::add(&proxy.state, &proxy.actor(), "c@example.com", Role::Owner).await.unwrap();
        let (member, _) = people::add(&proxy.state, &proxy.actor(), "m@example.com", Role::Member).await.unwrap();
        for (user, account) in [(first, "1"), (second, "2"), (third.id, "3"), (member.id, "4")] {
            link(proxy, user, account).await;
            subscribe(proxy, &service, user, &format!("/{account}")).await;
        }
        let txn = proxy.pause(1).await;
        let told = async |count: usize| {
            push::send_due(&proxy.state).await.unwrap();
            let mut all: Vec<String> = service.received(count).await.into_iter().map(|sent| sent.target).collect();
            all.sort();
            (chats(proxy, txn).await, all)
        };
        let expected = |accounts: &[&str]| {
            let paths = accounts.iter().map(|account| format!("/{account}")).collect::<Vec<_>>();
            (accounts.iter().map(|account| (*account).to_owned()).collect::<Vec<_>>(), paths)
        };
        assert_eq!(told(1).await, expected(&["1"]), "on call");
        proxy.advance(minutes(5));
        escalate(proxy).await;
        assert_eq!(told(2).await, expected(&["1", "2"]));
        proxy.advance(minutes(5));
        escalate(proxy).await;
        assert_eq!(told(3).await, expected(&["1", "2", "3"]), "everyone eligible who was not asked before");
    }

    async fn people_on_call_are_asked_first_and_rooms_as_well(proxy: &Proxy) {
        let policy = r#"{"channel": "slack", "slack_channel": "C0OPS", "on_call": ["b@example.com"]}"#;
        proxy.policy(policy).await;
        link(proxy, person(proxy, 0), "1").await;
        let unreachable = proxy.pause(1).await;
        assert_eq!(chats(proxy, unreachable).await, ["C0OPS"]);
        link(proxy, person(proxy, 1), "2").await;
        let txn = proxy.pause(2).await;
        assert_eq!(chats(proxy, txn).await, ["2", "C0OPS"]);
        // Being on call narrows who is asked, not who may decide.
        let first = proxy.approver(0, DecisionSurface::Dashboard);
        decide(&proxy.state, &first, txn, Decision::Approve(None)).await.unwrap();
    }

    async fn everyone_is_asked_if_no_one_on_call_can_be_reached(proxy: &Proxy) {
        proxy.policy(r#"{"channel": "chat_primary", "on_call": ["b@example.com"]}"#).await;
        link(proxy, person(proxy, 0), "1").await;
        let txn = proxy.pause(1).await;
        assert_eq!(chats(proxy, txn).await, ["1"]);
    }

    async fn quiet_hours_hold_messages_until_their_end_or_the_decision(proxy: &Proxy) {
        let service = push_service(proxy).await;
        proxy.policy(r#"{"channel": "chat_primary"}"#).await;
        let (awake, asleep) = (person(proxy, 0), person(proxy, 1));
        link(proxy, awake, "1").await;
        link(proxy, asleep, "2").await;
        subscribe(proxy, &service, asleep, "/2").await;
        let (now, end) = (proxy.clock_now(), set_quiet(proxy, asleep).await);
        let (held, decided) = (proxy.pause(1).await, proxy.pause(2).await);
        assert_eq!(messages(proxy, held).await, [("1".to_owned(), Some(now)), ("2".to_owned(), Some(end))]);
        proxy.policy(r#"{"channel": "dashboard"}"#).await;
        let pushed = proxy.pause(3).await;
        push::send_due(&proxy.state).await.unwrap();
        assert!(service.requests().is_empty());
        let owner = proxy.approver(0, DecisionSurface::Dashboard);
        decide(&proxy.state, &owner, decided, Decision::Deny(None)).await.unwrap();
        // What was held is due with the decision, and is then dropped rather than posted.
        let rows = chat_messages::list(&proxy.state.store, proxy.workspace, decided).await.unwrap();
        assert!(rows.iter().all(|row| row.message_ref.is_none() && row.wanted == ApprovalState::Denied));
        proxy.advance(end.since(proxy.clock_now()));
        push::send_due(&proxy.state).await.unwrap();
        assert_eq!(service.received(1).await[0].header("topic"), Some(pushed.to_string().replace('-', "").as_str()));
    }

    async fn quiet_hours_hold_nothing_from_people_on_call_or_the_only_approver(proxy: &Proxy) {
        let now = proxy.clock_now();
        for index in 0..2 {
            link(proxy, person(proxy, index), &index.to_string()).await;
            set_quiet(proxy, person(proxy, index)).await;
        }
        proxy.policy(r#"{"channel": "chat_primary", "on_call": ["a@example.com"]}"#).await;
        let on_call = proxy.pause(1).await;
        assert_eq!(messages(proxy, on_call).await, [("0".to_owned(), Some(now))]);
        proxy.policy(r#"{"channel": "chat_primary", "allowed_approvers": ["b@example.com"]}"#).await;
        let only = proxy.pause(2).await;
        assert_eq!(messages(proxy, only).await, [("1".to_owned(), Some(now))]);
    }

    async fn quiet_hours_that_outlast_the_request_leave_the_person_out(proxy: &Proxy) {
        proxy.policy(r#"{"channel": "chat_primary", "approval_timeout_secs": 600}"#).await;
        link(proxy, person(proxy, 0), "1").await;
        link(proxy, person(proxy, 1), "2").await;
        set_quiet(proxy, person(proxy, 1)).await;
        let txn = proxy.pause(1).await;
        assert_eq!(chats(proxy, txn).await, ["1"]);
        assert_eq!(proxy.poll(txn).await.body()["asked"][0]["count"], 1);
    }

    async fn quiet_hours_hold_nothing_if_too_few_would_be_told_in_time(proxy: &Proxy) {
        let short = r#"{"channel": "chat_primary", "approval_timeout_secs": 600}"#;
        let now = proxy.clock_now();
        let at_once = |accounts: &[&str]| accounts.iter().map(|one| ((*one).to_owned(), Some(now))).collect::<Vec<_>>();
        // The other approver is awake, but has no account.
        proxy.policy(short).await;
        link(proxy, person(proxy, 1), "2").await;
        set_quiet(proxy, person(proxy, 1)).await;
        let alone = proxy.pause(1).await;
        assert_eq!(messages(proxy, alone).await, at_once(&["2"]));
        // Two are needed, and one would sleep until after the request.
        link(proxy, person(proxy, 0), "1").await;
        proxy.policy(&short.replace('{', r#"{"min_approvals": 2, "#)).await;
        let both = proxy.pause(2).await;
        assert_eq!(messages(proxy, both).await, at_once(&["1", "2"]));
        // Both sleep until after it.
        proxy.policy(short).await;
        set_quiet(proxy, person(proxy, 0)).await;
        let nobody = proxy.pause(3).await;
        assert_eq!(messages(proxy, nobody).await, at_once(&["1", "2"]));
        // A room is told in their place.
        proxy.policy(r#"{"channel": "slack", "slack_channel": "C0OPS", "approval_timeout_secs": 600,
            "escalation": [{"after_minutes": 1, "people": "eligible"}]}"#).await;
        let room = proxy.pause(4).await;
        proxy.advance(minutes(1));
        escalate(proxy).await;
        assert_eq!(chats(proxy, room).await, ["C0OPS"]);
    }

    async fn a_step_asks_a_person_whose_message_is_held_without_a_second_one(proxy: &Proxy) {
        let service = push_service(proxy).await;
        proxy.policy(r#"{"channel": "chat_primary", "escalation": [
            {"after_minutes": 10, "people": ["b@example.com"]}, {"after_minutes": 20, "people": ["b@example.com"]}]}"#).await;
        link(proxy, person(proxy, 0), "1").await;
        link(proxy, person(proxy, 1), "2").await;
        let end = set_quiet(proxy, person(proxy, 1)).await;
        let asked_at = proxy.clock_now();
        let txn = proxy.pause(1).await;
        subscribe(proxy, &service, person(proxy, 1), "/2").await;
        proxy.advance(minutes(10));
        escalate(proxy).await;
        let held = [("1".to_owned(), Some(asked_at)), ("2".to_owned(), Some(end))];
        assert_eq!(messages(proxy, txn).await, held, "still quiet");
        quiet_hours::remove(&proxy.state.store, proxy.workspace, person(proxy, 1)).await.unwrap();
        proxy.advance(minutes(10));
        escalate(proxy).await;
        let now = proxy.clock_now();
        let told = [("1".to_owned(), Some(asked_at)), ("2".to_owned(), Some(now))];
        assert_eq!(messages(proxy, txn).await, told, "brought forward");
        push::send_due(&proxy.state).await.unwrap();
        assert_eq!(service.received(1).await.len(), 1);
        assert_eq!(recorded(proxy).await, [
            json!({"step": 1, "channels": ["push"], "asked": 1}),
            json!({"step": 2, "channels": ["push", "telegram"], "asked": 2}),
        ]);
        let asked = proxy.poll(txn).await.body()["asked"].clone();
        assert_eq!(asked.as_array().unwrap().iter().filter(|one| one["channel"] == "telegram").count(), 2);
    }

    async fn a_person_who_approved_is_not_asked_again(proxy: &Proxy) {
        proxy.policy(r#"{"channel": "slack", "slack_channel": "C0OPS", "min_approvals": 2,
            "escalation": [{"after_minutes": 4, "people": "eligible"}]}"#).await;
        link(proxy, person(proxy, 0), "1").await;
        link(proxy, person(proxy, 1), "2").await;
        let txn = proxy.pause(1).await;
        let owner = proxy.approver(0, DecisionSurface::Dashboard);
        decide(&proxy.state, &owner, txn, Decision::Approve(None)).await.unwrap();
        proxy.advance(minutes(4));
        escalate(proxy).await;
        assert_eq!(chats(proxy, txn).await, ["2", "C0OPS"]);
    }

    async fn a_person_who_may_no_longer_decide_is_not_told_after_their_quiet_hours(proxy: &Proxy) {
        let service = push_service(proxy).await;
        proxy.policy(r#"{"channel": "dashboard"}"#).await;
        let asleep = person(proxy, 1);
        subscribe(proxy, &service, asleep, "/2").await;
        let end = set_quiet(proxy, asleep).await;
        proxy.pause(1).await;
        proxy.policy(r#"{"channel": "dashboard", "allowed_approvers": ["a@example.com"]}"#).await;
        proxy.advance(end.since(proxy.clock_now()));
        push::send_due(&proxy.state).await.unwrap();
        assert!(service.requests().is_empty());
    }

    async fn the_agent_sees_who_was_asked_where_and_never_who_they_are(proxy: &Proxy) {
        proxy.policy(POLICY).await;
        let asked_at = proxy.clock_now();
        link(proxy, person(proxy, 0), "4242").await;
        link(proxy, person(proxy, 1), "4343").await;
        let end = set_quiet(proxy, person(proxy, 1)).await;
        let txn = proxy.pause(1).await;
        let slack = json!({"channel": "slack", "kind": "room", "at": asked_at.to_rfc3339()});
        let body = proxy.poll(txn).await.into_body();
        assert_eq!(body["asked"], json!([slack]));
        assert_eq!(body["next_step_at"], asked_at.plus(minutes(10)).to_rfc3339());
        proxy.advance(minutes(20));
        escalate(proxy).await;
        let body = proxy.poll(txn).await.into_body();
        let at = asked_at.plus(minutes(20)).to_rfc3339();
        let mut asked = vec![
            slack,
            json!({"channel": "telegram", "kind": "people", "count": 1, "at": at}),
            json!({"channel": "telegram", "kind": "room", "at": at}),
        ];
        assert_eq!(body["asked"], json!(asked), "not when quiet hours end");
        assert!(body.get("next_step_at").is_none());
        let text = body.to_string();
        for hidden in ["C0OPS", "-100200", "4242", "4343", "example.com", &person(proxy, 0).to_string()] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
        proxy.advance(end.since(proxy.clock_now()));
        asked.push(json!({"channel": "telegram", "kind": "people", "count": 1, "at": end.to_rfc3339()}));
        assert_eq!(proxy.poll(txn).await.body()["asked"], json!(asked));
        proxy.policy(r#"{"channel": "agent_reflected"}"#).await;
        let nowhere = proxy.pause(2).await;
        assert_eq!(proxy.poll(nowhere).await.body()["asked"], json!([]));
    }

    async fn a_policy_that_changes_meanwhile_decides_about_the_steps_to_come(proxy: &Proxy) {
        proxy.policy(POLICY).await;
        let txn = proxy.pause(1).await;
        link(proxy, person(proxy, 0), "1").await;
        link(proxy, person(proxy, 1), "2").await;
        // The room of the first step is gone, and only one person may decide.
        proxy.policy(r#"{"channel": "slack", "allowed_approvers": ["b@example.com"],
            "escalation": [{"after_minutes": 20, "people": "eligible"}]}"#).await;
        let next = proxy.poll(txn).await.body()["next_step_at"].clone();
        assert_eq!(next, proxy.clock_now().plus(minutes(20)).to_rfc3339());
        proxy.advance(minutes(20));
        escalate(proxy).await;
        assert_eq!(chats(proxy, txn).await, ["2", "C0OPS"]);
        assert_eq!(recorded(proxy).await, [json!({"step": 2, "channels": ["telegram"], "asked": 1})]);
    }

    async fn people_who_may_not_decide_are_refused_in_a_policy(proxy: &Proxy) {
        people::add(&proxy.state, &proxy.actor(), "m@example.com", Role::Member).await.unwrap();
        for (document, named) in [
            (r#"{"on_call": ["nobody@example.com"]}"#, "on_call"),
            (r#"{"on_call": ["m@example.com"]}"#, "on_call"),
            (r#"{"escalation": [{"after_minutes": 5, "people": ["m@example.com"]}]}"#, "escalation"),
        ] {
            let policy = Policy::from_json(document.as_bytes()).unwrap();
            let refused = policies::put(&proxy.state, &proxy.actor(), "api", &policy).await;
            let Err(Error::InvalidField { field, detail }) = refused else { panic!("{document}: {refused:?}") };
            assert_eq!(field, named, "{document}");
            assert!(detail.contains("may not decide here; name an owner, an admin, or a member"), "{detail}");
        }
    }
}
