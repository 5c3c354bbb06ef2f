//! The agent pages: a key is shown once, and changes take effect immediately.

use axum::body::Body;
use http::{Request, StatusCode};
use pyxis_core::agent_client;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::workspaces::FIRST_AGENT;
use pyxis_gateway::admin::{agents, credentials};
use pyxis_testkit::engines;

use crate::support::{Browser, Page, Server};

/// The key that the page shows.
fn key(page: &Page) -> String {
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    let shown = page.text.split("aria-label=\"Agent key\" data-copy-source>").nth(1).expect("a key");
    shown.split('<').next().unwrap().to_owned()
}

/// The text of a page as a person copies it.
fn unescaped(html: &str) -> String {
    let marks =
        [("&quot;", "\""), ("&#34;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&lt;", "<"), ("&#60;", "<")];
    let more = [("&gt;", ">"), ("&#62;", ">"), ("&amp;", "&"), ("&#38;", "&")];
    marks.into_iter().chain(more).fold(html.to_owned(), |text, (mark, letter)| text.replace(mark, letter))
}

/// Adds an agent that may use `billing`, seven times an hour; returns its page and its key.
async fn add(owner: &mut Browser) -> (String, String) {
    let fields =
        [("name", "bot"), ("rate_limit_per_hour", "7"), ("scope", "some"), ("credential", "billing")];
    let made = owner.submit("/app/new/agent", "/app/agents", &fields).await;
    let (_, id) = made.text.rsplit_once("href=\"/app/agents/").expect("a link to the agent");
    (format!("/app/agents/{}", id.split('"').next().unwrap()), key(&made))
}

/// The proxy's status for a request with this key.
async fn asks(server: &Server, key: &str) -> StatusCode {
    let request = Request::post("/forward")
        .header("x-px-key", key)
        .header("x-px-credential", "billing")
        .header("x-px-target", "http://127.0.0.1:9/v1/items")
        .header("x-px-method", "POST");
    server.send(request.body(Body::empty()).unwrap()).await
}

