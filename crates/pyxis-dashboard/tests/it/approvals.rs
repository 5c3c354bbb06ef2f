//! Deciding in the browser.

use axum::body::Body;
use http::{HeaderValue, StatusCode};
use http_body_util::BodyExt;
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::id::TxnId;
use pyxis_core::policy::Policy;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::{grants, policies};
use pyxis_gateway::approvals::view::{self, Filter};
use pyxis_gateway::notifications::brand;
use pyxis_testkit::engines;

use crate::support::{Browser, Server, Team, next_event};

async fn state(server: &Server, team: &Team, txn: &str) -> ApprovalState {
    let txn: TxnId = txn.parse().unwrap();
    view::load_view(&server.gateway, team.id, txn).await.unwrap().row.state
}

async fn approve(browser: &mut Browser, page: &str, txn: &str, fields: &[(&str, &str)]) -> String {
    let to = format!("/app/approvals/{txn}/approve");
    browser.submit(page, &to, fields).await.location().to_owned()
}

#[tokio::test]
async fn the_pages_of_a_request_never_look_like_the_brand() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    brand::put(&server.gateway.audited, &Actor::cli(team.id), "Globex", "#ffe066").await.unwrap();
    let txn = server.post_pending(&team, "/v1/invoices", "for March", "{}").await;
    for path in ["/app/inbox".to_owned(), format!("/app/approvals/{txn}"), format!("/approve/{txn}")] {
        let page = browser.get(&path).await;
        assert_eq!(page.status, StatusCode::OK);
        for branded in ["Globex", "ffe066", "/brand/", "brand.css"] {
            assert!(!page.text.contains(branded), "{branded} on {path}");
        }
    }
}

#[tokio::test]
async fn a_waiting_request_is_approved_from_the_inbox() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let txn = server.post_pending(&team, "/v1/invoices", "for March", "{\"amount\":5}").await;
    let inbox = browser.get("/app/inbox").await;
    for shown in ["127.0.0.1:9", "/v1/invoices", "for March", "POST needs approval", "&quot;amount&quot;: 5"]
    {
        assert!(inbox.text.contains(shown), "{shown}");
    }
    assert_eq!(approve(&mut browser, "/app/inbox", &txn, &[("from", "inbox")]).await, "/app/inbox");
    assert_eq!(state(&server, &team, &txn).await, ApprovalState::Approved);
    let after = browser.get("/app/inbox").await;
    assert!(after.text.contains("Approved. The request is being sent."));
    assert!(!browser.get("/app/inbox").await.text.contains("request is being sent"), "a notice is told once");
}

#[tokio::test]
async fn a_request_is_denied_with_a_reason() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let txn = server.post_pending(&team, "/v1/refunds", "", "{}").await;
    let page = format!("/app/approvals/{txn}");
    let fields = [("from", "approval"), ("reason", "wrong customer")];
    browser.submit(&page, &format!("{page}/deny"), &fields).await;
    assert_eq!(state(&server, &team, &txn).await, ApprovalState::Denied);
    let text = browser.get(&page).await.text;
    assert!(text.contains("wrong customer") && text.contains("nothing was sent"));
}

#[tokio::test]
async fn a_second_word_changes_nothing_and_the_page_shows_how_it_stands() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let txn = server.post_pending(&team, "/v1/a", "", "{}").await;
    let page = format!("/app/approvals/{txn}");
    browser.submit(&page, &format!("{page}/deny"), &[("from", "inbox")]).await;
    assert_eq!(approve(&mut browser, "/app/settings", &txn, &[("from", "inbox")]).await, page);
    assert_eq!(state(&server, &team, &txn).await, ApprovalState::Denied);
    assert!(browser.get(&page).await.text.contains("Already decided or expired"));
}

