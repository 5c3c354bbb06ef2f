//! Signed requests in place of Socket Mode.

use std::io;

use axum::body::{Body, Bytes};
use futures_util::stream;
use http::{Request, StatusCode};
use pyxis_testkit::slack::{form, signature};

use super::*;

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

impl Scene {
    /// A request with this time and signature, or without.
    async fn deliver(
        &self,
        kind: &str,
        timestamp: Option<&str>,
        signature: Option<&str>,
        body: &str,
    ) -> (StatusCode, Value) {
        let mut request = Request::post("/slack/events").header("content-type", kind);
        for (name, value) in [("x-slack-request-timestamp", timestamp), ("x-slack-signature", signature)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let answer = self.proxy.call(request.body(Body::from(body.to_owned())).unwrap()).await;
        (answer.status(), answer.into_body())
    }

    /// A request that Slack signed at this time, relative to now.
    async fn deliver_signed(&self, kind: &str, body: &str, seconds: i64) -> (StatusCode, Value) {
        let at = (self.proxy.clock_now().seconds() + seconds).to_string();
        let signed = signature(SIGNING_SECRET, &at, body);
        self.deliver(kind, Some(&at), Some(&signed), body).await
    }
}

engines! {
    async fn signed_requests_link_decide_and_open_a_window(database: TestDatabase) {
        let scene = Scene::in_mode(database, Mode::Http).await;
        let address = json!({ "type": "url_verification", "token": "legacy", "challenge": "are-you-there" });
        let (status, answer) = scene.deliver_signed(JSON, &address.to_string(), 0).await;
        assert_eq!((status, &answer["challenge"]), (StatusCode::OK, &json!("are-you-there")));
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        let link = scene.slack.write_payload(ADA, &format!("link {}", scene.code(owner.user).await));
        assert_eq!(scene.deliver_signed(JSON, &link.to_string(), -299).await.0, StatusCode::OK);
        scene.until_posted("Linked to a@example.com").await;
        let (approved, message) = scene.announce(1).await;
        let press = scene.slack.press_payload(&message, message.button("Approve"), ADA);
        assert_eq!(scene.deliver_signed(FORM, &form(&press), 299).await.0, StatusCode::OK);
        assert_ne!(scene.state(approved).await, ApprovalState::Pending);
        scene.edited(&message, "Approved by a@example.com").await;
        let (denied, message) = scene.announce(2).await;
        let press = scene.slack.press_payload(&message, message.button("Deny"), ADA);
        assert_eq!(scene.deliver_signed(FORM, &form(&press), 0).await.0, StatusCode::OK);
        let submitted = scene.slack.submit_payload(ADA, Some("not now"));
        assert_eq!(scene.deliver_signed(FORM, &form(&submitted), 0).await.0, StatusCode::OK);
        assert_eq!(scene.state(denied).await, ApprovalState::Denied);
        assert!(scene.edited(&message, "Denied by a@example.com").await.text.contains("“not now”"));
        assert!(scene.slack.calls().iter().all(|call| call.method != "apps.connections.open"));
    }

    async fn a_body_is_not_awaited_after_headers_that_cannot_be_right(database: TestDatabase) {
        let scene = Scene::in_mode(database, Mode::Http).await;
        let now = scene.proxy.clock_now().seconds();
        let any = format!("v0={}", "0".repeat(64));
        for (at, signature) in [(now - 301, any.as_str()), (now, &any[..65]), (now, &any[3..])] {
            let never = Body::from_stream(stream::pending::<io::Result<Bytes>>());
            let request = Request::post("/slack/events")
                .header("x-slack-request-timestamp", at)
                .header("x-slack-signature", signature);
            let answer = scene.proxy.call(request.body(never).unwrap()).await;
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{at} {signature}");
        }
        let long = " ".repeat(256 * 1024 + 1);
        assert_eq!(scene.deliver_signed(JSON, &long, 0).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    }

    async fn only_a_right_and_recent_signature_counts(database: TestDatabase) {
        let scene = Scene::in_mode(database, Mode::Http).await;
        let owner = scene.proxy.approver(0, DecisionSurface::Dashboard);
        let link = scene.slack.write_payload(ADA, &format!("link {}", scene.code(owner.user).await)).to_string();
        scene.deliver_signed(JSON, &link, 0).await;
        let (txn, message) = scene.announce(1).await;
        let body = form(&scene.slack.press_payload(&message, message.button("Approve"), ADA));
        for seconds in [-301, 301, -86_400] {
            assert_eq!(scene.deliver_signed(FORM, &body, seconds).await.0, StatusCode::UNAUTHORIZED, "{seconds}");
        }
        let at = scene.proxy.clock_now().seconds().to_string();
        let right = signature(SIGNING_SECRET, &at, &body);
        let other_body = signature(SIGNING_SECRET, &at, "payload=%7B%7D");
        let other_secret = signature("another-secret", &at, &body);
        let bare = right.trim_start_matches("v0=").to_owned();
        let cut = right[..right.len() - 2].to_owned();
        for wrong in [&other_body, &other_secret, &bare, &cut, "", "v0=", "v1=00"] {
            let (status, _) = scene.deliver(FORM, Some(&at), Some(wrong), &body).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{wrong}");
        }
        for (timestamp, signature) in [(None, Some(&*right)), (Some(&*at), None), (None, None), (Some("now"), Some(&*right))] {
            assert_eq!(scene.deliver(FORM, timestamp, signature, &body).await.0, StatusCode::UNAUTHORIZED);
        }
        assert_eq!(scene.state(txn).await, ApprovalState::Pending);
        for broken in ["", "payload=%7B", "no=payload"] {
            assert_eq!(scene.deliver_signed(FORM, broken, 0).await.0, StatusCode::BAD_REQUEST, "{broken}");
        }
        assert_eq!(scene.deliver(FORM, Some(&at), Some(&right), &body).await.0, StatusCode::OK);
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
    }

    async fn in_socket_mode_there_is_no_door_for_requests(scene: &mut Scene) {
        assert_eq!(scene.deliver_signed(JSON, "{}", 0).await.0, StatusCode::NOT_FOUND);
    }
}
