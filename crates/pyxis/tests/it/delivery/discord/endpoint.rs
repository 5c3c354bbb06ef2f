//! The endpoint of interactions: signatures, times, and answers that take long.

use std::io;

use axum::body::Bytes;
use futures_util::stream;
use pyxis_core::actor::ActorId;
use pyxis_store::audit::AuditRecord;

use super::*;

engines! {
    async fn discord_examines_the_endpoint(scene: &mut Scene) {
        let (status, answer) = scene.deliver_signed(&scene.discord.ping().to_string(), 0).await;
        assert_eq!((status, answer), (StatusCode::OK, json!({ "type": 1 })));
    }

    async fn only_a_right_and_recent_signature_of_this_application_counts(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        let press = scene.discord.press(&message, "Approve", ADA);
        let body = press.to_string();
        for seconds in [-301, 301, -86_400] {
            assert_eq!(scene.deliver_signed(&body, seconds).await.0, StatusCode::UNAUTHORIZED, "{seconds}");
        }
        let at = scene.proxy.clock_now().seconds().to_string();
        let right = signature(&at, &body);
        let (other_body, other_time) = (signature(&at, "{}"), signature("1", &body));
        let cut = right[..126].to_owned();
        for wrong in [&other_body, &other_time, &cut, "", "00", "not hex"] {
            assert_eq!(scene.deliver(Some(&at), Some(wrong), &body).await.0, StatusCode::UNAUTHORIZED, "{wrong}");
        }
        for (timestamp, signature) in [(None, Some(&*right)), (Some(&*at), None), (None, None), (Some("now"), Some(&*right))] {
            assert_eq!(scene.deliver(timestamp, signature, &body).await.0, StatusCode::UNAUTHORIZED);
        }
        let mut foreign = press.clone();
        foreign["application_id"] = "1100000000000000002".into();
        assert_eq!(scene.deliver_signed(&foreign.to_string(), 0).await.0, StatusCode::UNAUTHORIZED);
        for broken in ["", "{", "7", r#"{"type":3}"#, r#"{"type":"3","application_id":"1","token":"t"}"#] {
            assert_eq!(scene.deliver_signed(broken, 0).await.0, StatusCode::BAD_REQUEST, "{broken}");
        }
        let mut nobody = press.clone();
        nobody["member"] = Value::Null;
        assert_eq!(scene.interaction_response(&nobody).await.text(), "This button no longer works.");
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        assert_eq!(scene.deliver(Some(&at), Some(&right), &body).await.0, StatusCode::OK);
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
    }

    async fn a_body_is_not_awaited_after_headers_that_cannot_be_right(scene: &mut Scene) {
        let now = scene.proxy.clock_now().seconds();
        let (at, old, any) = (now.to_string(), (now - 301).to_string(), "0".repeat(128));
        let cut = any[2..].to_owned();
        for (timestamp, signature) in
            [(None, Some(&any)), (Some(&at), None), (Some(&old), Some(&any)), (Some(&at), Some(&cut))]
        {
            let mut request = Request::post("/discord/interactions");
            for (name, value) in [("x-signature-timestamp", timestamp), ("x-signature-ed25519", signature)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
            let never = Body::from_stream(stream::pending::<io::Result<Bytes>>());
            let answer = scene.proxy.call(request.body(never).unwrap()).await;
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{timestamp:?} {signature:?}");
        }
        let long = " ".repeat(256 * 1024 + 1);
        assert_eq!(scene.deliver_signed(&long, 0).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    }

    async fn a_request_that_is_sent_again_changes_nothing_more(scene: &mut Scene) {
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        let link = scene.discord.link(ADA, &scene.code(owner.user).await);
        assert!(scene.interaction_response(&link).await.text().starts_with("Linked to"));
        assert!(scene.interaction_response(&link).await.text().contains("wrong or has expired"));
        let (txn, message) = scene.announce(1).await;
        let press = scene.discord.press(&message, "Approve", ADA);
        for says in ["Approved. The request is being sent.", "Too late: the request is already approved."] {
            assert_eq!(scene.interaction_response(&press).await.text(), says);
        }
        assert_eq!(votes::list(&scene.proxy.state.store, scene.proxy.workspace, txn).await.unwrap().len(), 1);
    }

    async fn an_answer_that_takes_long_replaces_the_response(scene: &mut Scene) {
        scene.link(ADA).await;
        let (txn, message) = scene.announce(1).await;
        // Every decision has an audit record, and waits for one that is being written.
        let state = &scene.proxy.state;
        let mut held = state.store.begin().await.unwrap();
        let mut record = AuditRecord::new(state.now(), AuditEvent::SettingsChanged);
        record.workspace_id = Some(scene.proxy.workspace);
        record.actor = ActorId::System;
        audit::append_in(&mut held, &state.audit_keys, &[record]).await.unwrap();
        let press = scene.discord.press(&message, "Approve", ADA);
        assert_eq!(scene.interaction_response(&press).await, ShownResponse::Later);
        held.commit().await.unwrap();
        assert_eq!(scene.discord.shown_later(&press).await, "Approved. The request is being sent.");
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
        let calls = scene.discord.calls();
        assert!(calls.iter().any(|call| call.call.ends_with("/messages/@original")));
    }

    async fn without_an_application_there_is_no_endpoint(database: TestDatabase) {
        let proxy = Proxy::with_config(database, Config::default()).await;
        let request = Request::post("/discord/interactions").body(Body::from("{}")).unwrap();
        assert_eq!(proxy.call(request).await.status(), StatusCode::NOT_FOUND);
    }
}
