//! The usage page: requests of agents and of API keys over time, admitted and refused.

use std::time::Duration;

use pyxis_core::id::ApiKeyId;
use pyxis_core::policy::Policy;
use pyxis_core::window;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::{agents, policies};
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_store::usage::{self, Batch, Surface};
use pyxis_testkit::engines;

use crate::support::{Browser, PASSWORD, Server, Team};

/// Four pending requests and one that the policy denies.
async fn five_requests(server: &Server, team: &Team) {
    let policy = Policy::from_json(br#"{"deny_methods":["DELETE"]}"#).unwrap();
    policies::put(&server.gateway, &Actor::cli(team.id), "billing", &policy).await.unwrap();
    for n in 0..4 {
        server.post_pending(team, "/v1/items", "", &format!("{{\"n\":{n}}}")).await;
    }
    let denied = team.request("billing", "DELETE", "http://127.0.0.1:9/v1/items");
    assert_eq!(server.send(denied).await, http::StatusCode::FORBIDDEN);
}

/// Counts this many requests of a key at one endpoint. Its window admits up to 5.
async fn count(server: &Server, key: ApiKeyId, requests: i64) {
    let now = server.gateway.now();
    let window_start = window::quarter_start(now);
    let batch = Batch { key, surface: Surface::Stamps, window_start, requests, limit: 5, now };
    usage::count(&server.gateway.store, &batch).await.unwrap();
}

/// The cells of the row with this name: requests, admitted, refused.
fn cells(page: &str, name: &str) -> Vec<String> {
    let (_, row) = page.split_once(&format!(">{name}</a>")).unwrap_or_else(|| panic!("{name}: {page}"));
    let row = row.split("</tr>").next().unwrap();
    let numbers = row.split("class=\"num").skip(1);
    numbers.map(|cell| cell.split(['>', '<']).nth(1).unwrap().to_owned()).collect()
}

/// Hours later the session has expired, and the person signs in again.
async fn later(server: &Server, owner: &mut Browser, hours: u64) {
    server.later(Duration::from_hours(hours));
    owner.sign_in("ana@example.com", PASSWORD).await;
}

async fn usage_page(owner: &mut Browser, query: &str) -> String {
    owner.get(&format!("/app/usage{query}")).await.text
}

engines! {
    async fn requests_are_told_by_agent_and_by_key_and_leave_the_page_with_time(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let input = ApiKeyInput::with_name("checkout");
        let (key, _) = api_keys::create(&server.scoring, &Actor::cli(team.id), input).await.unwrap();
        let empty = usage_page(&mut owner, "").await;
        assert_eq!(empty.matches("No requests in the last 24 hours").count(), 2, "{empty}");
        assert!(empty.contains("/forward \\") && empty.contains("/v2/stamps/1/score/"), "{empty}");

        five_requests(&server, &team).await;
        count(&server, key.id, 7).await;
        let page = usage_page(&mut owner, "").await;
        assert_eq!(cells(&page, "default-agent"), ["5", "4", "1"]);
        assert_eq!(cells(&page, "checkout"), ["7", "5", "2"]);
        for told in [
            "<desc id=\"agents-svg-desc\">4 requests admitted and 1 refused from ",
            "<desc id=\"keys-svg-desc\">5 requests admitted and 2 refused from ",
            "aria-label=\"Requests of default-agent over time, highest 5 at 2026-01-01 00:00\"",
            "2026-01-01 00:00</th><td class=\"num\">4</td><td class=\"num\">1</td></tr>",
        ] {
            assert!(page.contains(told), "{told}: {page}");
        }

        later(&server, &mut owner, 25).await;
        count(&server, key.id, 1).await;
        let day = usage_page(&mut owner, "?range=24h").await;
        assert!(!day.contains(">default-agent</a>"), "{day}");
        assert_eq!(cells(&day, "checkout"), ["1", "1", "0"]);
        for range in ["7d", "30d"] {
            let page = usage_page(&mut owner, &format!("?range={range}")).await;
            assert_eq!(cells(&page, "default-agent"), ["5", "4", "1"], "{range}");
            assert_eq!(cells(&page, "checkout"), ["8", "6", "2"], "{range}");
        }
        later(&server, &mut owner, 24 * 30).await;
        let month = usage_page(&mut owner, "?range=30d").await;
        assert_eq!(month.matches("No requests in the last 30 days").count(), 2, "{month}");
    }

    async fn usage_is_searched_sorted_and_exported_within_its_range(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        five_requests(&server, &team).await;
        let actor = Actor::cli(team.id);
        for (name, requests) in [("few", 1), ("many", 4)] {
            let (key, _) = api_keys::create(&server.scoring, &actor, ApiKeyInput::with_name(name)).await.unwrap();
            count(&server, key.id, requests).await;
        }
        let order = |page: &str| page.find(">few</a>").unwrap() < page.find(">many</a>").unwrap();
        assert!(!order(&usage_page(&mut owner, "").await), "the most first");
        let page = usage_page(&mut owner, "?range=7d&second_sort=requests").await;
        assert!(order(&page));
        assert!(page.contains("href=\"/app/usage?range=7d&amp;second_sort=%2Drequests\""), "{page}");
        let file = owner.get("/app/usage?range=7d&second_sort=requests&export=api-key-usage").await.text;
        assert_eq!(file, "name,requests,admitted,refused\r\nfew,1,1,0\r\nmany,4,4,0\r\n");
        let file = owner.get("/app/usage?export=agent-usage").await.text;
        assert_eq!(file, "name,requests,admitted,refused\r\ndefault-agent,5,4,1\r\n");
        let found = usage_page(&mut owner, "?q=MANY").await;
        assert!(!found.contains(">few</a>") && found.contains(">many</a>"), "{found}");
        assert!(found.contains("Agents named like"), "{found}");
    }

    async fn who_is_gone_keeps_its_requests_and_other_workspaces_have_none_of_them(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        five_requests(&server, &team).await;
        let actor = Actor::cli(team.id);
        let agent = agents::by_name(&server.gateway.store, team.id, "default-agent").await.unwrap();
        agents::remove(&server.gateway, &actor, agent.row.id).await.unwrap();
        let page = usage_page(&mut owner, "").await;
        assert!(page.contains("<th scope=\"row\">default-agent <span"), "{page}");
        assert!(page.contains("Removed</span>"), "{page}");

        let rival = server.team("rival", "eve@example.com").await;
        let mut eve = server.browser();
        eve.use_link(&rival.link).await;
        assert!(usage_page(&mut eve, "?range=30d").await.contains("No requests in the last 30 days"));
        let without = owner.elsewhere(server.without_scoring()).get("/app/usage").await.text;
        assert!(without.contains("Agent requests") && !without.contains("API key requests"));
    }
}
