//! A long inbox: its pages, its filters and its compact rows.

use http::StatusCode;
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::id::TxnId;
use pyxis_core::policy::Policy;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::{agents, credentials, policies};
use pyxis_gateway::approvals::view;
use pyxis_testkit::engines;
use serde_json::Value;

use crate::support::{Browser, CANARY, Server, Team, UPSTREAM};

/// Ids of the requests on a page, in order.
fn request_ids(page: &str) -> Vec<String> {
    page.split("id=\"r-").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

/// The link to the next page.
fn next(page: &str) -> Option<String> {
    let before = page.split("rel=\"next\"").next().filter(|before| before.len() < page.len())?;
    Some(before.rsplit("href=\"").next()?.split('"').next()?.replace("&amp;", "&"))
}

async fn ids(browser: &mut Browser, path: &str) -> Vec<String> {
    let page = browser.get(path).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    let value: Value = serde_json::from_str(&page.text).unwrap();
    value["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

async fn send_pending(server: &Server, team: &Team, method: &str, credential: &str, path: &str) -> String {
    server.accepted(team.request(credential, method, &format!("http://{UPSTREAM}{path}"))).await
}

/// The summary line of a request.
fn line<'a>(page: &'a str, txn: &str) -> &'a str {
    let row = page.split(&format!("id=\"r-{txn}\"")).nth(1).unwrap();
    row.split("<summary class=\"line\">").nth(1).unwrap().split("</summary>").next().unwrap()
}

engines! {
    async fn of_a_thousand_pending_requests_a_page_shows_fifty_and_links_to_the_rest(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let mut all = Vec::new();
        for number in 0..1000 {
            all.push(server.post_pending(&team, &format!("/v1/{number}"), "", "{}").await);
            server.later(std::time::Duration::from_millis(1));
        }
        let first = owner.get("/app/inbox").await.text;
        assert_eq!(request_ids(&first), all[..50]);
        assert!(first.contains("50 of 1,000 pending") && first.contains("Show 50 more"));
        assert!(first.contains("href=\"/app/decided\">All decided</a>"));
        let second = owner.get(&next(&first).unwrap()).await.text;
        assert_eq!(request_ids(&second), all[50..100]);
        assert_eq!(ids(&mut owner, "/app/inbox?part=ids").await, all);

        let last = owner.get("/app/inbox?order=newest").await.text;
        assert_eq!(request_ids(&last)[0], all[999]);
        let found = owner.get(&format!("/app/inbox?q={}", all[999])).await.text;
        assert_eq!(request_ids(&found), all[999..]);
        assert!(next(&found).is_none());
    }

    async fn the_inbox_is_filtered_by_agent_credential_and_method(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        server.add_bearer(team.id, "shipping", UPSTREAM).await;
        let everything = Policy::default();
        for credential in ["billing", "shipping"] {
            policies::put(&server.gateway, &Actor::cli(team.id), credential, &everything).await.unwrap();
        }
        let read = send_pending(&server, &team, "GET", "billing", "/v1/a").await;
        server.later(std::time::Duration::from_millis(1));
        let write = send_pending(&server, &team, "PUT", "shipping", "/v1/b").await;
        server.later(std::time::Duration::from_millis(1));
        let delete = send_pending(&server, &team, "DELETE", "billing", "/v1/c").await;
        let agent = agents::list(&server.gateway.store, team.id).await.unwrap()[0].row.id;
        let shipping = credentials::get(&server.gateway.store, team.id, "shipping").await.unwrap().id;
        let other = "0190a2b4-7c00-7000-8000-000000000001";
        for (query, expected) in [
            ("kind=read".to_owned(), vec![&read]),
            ("kind=write".to_owned(), vec![&write]),
            ("kind=delete".to_owned(), vec![&delete]),
            (format!("credential={shipping}"), vec![&write]),
            (format!("agent={agent}"), vec![&read, &write, &delete]),
            (format!("agent={agent}&kind=delete&q={UPSTREAM}"), vec![&delete]),
            (format!("agent={other}"), vec![]),
            ("agent=nonsense".to_owned(), vec![]),
            ("credential=nonsense".to_owned(), vec![]),
            ("kind=nonsense".to_owned(), vec![]),
        ] {
            let page = owner.get(&format!("/app/inbox?{query}")).await.text;
            assert_eq!(request_ids(&page).iter().collect::<Vec<_>>(), expected, "{query}");
            assert_eq!(ids(&mut owner, &format!("/app/inbox?part=ids&{query}")).await.iter().collect::<Vec<_>>(), expected);
            assert!(page.contains("<a class=\"button\" href=\"/app/inbox\">Clear filters</a>"), "{query}");
            assert_eq!(page.contains("No pending request matches"), expected.is_empty(), "{query}");
        }
        for (txn, class) in [(&read, "reads"), (&write, "writes"), (&delete, "deletes")] {
            let page = owner.get("/app/inbox").await.text;
            assert!(line(&page, txn).contains(&format!("class=\"method {class}\"")), "{class}");
        }
    }

    async fn an_answer_returns_to_the_filtered_list(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let txns = [server.post_pending(&team, "/v1/a", "", "{}").await, server.post_pending(&team, "/v1/b", "", "{}").await];
        let page = owner.get("/app/inbox?kind=write&order=newest").await.text;
        assert!(page.contains("name=\"list\" value=\"order=newest&amp;kind=write\""), "{page}");
        let deny = format!("/app/approvals/{}/deny", txns[0]);
        let fields = [("from", "inbox"), ("list", "order=newest&kind=write&after=1.2&other=//evil.example")];
        let denied = owner.submit("/app/account", &deny, &fields).await;
        assert_eq!(denied.location(), "/app/inbox?order=newest&kind=write");
        let decided = owner
            .submit("/app/account", "/app/inbox/decide", &[("verdict", "approve"), ("list", "kind=write"), ("txn", &txns[1])])
            .await;
        assert!(decided.text.contains("href=\"/app/inbox?kind=write\">Back to the inbox"), "{}", decided.text);
        let nothing = [("verdict", "approve"), ("list", "kind=write")];
        let none = owner.submit("/app/account", "/app/inbox/decide", &nothing).await;
        assert_eq!(none.location(), "/app/inbox?kind=write");
    }

    async fn a_script_that_stays_on_the_page_learns_what_became_of_an_answer(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let txn = server.post_pending(&team, "/v1/a", "", "{}").await;
        let path = format!("/app/approvals/{txn}/approve");
        let fields = [("from", "inbox"), ("in_place", "yes")];
        let first: Value = serde_json::from_str(&owner.submit("/app/account", &path, &fields).await.text).unwrap();
        assert_eq!((first["settled"].as_bool(), first["location"].as_str()), (Some(true), Some("/app/inbox")));
        assert!(!owner.get("/app/account").await.text.contains("request is being sent"), "told by the script");
        let again: Value = serde_json::from_str(&owner.submit("/app/account", &path, &fields).await.text).unwrap();
        let page = format!("/app/approvals/{txn}");
        assert_eq!((again["settled"].as_bool(), again["location"].as_str()), (Some(false), Some(page.as_str())));
        assert!(owner.get(&page).await.text.contains("Already decided or expired"));
        let row = view::row(&server.gateway, team.id, txn.parse::<TxnId>().unwrap()).await.unwrap();
        assert_eq!(row.state, ApprovalState::Approved);
    }

    async fn a_member_lists_and_filters_only_what_they_may_decide(server: Server) {
        let (team, _owner) = server.with_owner().await;
        server.add_bearer(team.id, "shipping", UPSTREAM).await;
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        let mine = send_pending(&server, &team, "POST", "billing", "/v1/a").await;
        let theirs = send_pending(&server, &team, "POST", "shipping", "/v1/b").await;
        assert_eq!(ids(&mut member, "/app/inbox?part=ids").await, Vec::<String>::new());
        server.grant(&team, "mem@example.com", true, false).await;
        let shipping = credentials::get(&server.gateway.store, team.id, "shipping").await.unwrap().id;
        let page = member.get("/app/inbox").await.text;
        assert!(page.contains(&mine) && !page.contains(&theirs) && !page.contains("shipping"));
        assert_eq!(ids(&mut member, "/app/inbox?part=ids").await, [mine]);
        let narrowed = format!("/app/inbox?credential={shipping}");
        assert!(!member.get(&narrowed).await.text.contains(&theirs));
        assert!(ids(&mut member, &format!("{narrowed}&part=ids")).await.is_empty());
    }
}

#[tokio::test]
async fn a_line_tells_the_first_short_fields_and_no_secret() {
    let server = Server::new().await;
    let (team, mut owner) = server.with_owner().await;
    let body = format!(
        "{{\"amount\":5,\"api_key\":\"sk_hidden\",\"currency\":\"eur\",\"extra\":\"{CANARY}\",\"note\":\"<b>\"}}"
    );
    let fields = server.post_pending(&team, "/v1/pay", "for the rent", &body).await;
    let reason = server.post_pending(&team, "/v1/other", "only a reason", "").await;
    let long =
        server.post_pending(&team, "/v1/third", "", &format!("{{\"a\":\"{}\"}}", "x".repeat(300))).await;
    let page = owner.get("/app/inbox").await.text;
    let told = line(&page, &fields);
    assert!(told.contains("amount 5, api_key •••") && !told.contains("sk_hidden"), "{told}");
    assert!(line(&page, &reason).contains("only a reason"));
    assert!(line(&page, &long).contains("<span class=\"line-gist\"></span>"));
    assert!(!page.contains(CANARY));
    for txn in [&fields, &reason, &long] {
        let row = page.split(&format!("id=\"r-{txn}\"")).nth(1).unwrap();
        assert!(row.split("</article>").next().unwrap().contains("<details name=\"request\" data-row>"));
    }
}
