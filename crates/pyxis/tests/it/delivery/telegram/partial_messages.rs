//! Requests that a message shows only in part, and the place to approve them.

use axum::body::Body;
use pyxis_testkit::engines;

use super::*;

/// A request that an agent wants sent, and a line of the message about it.
struct AgentRequest {
    query: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    says: String,
}

impl AgentRequest {
    fn new(body: impl Into<Vec<u8>>, says: &str) -> Self {
        Self { query: String::new(), headers: Vec::new(), body: body.into(), says: says.to_owned() }
    }

    fn with(self, name: &'static str, value: impl Into<String>) -> Self {
        Self { headers: vec![(name, value.into())], ..self }
    }

    async fn pause(self, scene: &Scene) -> (TxnId, TelegramMessage, String) {
        let proxy = &scene.proxy;
        let target = format!("{}{}", proxy.upstream.url("/act"), self.query);
        let request = self.headers.iter().fold(proxy.forward("PUT", &target), |request, (name, value)| {
            request.header(*name, value.as_bytes())
        });
        let txn = proxy.send_pending(request.body(Body::from(self.body)).unwrap()).await;
        (txn, scene.asks(txn).await, self.says)
    }
}

/// Addresses, headers and reasons that no message shows completely.
fn around_the_body() -> Vec<AgentRequest> {
    let query = format!("?pad={}&to=eve", "x".repeat(700));
    let source = "x-amz-copy-source";
    vec![
        AgentRequest { query, ..AgentRequest::new("", "/act?pad=xxx") },
        AgentRequest::new("", "\nHeaders: 1 not shown here\n").with(source, "x".repeat(600)),
        AgentRequest::new("", "\n│ x-amz-copy-source: /a\u{fffd}b\n").with(source, "/a\u{202e}b"),
        AgentRequest::new("", "Reason: “xxx").with("x-px-reason", "x".repeat(701)),
    ]
}

/// Bodies that no message shows completely.
fn bodies() -> Vec<AgentRequest> {
    vec![
        AgentRequest::new(b"amount=5\xff", "\nBody: 9 bytes not shown here\n"),
        AgentRequest::new(" ".repeat(40), "\nBody: 40 bytes not shown here\n"),
        AgentRequest::new("amount=5\u{202e}1", "\n│ amount=5\u{fffd}1\n"),
        AgentRequest::new(format!("{}&to=eve", "x".repeat(500)), "xxx…\n"),
    ]
}

/// Requests that a message only just shows completely.
fn whole() -> Vec<AgentRequest> {
    vec![
        AgentRequest { query: format!("?pad={}", "x".repeat(600)), ..AgentRequest::new("", "/act?pad=xxx") },
        AgentRequest::new("", "\nHeaders:\n│ x-amz-copy-source: /bucket/key\n")
            .with("x-amz-copy-source", "/bucket/key"),
        AgentRequest::new("", "\nHeaders:\n│ x-auth-token: … (length 4)\n").with("x-auth-token", "mine"),
        AgentRequest::new("{\n\t\"to\": \"bo\"\n}", "\nBody:\n│ {\n│ \t\"to\": \"bo\"\n│ }\n"),
        AgentRequest::new("é".repeat(500), "é\n"),
        AgentRequest::new("", "/act\n30 min grant").with("user-agent", "x".repeat(900)),
    ]
}

/// Sends each request, and approves none of them in the chat.
async fn approved_elsewhere(scene: &mut Scene, all: Vec<AgentRequest>) {
    scene.link(ADA).await;
    for asked in all {
        let (txn, message, says) = asked.pause(scene).await;
        scene.sends_elsewhere(txn, &message, &says).await;
        scene.telegram.press(&message, "Deny", ADA);
        scene.edited(&message, "Denied by a@example.com").await;
    }
}

engines! {
    async fn a_request_that_a_message_shows_in_part_is_approved_elsewhere(scene: &mut Scene) {
        approved_elsewhere(scene, around_the_body()).await;
    }

    async fn a_body_that_a_message_shows_in_part_is_approved_elsewhere(scene: &mut Scene) {
        approved_elsewhere(scene, bodies()).await;
    }

    async fn a_message_holds_no_stored_secret_and_sends_the_approver_to_the_page(scene: &mut Scene) {
        scene.link(ADA).await;
        let target = scene.proxy.upstream.url("/by/s3cret-value?key=s3cret-value");
        let request = scene.proxy.forward("POST", &target).header("x-note", "s3cret-value");
        let request = request.header("x-px-reason", "it is s3cret-value");
        let txn = scene.proxy.send_pending(request.body(Body::from("{\"key\": \"s3cret-value\"}")).unwrap()).await;
        let message = scene.asks(txn).await;
        let (text, words) = (&message.text, "[contains the secret of `api`]");
        assert!(!text.contains("s3cret-value"), "{text}");
        assert_eq!(text.matches(words).count(), 5, "path, query, header, reason and body: {text}");
        assert!(!message.labels().contains(&"Approve"), "{:?}", message.labels());
    }

    async fn a_request_that_a_message_shows_whole_is_approved_there(scene: &mut Scene) {
        scene.link(ADA).await;
        for asked in whole() {
            let (txn, message, says) = asked.pause(scene).await;
            assert!(message.text.contains(&says), "{says}: {}", message.text);
            assert_eq!(message.labels(), ["Approve", "Deny", "Approve for 30 min"], "{says}");
            scene.telegram.press(&message, "Approve", ADA);
            scene.edited(&message, "Approved by a@example.com").await;
            assert_eq!(scene.state(txn).await, ApprovalState::Approved);
        }
    }
}