#[tokio::test]
async fn an_expired_request_cannot_be_approved_and_says_so() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let txn = server.post_pending(&team, "/v1/a", "", "{}").await;
    server.later(std::time::Duration::from_secs(3601));
    approve(&mut browser, "/app/settings", &txn, &[("from", "standalone")]).await;
    assert_eq!(state(&server, &team, &txn).await, ApprovalState::Expired);
    assert!(browser.get(&format!("/approve/{txn}")).await.text.contains("No decision in time"));
}

#[tokio::test]
async fn a_manager_opens_a_grant_of_the_length_that_was_chosen() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let txn = server.post_pending(&team, "/v1/items", "", "{}").await;
    let page = format!("/app/approvals/{txn}");
    for seconds in ["900", "1800", "3600", "7200", "14400"] {
        assert!(browser.get(&page).await.text.contains(&format!("value=\"{seconds}\"")));
    }
    let too_long = [("from", "approval"), ("grant_seconds", "86400")];
    approve(&mut browser, &page, &txn, &too_long).await;
    assert_eq!(state(&server, &team, &txn).await, ApprovalState::Pending, "too long here: nothing decided");
    approve(&mut browser, &page, &txn, &[("from", "approval"), ("grant_seconds", "3600")]).await;
    let open = grants::list(&server.gateway.store, team.id, false, server.gateway.now()).await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].expires_at.since(open[0].created_at).as_secs(), 3600);
    let revoke = format!("/app/grants/{}/revoke", open[0].id);
    browser.submit("/app/policies", &revoke, &[]).await;
    assert!(
        grants::list(&server.gateway.store, team.id, false, server.gateway.now()).await.unwrap().is_empty()
    );
}

#[tokio::test]
async fn the_standalone_page_offers_thirty_minutes_and_nothing_else() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let txn = server.post_pending(&team, "/v1/items", "", "{}").await;
    let page = format!("/approve/{txn}");
    let text = browser.get(&page).await.text;
    assert_eq!(text.matches("name=\"grant_seconds\"").count(), 1);
    assert!(text.contains("name=\"grant_seconds\" value=\"1800\""));
    approve(&mut browser, &page, &txn, &[("from", "standalone"), ("grant_seconds", "3600")]).await;
    assert_eq!(state(&server, &team, &txn).await, ApprovalState::Pending);
    let back = approve(&mut browser, &page, &txn, &[("from", "standalone"), ("grant_seconds", "1800")]).await;
    assert_eq!(back, page);
    assert_eq!(state(&server, &team, &txn).await, ApprovalState::Approved);
}

#[tokio::test]
async fn where_two_must_approve_no_grant_is_offered_and_one_yes_waits() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    server.with_person(&team, "bo@example.com", Role::Admin).await;
    let policy = Policy { min_approvals: 2, ..Policy::default() };
    policies::put(&server.gateway, &Actor::cli(team.id), "billing", &policy).await.unwrap();
    let txn = server.post_pending(&team, "/v1/items", "", "{}").await;
    let page = format!("/app/approvals/{txn}");
    assert!(!browser.get(&page).await.text.contains("grant_seconds"));
    approve(&mut browser, &page, &txn, &[("from", "approval")]).await;
    assert_eq!(state(&server, &team, &txn).await, ApprovalState::Pending);
    let text = browser.get(&page).await.text;
    assert!(text.contains("One more person must approve"));
    assert!(!text.contains("data-approve"));
}

#[tokio::test]
async fn a_person_who_is_not_listed_sees_why_and_cannot_decide() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    server.with_person(&team, "bo@example.com", Role::Admin).await;
    let policy = Policy { allowed_approvers: vec!["bo@example.com".into()], ..Policy::default() };
    policies::put(&server.gateway, &Actor::cli(team.id), "billing", &policy).await.unwrap();
    let txn = server.post_pending(&team, "/v1/items", "", "{}").await;
    let page = format!("/app/approvals/{txn}");
    assert!(browser.get(&page).await.text.contains("You cannot decide this"));
    approve(&mut browser, &page, &txn, &[("from", "approval")]).await;
    assert_eq!(state(&server, &team, &txn).await, ApprovalState::Pending);
}