engines! {
    async fn the_key_of_a_new_agent_is_shown_once_and_works(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        let (page, key) = add(&mut owner).await;
        assert_eq!(asks(&server, &key).await, StatusCode::ACCEPTED);
        let shown = owner.get(&page).await.text;
        assert!(shown.contains("1 of 7 this hour"), "{shown}");
        for path in [page.as_str(), "/app/agents", "/app/audit", "/app/audit/export.jsonl"] {
            let text = owner.get(path).await.text;
            assert!(text.contains("bot") && !text.contains(&key), "{path}");
        }
    }

    async fn the_page_of_a_new_key_configures_programs_and_tells_when_the_first_call_arrives(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        let fields = [("name", "bot"), ("scope", "all")];
        let made = owner.submit("/app/new/agent", "/app/agents", &fields).await;
        let key = key(&made);
        assert!(made.text.contains(&format!("export PX_AGENT_KEY={key}")), "{}", made.text);
        let shown = unescaped(&made.text);
        let url = format!("{}{}", server.gateway.config.base_url, agent_client::MCP_PATH);
        for client in agent_client::ALL {
            assert!(shown.contains(client.label) && shown.contains(client.place), "{}: {shown}", client.name);
            let text = client.configuration(&url, "PX_AGENT_KEY");
            assert!(shown.contains(text.trim_end()), "{}: {shown}", client.name);
        }
        let seen = made.text.split("data-seen=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        assert!(owner.get(&seen).await.text.contains("\"last_seen\":null"));
        let services = Request::get("/agent/services").header("x-px-key", &key);
        assert_eq!(server.send(services.body(Body::empty()).unwrap()).await, StatusCode::OK);
        let told = owner.get(&seen).await.text;
        assert!(told.contains("\"last_seen\":\"20"), "{told}");
        let again = owner.get(&seen.replace("/seen", "/connect")).await.text;
        assert!(again.contains("Claude Code") && !again.contains(&key), "{again}");
        assert!(!made.text.contains("data-active") && !made.text.contains("Active: "), "{}", made.text);
        assert!(again.contains("data-active") && again.contains("Active: the latest call arrived"), "{again}");
    }

    async fn an_agent_without_a_key_gets_it_on_its_page_and_it_is_shown_once(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        agents::withhold_key(&server.gateway, &Actor::cli(team.id), FIRST_AGENT).await.unwrap();
        assert_eq!(asks(&server, &team.agent_key).await, StatusCode::UNAUTHORIZED, "no one has this key");
        let home = owner.get("/app").await.text;
        let connect = home.split("href=\"").find(|rest| rest.contains("/connect\"")).unwrap();
        let connect = connect.split('"').next().unwrap().to_owned();
        let page = connect.trim_end_matches("/connect");
        for path in [connect.as_str(), page, "/app/agents"] {
            let shown = owner.get(path).await.text;
            assert!(!shown.contains("px_agent_"), "no part of a key, and no placeholder: {shown}");
        }
        let before = owner.get(&connect).await.text;
        assert!(before.contains("The agent has no key yet.") && !before.contains("data-copy"), "{before}");

        let made = owner.submit(&connect, &format!("{page}/rotate"), &[]).await;
        assert!(!made.text.contains("The old key no longer works."), "there was none");
        assert_eq!(asks(&server, &key(&made)).await, StatusCode::ACCEPTED);
        let after = owner.get(&connect).await.text;
        assert!(after.contains("Claude Code") && !after.contains(&key(&made)), "{after}");
        let again = owner.submit(&connect, &format!("{page}/rotate"), &[]).await;
        assert!(again.text.contains("The old key no longer works."), "{}", again.text);
    }

    async fn what_lacks_the_key_or_a_credential_is_not_offered_to_copy(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let (page, _) = add(&mut owner).await;
        let connect = owner.get(&format!("{page}/connect")).await.text;
        let sets = connect.split("aria-label=\"Command that sets the key\"").nth(1).unwrap();
        assert!(sets.starts_with(">export PX_AGENT_KEY=px_agent_…<"), "{sets}");

        credentials::remove(&server.gateway.audited, &Actor::cli(team.id), "billing").await.unwrap();
        let made = owner.submit(&page, &format!("{page}/rotate"), &[]).await.text;
        assert!(!made.contains("Command that sends a request"), "{made}");
        assert!(made.contains("the agent needs a credential"), "{made}");
    }

    async fn the_form_of_a_new_agent_starts_with_chosen_credentials_also_when_there_are_none(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let starts_with_chosen = |page: &str| {
            let (some, all) = (page.find("value=\"some\" checked").unwrap(), page.find("value=\"all\"").unwrap());
            assert!(some < all && !page.contains("value=\"all\" checked"), "{page}");
            assert!(page.contains("All credentials, including ones added later"), "{page}");
        };
        let page = owner.get("/app/new/agent").await.text;
        starts_with_chosen(&page);
        assert!(page.contains("value=\"billing\">"), "no credential is chosen yet: {page}");
        credentials::remove(&server.gateway.audited, &Actor::cli(team.id), "billing").await.unwrap();
        let page = owner.get("/app/new/agent").await.text;
        starts_with_chosen(&page);
        assert!(page.contains("No credentials yet.") && page.contains("href=\"/app/new/credential\""), "{page}");
        let fields = [("name", "bot"), ("scope", "some")];
        let made = owner.submit("/app/new/agent", "/app/agents", &fields).await;
        assert_eq!(asks(&server, &key(&made)).await, StatusCode::NOT_FOUND);
        let bot = agents::by_name(&server.gateway.store, team.id, "bot").await.unwrap();
        assert_eq!(bot.credentials, agents::AgentScope::Named(Vec::new()));
    }

    async fn name_limit_and_credentials_of_an_agent_are_changed_on_its_page(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        let (page, key) = add(&mut owner).await;
        let to = format!("{page}/edit");
        let (name, all, some) = (("name", "robot"), ("scope", "all"), ("scope", "some"));
        let changes: &[(&[(&str, &str)], StatusCode)] = &[
            (&[name, ("rate_limit_per_hour", "1"), all], StatusCode::ACCEPTED),
            (&[name, ("rate_limit_per_hour", "1"), all], StatusCode::TOO_MANY_REQUESTS),
            (&[name, ("rate_limit_per_hour", ""), some], StatusCode::NOT_FOUND),
            (&[name, ("rate_limit_per_hour", ""), some, ("credential", "billing")], StatusCode::ACCEPTED),
        ];
        for (fields, status) in changes {
            let saved = owner.submit(&page, &to, fields).await;
            let led = (saved.status, saved.location());
            assert_eq!(led, (StatusCode::SEE_OTHER, page.as_str()), "{fields:?}");
            assert_eq!(asks(&server, &key).await, *status, "{fields:?}");
        }
        let shown = owner.get(&page).await.text;
        assert!(shown.contains("value=\"robot\"") && shown.contains("no limit"), "{shown}");

        let wrong = [("name", "other"), ("rate_limit_per_hour", "many"), all];
        let refused = owner.submit(&page, &to, &wrong).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(refused.text.contains("id=\"rate_limit_per_hour-problem\""), "{}", refused.text);
        assert!(owner.get(&page).await.text.contains("value=\"robot\""), "nothing was changed");
    }

    async fn an_agent_whose_key_is_replaced_or_who_is_disabled_or_removed_is_refused(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        let (page, old) = add(&mut owner).await;
        let new = key(&owner.submit(&page, &format!("{page}/rotate"), &[]).await);
        assert_eq!(asks(&server, &old).await, StatusCode::UNAUTHORIZED);
        assert_eq!(asks(&server, &new).await, StatusCode::ACCEPTED);
        for (verb, status) in [("disable", StatusCode::UNAUTHORIZED), ("enable", StatusCode::ACCEPTED)] {
            let done = owner.submit(&page, &format!("{page}/{verb}"), &[]).await;
            assert_eq!((done.status, done.location()), (StatusCode::SEE_OTHER, page.as_str()), "{verb}");
            assert_eq!(asks(&server, &new).await, status, "{verb}");
            assert_eq!(owner.get("/app/agents").await.text.contains("Disabled"), verb == "disable");
        }
        let removed = owner.submit(&page, &format!("{page}/remove"), &[]).await;
        assert_eq!((removed.status, removed.location()), (StatusCode::SEE_OTHER, "/app/agents"));
        assert_eq!(asks(&server, &new).await, StatusCode::UNAUTHORIZED);
        assert_eq!(owner.get(&page).await.status, StatusCode::NOT_FOUND);
        assert!(!owner.get("/app/agents").await.text.contains(&page));
    }
}
