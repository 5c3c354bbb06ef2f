//! Content rules in the policy editor, and their findings on the pages of a request.

use axum::body::Body;
use http::{HeaderValue, StatusCode};
use pyxis_core::policy::Policy;
use pyxis_gateway::admin::policies;

use crate::support::{Browser, Server, Team};

const EDITOR: &str = "/app/policies/billing";
const RULE: &str = "/v1/pay json /amount <= 5000";

/// Saves a policy that lets every POST through except for these content rules.
async fn save(owner: &mut Browser, rules: &str) -> crate::support::Page {
    let fields =
        [("method_POST", "auto"), ("content_rules", rules), ("min_approvals", "1"), ("channel", "dashboard")];
    owner.submit(EDITOR, EDITOR, &fields).await
}

async fn stored(server: &Server, team: &Team) -> Option<Policy> {
    policies::get(&server.gateway.store, team.id, "billing").await.unwrap().map(|(_, policy)| policy)
}

#[tokio::test]
async fn the_editor_stores_content_rules_and_explains_how_to_write_them() {
    let server = Server::new().await;
    let (team, mut owner) = server.with_owner().await;
    let empty = owner.get(EDITOR).await.text;
    assert!(empty.contains("<label for=\"content_rules\">") && empty.contains("id=\"content-rules-hint\""));
    assert!(empty.contains("aria-describedby=\"content-rules-hint\""));
    for word in ["<code>json</code>", "<code>form</code>", "<code>graphql</code>", "<code>&lt;=</code>"] {
        assert!(empty.contains(word), "{word}");
    }
    let rules = format!("{RULE}\r\n\r\n/graphql graphql mutation drop deny\r\n");
    assert_eq!(save(&mut owner, &rules).await.location(), EDITOR);
    let policy = stored(&server, &team).await.unwrap();
    assert_eq!(policy.content_rules, [RULE, "/graphql graphql mutation drop deny"]);
    let shown = owner.get(EDITOR).await.text;
    assert!(
        shown.contains("/v1/pay json /amount &lt;= 5000\n/graphql graphql mutation drop deny</textarea>"),
        "{shown}"
    );
}

#[tokio::test]
async fn the_editor_explains_a_body_and_lists_the_requests_that_a_draft_reads_otherwise() {
    let server = Server::new().await;
    let (team, mut owner) = server.with_owner().await;
    assert_eq!(save(&mut owner, RULE).await.location(), EDITOR);
    for (amount, decision) in [("5000", "Allowed"), ("9000", "Needs approval")] {
        let body = format!("{{\"amount\":{amount}}}");
        let asked = [
            ("method", "POST"),
            ("url", "http://127.0.0.1:9/v1/pay"),
            ("content_type", "application/json"),
            ("body", &body),
        ];
        let told = owner.submit(EDITOR, "/app/policies/billing/explain", &asked).await.text;
        let answer = told.split("id=\"explain-title\"").nth(1).unwrap().split("</section>").next().unwrap();
        assert!(answer.contains(decision), "{amount}: {answer}");
        assert_eq!(
            answer.contains("/amount is 9000; the rule allows &lt;= 5000"),
            amount == "9000",
            "{answer}"
        );
    }
    server.post_pending(&team, "/v1/pay", "", "{\"amount\":9000}").await;
    let draft = [
        ("method_POST", "auto"),
        ("content_rules", "/v1/pay json /amount <= 1"),
        ("min_approvals", "1"),
        ("channel", "dashboard"),
        ("replay_count", "100"),
    ];
    let replayed = owner.submit(EDITOR, "/app/policies/billing/replay", &draft).await.text;
    assert!(replayed.contains("The content rules for this request differ"), "{replayed}");
}

#[tokio::test]
async fn a_content_rule_that_cannot_be_read_is_named_next_to_its_field_and_nothing_is_saved() {
    let server = Server::new().await;
    let (team, mut owner) = server.with_owner().await;
    let refused = save(&mut owner, "/v1/pay json amount <= 5000").await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text.contains("id=\"content_rules-problem\""), "{}", refused.text);
    assert!(refused.text.contains("/v1/pay json amount &lt;= 5000</textarea>"), "what was typed stays");
    assert!(stored(&server, &team).await.is_none());
}

#[tokio::test]
async fn the_amount_that_a_rule_matched_is_the_headline_of_its_request() {
    let server = Server::new().await;
    let (team, mut owner) = server.with_owner().await;
    assert_eq!(save(&mut owner, RULE).await.location(), EDITOR);
    let mut request = team.request("billing", "POST", "http://127.0.0.1:9/v1/pay");
    request.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    *request.body_mut() = Body::from("{\"amount\": 12000}");
    let txn = server.accepted(request).await;
    let headline = "<p class=\"headline\">/amount is 12000; the rule allows &lt;= 5000</p>";
    for page in ["/app/inbox", &format!("/app/approvals/{txn}"), &format!("/approve/{txn}")] {
        let text = owner.get(page).await.text;
        assert!(text.contains(headline), "{page}: {text}");
        let order = [text.find(headline), text.find("class=\"who\"")];
        assert!(order[0] < order[1], "the headline comes before the rest: {page}");
    }
}
