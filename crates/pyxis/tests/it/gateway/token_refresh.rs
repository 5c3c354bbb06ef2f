//! One refresh for all nodes, and no refresh token that is lost (`docs/reference/credentials.md#oauth-20`).

use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};

use crate::support::{Browser, Setup, Site, until};
use pyxis_testkit::postgres::Database;

/// A token that expires immediately, or one that lasts.
fn granted(number: usize, seconds: u32) -> Reply {
    let body = json!({
        "access_token": format!("a{number}"), "refresh_token": format!("r{number}"), "token_type": "Bearer",
        "expires_in": seconds,
    });
    Reply::json(&body.to_string())
}

/// Every refresh token except the queued one is used up.
fn used_up(tokens: &Upstream) {
    tokens.reply_with(|_| {
        let refused = Reply::new(400).header("content-type", "application/json");
        refused.body("{\"error\":\"invalid_grant\"}")
    });
}

async fn account(site: &Site, tokens: &Upstream) {
    let fields = json!({
        "auth": {"kind": "oauth2_refresh", "token_url": tokens.url("/token"), "client_auth": "body"},
        "secret": {"client_id": "me", "client_secret": "s", "refresh_token": "r0"},
    });
    site.credential("api", &fields).await;
}

/// The refresh tokens received, in order.
fn asked_with(tokens: &Upstream) -> Vec<String> {
    let form = |request: &pyxis_testkit::upstream::Received| {
        let sent = request.text().split('&').find_map(|pair| pair.strip_prefix("refresh_token="));
        sent.expect("a refresh token").to_owned()
    };
    tokens.requests().iter().map(form).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_at_the_end_of_a_token_ask_for_one_new_token_on_postgres() {
    const CALLS: usize = 24;
    let database = Database::migrated("single_flight").await;
    let site = Site::bare(Setup::on(database)).await;
    let tokens = Upstream::http().await;
    used_up(&tokens);
    account(&site, &tokens).await;
    let node = site.app.another_node();
    let agents = [site.agent.clone(), node.agent(&site.agent.key)];
    let url = site.upstream.url("/");

    // Both nodes have had a token, which has expired.
    for (number, agent) in agents.iter().enumerate() {
        tokens.reply(granted(number + 1, 1));
        agent.forward("api", "GET", &url).send().await.forwarded(200);
    }
    // The endpoint delays its response until every request of both nodes is on record and waits for a token.
    let (reply, release) = granted(3, 3600).hold();
    tokens.reply(reply);
    let calls: Vec<_> = (0..CALLS)
        .map(|number| tokio::spawn(agents[number % 2].forward("api", "GET", &url).send()))
        .collect();
    until("every request on record", async || {
        let count = site.app.sql("SELECT count(*)::text FROM audit_records WHERE kind = 'forward'");
        (count[0].parse::<usize>().ok()? == CALLS + 2).then_some(())
    })
    .await;
    assert_eq!(tokens.received(3).await.len(), 3, "one of them asks, the others wait");
    drop(release);
    for call in calls {
        call.await.unwrap().forwarded(200);
    }
    assert_eq!(asked_with(&tokens), ["r0", "r1", "r2"]);
    let seen = site.upstream.received(CALLS + 2).await;
    let with =
        |token: &str| seen.iter().filter(|request| request.header("authorization") == Some(token)).count();
    assert_eq!((with("Bearer a1"), with("Bearer a2"), with("Bearer a3")), (1, 1, CALLS));
}

/// A manager with a browser.
pub(super) async fn manager(site: &Site) -> Browser {
    const EMAIL: &str = "manager@people.example";
    site.app.admin(EMAIL).await;
    Browser::sign_in(&site.app.anonymous(), EMAIL).await
}

/// Goes to the provider and returns with a code.
pub(super) async fn connect(browser: &Browser) {
    let page = browser.submit("/app/credentials/api/connect", &[]).await.expect(200).text();
    let (_, rest) = page.split_once("state=").expect("an address with a state");
    let state: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    let fields = [("state", state.as_str()), ("code", "c0de")];
    let answer = browser.submit("/app/oauth/callback", &fields).await.expect(303);
    assert_eq!(answer.header("location"), Some("/app/credentials/api"), "it is connected");
}

/// An account at a provider that knows the refresh tokens of two accounts; the second is connected by a code.
pub(super) async fn two_accounts(site: &Site, tokens: &Upstream) {
    tokens.reply_with(|request| {
        let account = |access: &str, refresh: &str| {
            let body = json!({
                "access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600,
            });
            Reply::json(&body.to_string())
        };
        match request.text() {
            form if form.starts_with("grant_type=authorization_code") => account("second", "n1"),
            form if form.contains("refresh_token=r0") => account("first", "r1"),
            _ => Reply::new(400)
                .header("content-type", "application/json")
                .body("{\"error\":\"invalid_grant\"}"),
        }
    });
    let fields = json!({
        "auth": {
            "kind": "oauth2_refresh", "token_url": tokens.url("/token"),
            "authorization_url": "https://login.example.com/authorize", "client_auth": "body",
        },
        "secret": {"client_id": "me", "client_secret": "s", "refresh_token": "r0"},
    });
    site.credential("api", &fields).await;
}

/// The access tokens received, in order.
fn used(site: &Site) -> Vec<String> {
    let token =
        |request: &pyxis_testkit::upstream::Received| request.header("authorization").unwrap().to_owned();
    site.upstream.requests().iter().map(token).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_account_that_is_connected_on_one_node_is_used_on_every_node_at_once_on_postgres() {
    let database = Database::migrated("reconnected").await;
    let site = Site::bare(Setup::on(database)).await;
    let tokens = Upstream::http().await;
    two_accounts(&site, &tokens).await;
    let node = site.app.another_node();
    let elsewhere = node.agent(&site.agent.key);
    let url = site.upstream.url("/");
    // Both nodes have the token of the first account, which is valid for an hour.
    site.forward("GET", "/").send().await.forwarded(200);
    elsewhere.forward("api", "GET", &url).send().await.forwarded(200);
    connect(&manager(&site).await).await;
    elsewhere.forward("api", "GET", &url).send().await.forwarded(200);
    site.forward("GET", "/").send().await.forwarded(200);
    assert_eq!(used(&site), ["Bearer first", "Bearer first", "Bearer second", "Bearer second"]);
    assert_eq!(tokens.requests().len(), 2, "one for each account");
}

engines! {
    /// The old grant's response arrives after the new one's.
    async fn a_renewal_that_was_under_way_does_not_bring_the_account_before_back(setup: Setup) {
        let site = Site::bare(setup).await;
        let tokens = Upstream::http().await;
        two_accounts(&site, &tokens).await;
        let browser = manager(&site).await;
        let (reply, release) = granted(7, 3600).hold();
        tokens.reply(reply);
        let call = tokio::spawn(site.forward("GET", "/").send());
        tokens.received(1).await;
        connect(&browser).await;
        drop(release);
        call.await.unwrap().problem(403, "no_longer_allowed");
        site.forward("GET", "/").send().await.forwarded(200);
        assert_eq!(used(&site), ["Bearer second"]);
        let shown = site.owner.client.get("/admin/credentials/api").send().await.expect(200).json();
        assert_eq!(shown["version"], 2, "as with a new secret");
    }

    /// The process dies after it got a new refresh token and before the request that needed it is answered.
    async fn a_crash_between_refresh_and_use_loses_no_refresh_token(setup: Setup) {
        let mut site = Site::bare(setup).await;
        let tokens = Upstream::http().await;
        used_up(&tokens);
        account(&site, &tokens).await;
        tokens.reply(granted(1, 1));
        let (reply, release) = Reply::ok("late").hold();
        site.upstream.reply(reply);
        let call = tokio::spawn(site.forward("GET", "/").try_open());
        // The request is on the wire with the new token, so its successor must be in the store.
        let sent = site.upstream.received(1).await.remove(0);
        assert_eq!(sent.header("authorization"), Some("Bearer a1"));
        site.app.kill().await;
        drop(release);
        assert!(call.await.unwrap().is_err());
        site.app.serve();
        tokens.reply(granted(2, 3600));
        let answer = site.app.default_agent().forward("api", "GET", &site.upstream.url("/")).send().await;
        answer.forwarded(200);
        assert_eq!(asked_with(&tokens), ["r0", "r1"]);
        let seen = site.upstream.received(2).await.remove(1);
        assert_eq!(seen.header("authorization"), Some("Bearer a2"));
    }

    /// The agent hangs up while the token is fetched.
    async fn an_agent_that_goes_away_does_not_take_the_refresh_token_along(setup: Setup) {
        let site = Site::bare(setup).await;
        let tokens = Upstream::http().await;
        used_up(&tokens);
        account(&site, &tokens).await;
        let (reply, release) = granted(1, 3600).hold();
        tokens.reply(reply);
        let call = tokio::spawn(site.forward("GET", "/").try_open());
        tokens.received(1).await;
        call.abort();
        drop(release);
        site.forward("GET", "/").send().await.forwarded(200);
        assert_eq!(asked_with(&tokens), ["r0"]);
        let stored: Vec<Value> = site.app.audit().await;
        assert!(!stored.iter().any(|record| record.to_string().contains("\"r1\"")));
    }
}
