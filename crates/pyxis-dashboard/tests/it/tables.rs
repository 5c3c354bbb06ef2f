//! Tables can be sorted by their headings, and each can be exported as a file.

use std::collections::BTreeSet;

use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use pyxis_core::approval_mode::Role;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::proof::Kind;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::agents::{self, AgentInput, AgentScope};
use pyxis_gateway::admin::people;
use pyxis_gateway::admin::webhooks::{self, WebhookInput};
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_scoring::service::scorers::{self, ScorerInput};
use pyxis_scoring::service::{history_requests, issuers};
use pyxis_store::issuers::IssuerRow;
use pyxis_testkit::engines;
use pyxis_verify::service::issuers as proof_issuers;

use crate::support::{Browser, CANARY, Server};

/// Names for three of everything listed, chosen so that no list has them in their order of creation.
const NAMES: [&str; 3] = ["mm-second", "ZZ-third", "aa-first"];

/// The names in the order of their first occurrence in `text`.
fn order(text: &str) -> Vec<&'static str> {
    let mut found: Vec<_> = NAMES.into_iter().filter_map(|name| Some((text.find(name)?, name))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).collect()
}

const RISING: [&str; 3] = ["aa-first", "mm-second", "ZZ-third"];
const FALLING: [&str; 3] = ["ZZ-third", "mm-second", "aa-first"];

async fn fill(server: &Server, team: WorkspaceId) {
    let actor = Actor::cli(team);
    for (n, name) in NAMES.into_iter().enumerate() {
        let input = AgentInput {
            name: name.into(),
            rate_limit_per_hour: None,
            max_pending: None,
            credentials: AgentScope::All,
        };
        agents::create(&server.gateway, &actor, input).await.unwrap();
        server.add_bearer(team, name, "api.example.com").await;
        people::add(&server.gateway, &actor, &format!("{name}@example.com"), Role::Member).await.unwrap();
        let url = format!("https://127.0.0.1:9/{name}");
        webhooks::create(&server.gateway, &actor, WebhookInput { url, ..WebhookInput::default() })
            .await
            .unwrap();
        let input = ScorerInput { name: name.to_owned(), threshold: None, weights: None };
        scorers::create(&server.scoring.audited, &actor, input).await.unwrap();
        let (key, _) = api_keys::create(&server.scoring, &actor, ApiKeyInput::with_name(name)).await.unwrap();
        history_requests::create(&server.scoring, &actor, key.id, &format!("use of {name}")).await.unwrap();
        let did = format!("did:ethr:0x{:040x}", n + 1);
        issuers::add(&server.scoring.audited, &actor, &did, name).await.unwrap();
    }
}

/// Every list: its page, the parameter that sorts it, the column of its names and the name of its file.
const LISTS: [(&str, &str, &str, &str); 10] = [
    ("/app/agents", "sort", "name", "agents"),
    ("/app/credentials", "sort", "name", "credentials"),
    ("/app/people", "sort", "email", "people"),
    ("/app/policies", "sort", "credential", "policies"),
    ("/app/webhooks", "sort", "url", "webhooks"),
    ("/app/scorers", "sort", "name", "scorers"),
    ("/app/api-keys", "sort", "name", "api-keys"),
    ("/app/api-keys", "second_sort", "key", "history-requests"),
    ("/app/issuers", "sort", "name", "issuers"),
    ("/app/verification", "sort", "name", "proof-issuers"),
];

/// The part of a page with the list: everything below the heading of the second list, or above it.
fn part<'a>(page: &'a str, parameter: &str) -> &'a str {
    let (_, main) = page.split_once("<main").expect("a page");
    match main.split_once("id=\"history-title\"") {
        Some((_, second)) if parameter == "second_sort" => second,
        Some((first, _)) => first,
        None => main,
    }
}

/// Target of a column's heading, and the order that it announces.
fn heading<'a>(page: &'a str, link: &str) -> (bool, Option<&'a str>) {
    let link = link.replace('&', "&amp;");
    let Some((before, _)) = page.split_once(&format!("class=\"sort\" href=\"{link}\"")) else {
        return (false, None);
    };
    let (_, tag) = before.rsplit_once("<th").unwrap_or_default();
    (true, tag.split_once("aria-sort=\"").and_then(|(_, rest)| rest.split('"').next()))
}

async fn csv(owner: &mut Browser, path: &str) -> String {
    let file = owner.get(path).await;
    assert_eq!(file.headers[CONTENT_TYPE], "text/csv; charset=utf-8", "{path}");
    assert!(file.headers[CONTENT_DISPOSITION].to_str().unwrap().starts_with("attachment; filename=\"pyxis-"));
    file.text
}