engines! {
    async fn a_request_of_another_workspace_is_not_there(server: Server) {
        let (team, _) = server.with_owner().await;
        let other = server.team("rival", "eve@example.com").await;
        let mut eve = server.browser();
        eve.use_link(&other.link).await;
        let txn = server.post_pending(&team, "/v1/secret-project", "", "{}").await;
        let unknown = "3f2b8c1e-55d0-4a6e-9b1f-7a0c2d9e4f10";
        for path in ["/app/approvals/", "/approve/"] {
            let (theirs, none) =
                (eve.get(&format!("{path}{txn}")).await, eve.get(&format!("{path}{unknown}")).await);
            assert_eq!(theirs.status, StatusCode::NOT_FOUND);
            assert_eq!(theirs.text, none.text);
        }
        let csrf = eve.get("/app/inbox").await;
        assert!(!csrf.text.contains("secret-project"));
        let to = format!("/app/approvals/{txn}/approve");
        assert_eq!(eve.submit("/app/inbox", &to, &[("from", "inbox")]).await.status, StatusCode::NOT_FOUND);
        assert_eq!(state(&server, &team, &txn).await, ApprovalState::Pending);
    }
}

#[tokio::test]
async fn hostile_reasons_paths_and_bodies_are_text() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let hostile = "<script>alert(1)</script>\"'><img src=x>";
    let txn = server
        .post_pending(&team, "/v1/%3Cscript%3E", hostile, &format!("{{\"a\":\"{hostile}\u{202e}"))
        .await;
    for path in ["/app/inbox".to_owned(), format!("/app/approvals/{txn}"), format!("/approve/{txn}")] {
        let text = browser.get(&path).await.text;
        assert!(!text.contains("<script>alert") && !text.contains("<img src=x"), "{path}");
        assert!(text.contains("&lt;script&gt;alert(1)"), "{path}: shown as it is");
        assert!(text.contains("⟨U+202E⟩") && !text.contains('\u{202e}'), "{path}");
    }
}

#[tokio::test]
async fn what_the_inbox_shows_in_part_is_approved_where_all_of_it_stands() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let whole = server.post_pending(&team, "/v1/short", "", &"x".repeat(8192)).await;
    assert!(browser.get("/app/inbox").await.text.contains("data-approve"), "all of it stands here");
    browser.submit("/app/inbox", &format!("/app/approvals/{whole}/deny"), &[("from", "inbox")]).await;

    // A body of which the inbox shows the head, and one that it does not open.
    for length in [8193, 300 * 1024] {
        let body = format!("{}the end", "x".repeat(length - 7));
        let (txn, other) = (
            server.post_pending(&team, "/v1/a", "", &body).await,
            server.post_pending(&team, "/v1/b", "", &body).await,
        );
        let page = format!("/app/approvals/{txn}");
        let inbox = browser.get("/app/inbox").await.text;
        assert!(!inbox.contains("the end") && !inbox.contains("data-approve"), "{length}");
        assert!(!inbox.contains("/approve\"") && !inbox.contains("grant_seconds"), "{length}");
        assert!(
            inbox.contains(&format!("href=\"{page}\" data-read>Read the full request to approve")),
            "{length}"
        );

        let denied = browser.submit("/app/inbox", &format!("{page}/deny"), &[("from", "inbox")]).await;
        assert_eq!(denied.location(), "/app/inbox");
        assert_eq!(state(&server, &team, &txn).await, ApprovalState::Denied);

        for page in [format!("/app/approvals/{other}"), format!("/approve/{other}")] {
            let text = browser.get(&page).await.text;
            assert!(text.contains("the end") && text.contains("data-approve"), "{length}");
        }
        approve(&mut browser, &format!("/app/approvals/{other}"), &other, &[("from", "approval")]).await;
        assert_eq!(state(&server, &team, &other).await, ApprovalState::Approved);
    }
}

