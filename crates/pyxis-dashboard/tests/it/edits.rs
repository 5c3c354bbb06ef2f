//! Editing a request on its page before approving it.

use axum::body::Body;
use http::{HeaderValue, StatusCode};
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_gateway::approvals::view::{self, ApprovalView};
use pyxis_testkit::authenticator::Authenticator;
use pyxis_testkit::engines;

use crate::passkeys::set_policy;
use crate::support::{Browser, ORIGIN_URL, Page, Server, Team, UPSTREAM, begin, finish, register};

const BODY: &str = r#"{ "amount": 5000, "to": {"name": "Ana"} }"#;

/// A pending JSON request with a query and a header; returns its transaction.
async fn post_pending(server: &Server, team: &Team, body: &str) -> String {
    let mut request = team.request("billing", "POST", &format!("http://{UPSTREAM}/v1/pay?limit=10"));
    request.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    request.headers_mut().insert("x-mode", HeaderValue::from_static("fast"));
    *request.body_mut() = Body::from(body.to_owned());
    server.accepted(request).await
}

async fn load_approval(server: &Server, team: &Team, txn: &str) -> ApprovalView {
    view::load_view(&server.gateway, team.id, txn.parse().unwrap()).await.unwrap()
}

/// Posts the edit form of a page.
async fn edit(browser: &mut Browser, page: &str, txn: &str, digest: &str, fields: &[(&str, &str)]) -> Page {
    let from = if page.starts_with("/approve/") { "standalone" } else { "approval" };
    let mut all = vec![("from", from), ("digest", digest), ("edited", "on")];
    all.extend_from_slice(fields);
    browser.submit(page, &format!("/app/approvals/{txn}/approve"), &all).await
}

engines! {
    async fn a_request_is_edited_on_its_page_without_script(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        for page in ["/app/approvals", "/approve"] {
            let txn = post_pending(&server, &team, BODY).await;
            let (page, before) = (format!("{page}/{txn}"), load_approval(&server, &team, &txn).await);
            let shown = owner.get(&page).await.text;
            for input in ["Edit before approving", "name=\"body:0\" value=\"5000\"", "to.name", "value=\"limit\"", "value=\"x-mode\"", "Approve as edited"] {
                assert!(shown.contains(input), "{input}: {shown}");
            }
            let fields = [
                ("body:0", "50"), ("body:1", "Ana"), ("query_name", "limit"), ("query_value", "5"),
                ("query_name", ""), ("query_value", ""), ("header_name", ""), ("header_value", "fast"),
                ("header_name", "x-note"), ("header_value", "checked"),
            ];
            let done = edit(&mut owner, &page, &txn, &before.row.digest, &fields).await;
            assert_eq!((done.status, done.location()), (StatusCode::SEE_OTHER, page.as_str()), "{}", done.text);
            let after = load_approval(&server, &team, &txn).await;
            assert_eq!((after.row.state, after.row.edits), (ApprovalState::Approved, 1));
            assert_eq!(after.body.as_deref(), Some(BODY.replace("5000", "50").as_bytes()));
            assert!(after.target.ends_with("/v1/pay?limit=5"), "{}", after.target);
            assert_eq!(after.telling_headers(), [("x-note".to_owned(), "checked".to_owned())]);
            // The page tells all three.
            let shown = owner.get(&page).await.text;
            for told in ["Approved as edited", "Edited by ana@example.com", "Asked", "Decided", &before.row.digest, "Query limit", "Header x-mode", "Header x-note"] {
                assert!(shown.contains(told), "{told}: {shown}");
            }
            assert!(shown.contains("<span class=\"removed\">-   &quot;amount&quot;: 5000"), "{shown}");
        }
    }

    async fn the_next_voter_sees_the_difference_and_approves_the_edited_request(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let mut bob = server.with_person(&team, "bob@example.com", Role::Admin).await;
        set_policy(&server, &team, r#"{"min_approvals":2}"#).await;
        let txn = post_pending(&server, &team, "plain text").await;
        let page = format!("/app/approvals/{txn}");
        let before = load_approval(&server, &team, &txn).await;
        let stale = [("from", "approval"), ("digest", before.row.digest.as_str())];
        let done = edit(&mut owner, &page, &txn, &before.row.digest, &[("body", "edited text")]).await;
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text);
        // What Bob had open is another request now.
        bob.submit(&page, &format!("{page}/approve"), &stale).await;
        assert!(bob.get(&page).await.text.contains("Someone edited this request"));
        let inbox = bob.get("/app/inbox").await.text;
        assert!(inbox.contains("Edited by ana@example.com"), "{inbox}");
        let shown = bob.get(&page).await.text;
        assert!(shown.contains("- plain text") && shown.contains("+ edited text"), "{shown}");
        let now = load_approval(&server, &team, &txn).await.row.digest;
        bob.submit(&page, &format!("{page}/approve"), &[("from", "approval"), ("digest", &now)]).await;
        assert_eq!(load_approval(&server, &team, &txn).await.row.state, ApprovalState::Approved);
    }

    async fn a_refused_edit_keeps_what_was_typed_and_says_why(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let txn = post_pending(&server, &team, BODY).await;
        let page = format!("/app/approvals/{txn}");
        let before = load_approval(&server, &team, &txn).await;
        for (fields, told) in [
            ([("body:0", "many"), ("header_name", "x-typed"), ("header_value", "kept")], "Amount must be a number"),
            ([("body:0", "7"), ("header_name", "authorization"), ("header_value", "kept")], "the credential sets"),
        ] {
            let refused = edit(&mut owner, &page, &txn, &before.row.digest, &fields).await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
            for kept in [told, "Nothing was changed.", fields[0].1, fields[1].1, "kept"] {
                assert!(refused.text.contains(kept), "{kept}: {}", refused.text);
            }
        }
        let after = load_approval(&server, &team, &txn).await;
        assert_eq!((after.row.state, after.row.digest), (ApprovalState::Pending, before.row.digest));
    }

    async fn a_passkey_signs_the_edited_request_and_no_other(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        set_policy(&server, &team, r#"{"passkey_required":true}"#).await;
        let mut key = Authenticator::new(ORIGIN_URL, 1);
        register(&mut owner, &mut key, "laptop").await;
        let txn = post_pending(&server, &team, "plain text").await;
        let page = format!("/app/approvals/{txn}");
        let (to, challenge) = (format!("{page}/approve"), format!("{page}/begin"));
        let digest = load_approval(&server, &team, &txn).await.row.digest;
        let plain = [("digest", digest.as_str())];
        let edited = [("digest", digest.as_str()), ("edited", "on"), ("body", "edited text")];
        let other = [("digest", digest.as_str()), ("edited", "on"), ("body", "another text")];
        // A passkey over the request before the edit, or over another edit.
        for signed in [&plain[..], &other[..]] {
            let begun = begin(&mut owner, &page, &challenge, signed).await;
            let given = key.get(&begun["options"]);
            finish(&mut owner, &page, &to, &begun, &given, &edited).await;
            let after = load_approval(&server, &team, &txn).await;
            assert_eq!((after.row.state, after.row.edits), (ApprovalState::Pending, 0));
        }
        let begun = begin(&mut owner, &page, &challenge, &edited).await;
        let given = key.get(&begun["options"]);
        finish(&mut owner, &page, &to, &begun, &given, &edited).await;
        let after = load_approval(&server, &team, &txn).await;
        assert_eq!((after.row.state, after.row.edits), (ApprovalState::Approved, 1));
        assert_eq!(after.body.as_deref(), Some(&b"edited text"[..]));
    }
}