engines! {
    async fn every_list_is_sorted_by_a_heading_and_its_file_has_the_same_order(server: Server) {
        let (team, owner) = server.with_owner().await;
        fill(&server, team.id).await;
        let (verification, pages) = server.with_verification();
        let mut owner = owner.elsewhere(pages);
        for (n, name) in (1..).zip(NAMES) {
            let issuer = format!("0x{n:040x}").parse().unwrap();
            proof_issuers::add(&verification.audited, &Actor::cli(team.id), Kind::Phone, issuer, name).await.unwrap();
        }
        for (path, parameter, column, list) in LISTS {
            for (sort, expected, turned, word) in [
                (column.to_owned(), RISING, format!("%2D{column}"), "ascending"),
                (format!("-{column}"), FALLING, column.to_owned(), "descending"),
            ] {
                let page = owner.get(&format!("{path}?{parameter}={sort}")).await.text;
                assert_eq!(order(part(&page, parameter)), expected, "{path} {sort}");
                let (links, said) = heading(&page, &format!("{path}?{parameter}={turned}"));
                assert!(links, "{path}?{parameter}={turned}: {page}");
                // A list that is not a table says it in words.
                let in_words = page.contains(&format!("<span class=\"sr\">, {word}</span>"));
                assert!(said == Some(word) || in_words, "{path} {sort}: {said:?}");
                let file = csv(&mut owner, &format!("{path}?{parameter}={sort}&export={list}")).await;
                assert_eq!(order(&file), expected, "{file}");
                assert!(file.contains(column) && !file.contains(CANARY), "{file}");
            }
            let usual = owner.get(path).await.text;
            let nonsense = owner.get(&format!("{path}?{parameter}=nonsense%3B")).await;
            assert_eq!(nonsense.status, http::StatusCode::OK);
            assert_eq!(order(part(&nonsense.text, parameter)), order(part(&usual, parameter)), "{path}");
        }
    }

    async fn an_order_and_a_search_stay_while_pages_turn_and_a_file_has_all_that_was_found(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        for n in 0..120 {
            let input = AgentInput {
                name: format!("bot-{n:03}"),
                rate_limit_per_hour: None,
                max_pending: None,
                credentials: AgentScope::All,
            };
            agents::create(&server.gateway, &Actor::cli(team.id), input).await.unwrap();
        }
        let page = owner.get("/app/agents?q=bot&sort=-name&page=2").await.text;
        assert!(page.contains("bot-069") && !page.contains("bot-070") && !page.contains("bot-019"));
        assert!(page.contains("href=\"/app/agents?q=bot&amp;sort=%2Dname&amp;page=3\" rel=\"next\""));
        assert!(heading(&page, "/app/agents?q=bot&sort=name&page=2").0, "{page}");
        assert!(page.contains("<input type=\"hidden\" name=\"sort\" value=\"-name\">"), "{page}");
        assert!(page.contains("href=\"/app/agents?q=bot&amp;sort=%2Dname&amp;export=agents\" download"));
        let file = csv(&mut owner, "/app/agents?q=bot&sort=-name&page=2&export=agents").await;
        let rows: Vec<_> = file.lines().collect();
        assert_eq!(rows.len(), 121, "{file}");
        assert!(rows[0].starts_with("name,key,state,") && rows[1].starts_with("bot-119,px_agent_"), "{file}");
        assert!(rows[120].starts_with("bot-000,"), "{file}");
        assert!(!file.contains("default-agent"), "only what was found");
    }

    async fn a_file_longer_than_one_read_has_every_row_once_and_a_page_behind_it_is_the_last(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let mut tx = server.gateway.store.begin().await.unwrap();
        for n in 0..2000 {
            let created_at = UnixMillis(n % 3);
            let row = IssuerRow { did: format!("did:web:{n:04}.example"), name: "Äquator".to_owned(), created_at };
            pyxis_store::issuers::put(&mut tx, team.id, &row).await.unwrap();
        }
        tx.commit().await.unwrap();
        let file = csv(&mut owner, "/app/issuers?q=%C3%A4QUATOR&sort=-listed&export=issuers").await;
        let rows: Vec<_> = file.trim_end().split("\r\n").skip(1).collect();
        let dids: BTreeSet<_> = rows.iter().map(|row| row.split(',').nth(1).unwrap()).collect();
        assert_eq!((rows.len(), dids.len()), (2000, 2000));
        assert!(rows[0].ends_with("00.002Z") && rows[1999].ends_with("00.000Z"), "{}", rows[0]);
        let last = owner.get("/app/issuers?q=%C3%84qua&sort=name&page=99999").await.text;
        assert!(last.contains("50 of 2000") && !last.contains("rel=\"next\""), "{last}");
        assert!(last.contains("did:web:1999.example") && !last.contains("did:web:1949.example"), "{last}");
    }

    async fn no_cell_of_a_list_is_a_formula(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        for name in ["=cmd|'/c calc'!A1", "+1", "-1", "@SUM(A1)"] {
            api_keys::create(&server.scoring, &Actor::cli(team.id), ApiKeyInput::with_name(name)).await.unwrap();
        }
        let file = csv(&mut owner, "/app/api-keys?export=api-keys").await;
        for line in file.lines().skip(1) {
            assert!(line.starts_with('\''), "{line}");
        }
        assert_eq!(file.lines().count(), 5, "{file}");
    }
}