/// An agent's pending POST with any bytes and extra headers; returns its transaction.
async fn ask_with(server: &Server, team: &Team, headers: &[(&'static str, &[u8])], body: Vec<u8>) -> String {
    let mut request = team.request("billing", "POST", "http://127.0.0.1:9/v1/upload");
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_bytes(value).unwrap());
    }
    *request.body_mut() = Body::from(body);
    assert_eq!(server.send(request).await, StatusCode::ACCEPTED);
    let waits = Filter { state: Some(ApprovalState::Pending), limit: 2, ..Filter::default() };
    let waiting = view::list(&server.gateway, team.id, &waits).await.unwrap();
    assert_eq!(waiting.len(), 1, "the only one");
    waiting[0].row.txn_id.to_string()
}

#[tokio::test]
async fn one_byte_that_is_no_text_hides_nothing_of_a_body() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let mut near = b"note=caf\xe9&pad=".to_vec();
    near.resize(9000, b'x');
    let mut binary = vec![0xff; 9000];
    for body in [&mut near, &mut binary] {
        body.extend(b"&to=eve");
        let form = [("content-type", &b"application/x-www-form-urlencoded"[..])];
        let txn = ask_with(&server, &team, &form, body.clone()).await;
        let inbox = browser.get("/app/inbox").await.text;
        assert!(!inbox.contains("to=eve") && !inbox.contains("data-approve"), "{inbox}");
        assert!(inbox.contains("Read the full request to approve"));
        for page in [format!("/app/approvals/{txn}"), format!("/approve/{txn}")] {
            let text = browser.get(&page).await.text;
            assert!(text.contains("to=eve") && text.contains("data-approve"), "{page}");
            assert!(!text.contains("This shows the first"), "{page}");
        }
        let deny = format!("/app/approvals/{txn}/deny");
        browser.submit("/app/inbox", &deny, &[("from", "inbox")]).await;
    }
    let txn = ask_with(&server, &team, &[], b"note=caf\xe9&to=eve".to_vec()).await;
    let inbox = browser.get("/app/inbox").await.text;
    assert!(
        inbox.contains(r"note=caf\xe9&amp;to=eve") && inbox.contains("data-approve"),
        "all of it stands here"
    );
    assert!(
        browser
            .get(&format!("/approve/{txn}"))
            .await
            .text
            .contains("00000000  6e 6f 74 65 3d 63 61 66  e9 26")
    );
}

#[tokio::test]
async fn every_header_that_clients_do_not_send_by_themselves_is_there() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let headers = [
        ("accept", &b"text/usual"[..]),
        ("accept-language", b"x-usual"),
        ("accept-profile", b"payroll"),
        ("sec-fetch-mode", b"x-usual"),
        ("sec-fetch-schema", b"hr"),
        ("x-auth-token", b"of-nobody"),
    ];
    let txn = ask_with(&server, &team, &headers, Vec::new()).await;
    for page in ["/app/inbox".to_owned(), format!("/app/approvals/{txn}"), format!("/approve/{txn}")] {
        let text = browser.get(&page).await.text;
        for (name, value) in
            [("accept-profile", "payroll"), ("sec-fetch-schema", "hr"), ("x-auth-token", "… (length 9)")]
        {
            assert!(text.contains(&format!("{name}</th><td>{value}</td>")), "{page}: {name}");
        }
        assert!(
            !text.contains("text/usual") && !text.contains("x-usual") && !text.contains("of-nobody"),
            "{page}"
        );
    }
}