/// The transactions of `page` in their order.
fn places(page: &str, asked: &[String]) -> Vec<usize> {
    let mut found: Vec<_> =
        asked.iter().enumerate().filter_map(|(n, txn)| Some((page.find(txn.as_str())?, n))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, n)| n).collect()
}

engines! {
    async fn what_was_decided_is_sorted_by_the_database_page_by_page_and_exported_whole(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let mut asked = Vec::new();
        for n in 0..52 {
            let txn = server.post_pending(&team, "/v1/items", "=1+1", &format!("{{\"n\":{n}}}")).await;
            if n < 51 {
                owner.submit("/app/account", &format!("/app/approvals/{txn}/deny"), &[]).await;
            }
            asked.push(txn);
            server.later(std::time::Duration::from_secs(1));
        }
        let waiting = asked.pop().unwrap();
        for (sort, first, last) in [("", 50, 0), ("-asked", 50, 0), ("asked", 0, 50), ("nonsense", 50, 0)] {
            let page = owner.get(&format!("/app/decided?sort={sort}")).await.text;
            let shown = places(&page, &asked);
            assert_eq!((shown.len(), shown[0]), (50, first), "{sort}");
            let next = page.split(" rel=\"next\"").next().unwrap().rsplit("href=\"").next().unwrap();
            let next = next.trim_end_matches('"').replace("&amp;", "&");
            assert_eq!(places(&owner.get(&next).await.text, &asked), [last], "{next}");
        }
        for sort in ["host", "-agent", "credential", "state"] {
            let page = owner.get(&format!("/app/decided?sort={sort}")).await.text;
            assert_eq!(places(&page, &asked).len(), 50, "{sort}");
            assert_eq!(page.matches(" aria-sort=\"").count(), 1, "{sort}");
        }
        let file = csv(&mut owner, "/app/decided?sort=asked&q=BILLING&export=decided").await;
        let rows: Vec<_> = file.trim_end().split("\r\n").collect();
        assert!(rows[0].starts_with("txn_id,asked,method,route,") && rows.len() == 52, "{file}");
        assert_eq!(places(&file, &asked), (0..51).collect::<Vec<_>>());
        assert!(!file.contains(&waiting) && !file.contains(",=1+1") && file.contains(",'=1+1,denied,"));
        assert_eq!(csv(&mut owner, "/app/decided?q=nobody&export=decided").await.lines().count(), 1);
    }

    async fn the_trail_is_sorted_by_the_database_page_by_page(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let mut asked = Vec::new();
        for n in 0..51 {
            asked.push(server.post_pending(&team, "/v1/items", "", &format!("{{\"n\":{n}}}")).await);
        }
        let orders = [("", 50, 0), ("when", 0, 50), ("-what", 50, 0), ("who", 0, 50), ("nonsense", 50, 0)];
        for (sort, first, last) in orders {
            let list = format!("/app/audit?event=requests&sort={sort}");
            let page = owner.get(&list).await.text;
            let shown = places(&page, &asked);
            assert_eq!((shown.len(), shown[0]), (50, first), "{sort}");
            let next = page.split(" rel=\"next\"").next().unwrap().rsplit("href=\"").next().unwrap();
            let next = next.trim_end_matches('"').replace("&amp;", "&");
            assert_eq!(places(&owner.get(&next).await.text, &asked), [last], "{next}");
        }
        let page = owner.get("/app/audit?event=requests&sort=who").await.text;
        let turned = "/app/audit?event=requests&sort=%2Dwho";
        assert_eq!(heading(&page, turned), (true, Some("ascending")), "{page}");
        assert!(page.contains("<input type=\"hidden\" name=\"sort\" value=\"who\">"), "{page}");
    }
}