#[tokio::test]
async fn a_person_who_may_not_decide_reads_a_long_body_on_its_own_page_too() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    server.with_person(&team, "bo@example.com", Role::Admin).await;
    let policy = Policy { allowed_approvers: vec!["bo@example.com".into()], ..Policy::default() };
    policies::put(&server.gateway, &Actor::cli(team.id), "billing", &policy).await.unwrap();
    let txn = server.post_pending(&team, "/v1/upload", "", &"x".repeat(8193)).await;
    let inbox = browser.get("/app/inbox").await.text;
    assert!(inbox.contains("You cannot decide this") && !inbox.contains("data-deny"));
    assert!(inbox.contains(&format!("<a href=\"/app/approvals/{txn}\">Read all of it</a>")));
}

#[tokio::test]
async fn the_event_stream_tells_the_number_and_ends_with_the_session() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let other = server.team("rival", "eve@example.com").await;
    let mut stream = browser.open("/app/events").await.into_body();
    let mut next = async || {
        let frame = stream.frame().await?.unwrap();
        Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
    };
    assert_eq!(next().await.unwrap(), "event: inbox\ndata: {\"pending\":0,\"tasks\":0}\n\n");
    server.post_pending(&other, "/v1/elsewhere", "", "{}").await;
    server.post_pending(&team, "/v1/here", "", "{}").await;
    assert_eq!(next().await.unwrap(), "event: inbox\ndata: {\"pending\":1,\"tasks\":0}\n\n");
    browser.submit("/app/inbox", "/sign-out", &[]).await;
    server.post_pending(&team, "/v1/after", "", "{}").await;
    assert_eq!(next().await, None);
}

#[tokio::test]
async fn one_person_cannot_take_the_event_streams_of_the_others() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let mut other = server.with_person(&team, "bo@example.com", Role::Member).await;
    let mut open = Vec::new();
    for _ in 0..16 {
        open.push(browser.open("/app/events").await);
    }
    assert!(open.iter().all(|stream| stream.status() == StatusCode::OK));
    let refused = browser.get("/app/events").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.text.contains("Close one and reload this page"));
    assert_eq!(other.open("/app/events").await.status(), StatusCode::OK);
    open.pop();
    assert_eq!(browser.open("/app/events").await.status(), StatusCode::OK, "one that was closed makes room");
}

#[tokio::test]
async fn the_event_stream_of_a_page_tells_when_its_request_changes_or_expires() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let rival = server.team("rival", "eve@example.com").await;
    let foreign = server.post_pending(&rival, "/v1/elsewhere", "", "{}").await;
    let refused = browser.get("/app/events?txn=nonsense").await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
    let foreign = browser.get(&format!("/app/events?txn={foreign}")).await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND, "a request of another workspace is not there");

    let denied = server.post_pending(&team, "/v1/a", "", "{}").await;
    let lapsed = server.post_pending(&team, "/v1/b", "", "{}").await;
    for (txn, page) in
        [(&denied, format!("/approve/{denied}")), (&lapsed, format!("/app/approvals/{lapsed}"))]
    {
        let text = browser.get(&page).await.text;
        assert!(text.contains(&format!("data-live=\"pending none 0 0\" data-txn=\"{txn}\"")), "{text}");
    }
    let open = async |browser: &mut Browser, txn: &str| {
        let mut stream = browser.open(&format!("/app/events?txn={txn}")).await.into_body();
        assert_eq!(
            next_event(&mut stream).await,
            "event: inbox\ndata: {\"mark\":\"pending none 0 0\",\"pending\":2,\"tasks\":0}\n\n"
        );
        stream
    };
    let mut of_denied = open(&mut browser, &denied).await;
    let mut of_lapsed = open(&mut browser, &lapsed).await;
    let page = format!("/app/approvals/{denied}");
    browser.submit(&page, &format!("{page}/deny"), &[("from", "inbox")]).await;
    assert_eq!(
        next_event(&mut of_denied).await,
        "event: inbox\ndata: {\"mark\":\"denied none 1 0\",\"pending\":1,\"tasks\":0}\n\n"
    );
    assert_eq!(
        next_event(&mut of_lapsed).await,
        "event: inbox\ndata: {\"mark\":\"pending none 0 0\",\"pending\":1,\"tasks\":0}\n\n"
    );
    server.later(std::time::Duration::from_secs(3601));
    pyxis_gateway::workers::expire_tick(&server.gateway).await.unwrap();
    assert_eq!(
        next_event(&mut of_lapsed).await,
        "event: inbox\ndata: {\"mark\":\"expired none 0 0\",\"pending\":0,\"tasks\":0}\n\n"
    );
}

#[tokio::test]
async fn a_long_inbox_is_paged_in_both_orders_and_misses_nothing() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let mut all = Vec::new();
    for number in 0..103 {
        all.push(server.post_pending(&team, &format!("/v1/{number}"), "", "{}").await);
        server.later(std::time::Duration::from_millis(number % 2));
    }
    for start in ["/app/inbox", "/app/inbox?order=newest"] {
        let (mut seen, mut sizes, mut next) = (Vec::new(), Vec::new(), Some(start.to_owned()));
        while let Some(path) = next {
            let text = browser.get(&path).await.text;
            let shown: Vec<&str> =
                text.split("id=\"r-").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
            assert!(text.contains(&format!("{} of 103 pending", shown.len())));
            assert_eq!(text.contains("Start</a>"), path != start, "{path}");
            sizes.push(shown.len());
            seen.extend(shown.into_iter().map(str::to_owned));
            let link = text.split("rel=\"next\"").next().filter(|before| before.len() < text.len());
            next = link.map(|before| {
                before.rsplit("href=\"").next().unwrap().split('"').next().unwrap().replace("&amp;", "&")
            });
        }
        assert_eq!(sizes, [50, 50, 3]);
        let mut sorted = (seen.clone(), all.clone());
        sorted.0.sort();
        sorted.1.sort();
        assert_eq!(sorted.0, sorted.1);
    }
    // A page on which everything is decided, and an invalid cursor, lead to the start.
    let beyond = format!("/app/inbox?after=99999999999999.{}", all[0]);
    assert_eq!(browser.get(&beyond).await.location(), "/app/inbox");
    assert!(browser.get("/app/inbox?after=nonsense").await.text.contains("50 of 103 pending"));
}

#[tokio::test]
async fn an_approver_reads_what_will_be_signed_and_is_warned_of_a_blind_hash() {
    let server = Server::new().await;
    let (team, mut browser) = server.with_owner().await;
    let typed = serde_json::json!({
        "types": {"Transfer": [{"name": "to", "type": "address"}, {"name": "amount", "type": "uint256"}]},
        "primaryType": "Transfer", "domain": {"name": "Bank <1>", "chainId": 1},
        "message": {"to": "0x00000000000000000000000000000000000000ff", "amount": "1000000000000000000000"},
    });
    let body = serde_json::json!({
        "payload": typed.to_string(), "encoding": "utf8", "algorithm": "secp256k1", "format": "eip712",
        "description": "Pay the rent",
    });
    let txn = server.ask_to_sign(&team, &body).await;
    for page in [format!("/app/approvals/{txn}"), format!("/approve/{txn}"), "/app/inbox".to_owned()] {
        let text = browser.get(&page).await.text;
        for shown in [
            "Payload to sign",
            "Ethereum typed data (EIP-712)",
            "Pay the rent",
            "domain.name",
            "Bank &lt;1&gt;",
            "amount",
            "uint256",
            "1000000000000000000000",
            "0x00000000000000000000000000000000000000ff",
        ] {
            assert!(text.contains(shown), "{page}: {shown}");
        }
        assert!(!text.contains("Only a hash"), "{page}");
    }
    let blind = serde_json::json!({"payload": "ab".repeat(32), "algorithm": "secp256k1"});
    let txn = server.ask_to_sign(&team, &blind).await;
    let text = browser.get(&format!("/app/approvals/{txn}")).await.text;
    assert!(text.contains("Only a hash") && text.contains(&"ab".repeat(32)), "{text}");
}
