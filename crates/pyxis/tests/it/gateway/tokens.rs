//! A token is valid only for the configuration it was fetched under (`docs/reference/credentials.md#oauth-20`). A
//! client waiting for an approved call is told why there was no token.

use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Received, Reply, Upstream};
use serde_json::{Value, json};

use crate::support::{Setup, Site, until};

fn granted(token: &str, refresh_token: Option<&str>) -> Reply {
    let body = json!({
        "access_token": token, "refresh_token": refresh_token, "token_type": "Bearer", "expires_in": 3600,
    });
    Reply::json(&body.to_string())
}

fn refused(status: u16, code: &str) -> Reply {
    let body = json!({"error": code}).to_string();
    Reply::new(status).header("content-type", "application/json").body(body)
}

/// A parameter of the last form received by a token endpoint.
fn last(tokens: &Upstream, name: &str) -> Option<String> {
    let form = tokens.requests().pop().expect("a request").text().to_owned();
    let value = |pair: &str| pair.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
    form.split('&').find_map(value)
}

async fn configure(site: &Site, auth: &Value) {
    let patch = json!({"auth": auth});
    site.owner.client.patch("/admin/credentials/api", &patch).send().await.expect(200);
}

/// The bearer token that the upstream gets next.
async fn sent(site: &Site) -> String {
    let before = site.upstream.requests().len();
    site.forward("GET", "/").send().await.forwarded(200);
    let seen: Received = site.upstream.received(before + 1).await.remove(before);
    seen.header("authorization").unwrap_or_default().to_owned()
}

engines! {
    async fn another_scope_or_endpoint_gets_another_token(setup: Setup) {
        let mut site = Site::bare(setup).await;
        let tokens = Upstream::http().await;
        let auth = |scope: &str, path: &str| {
            json!({"kind": "oauth2_client_credentials", "token_url": tokens.url(path), "scope": scope})
        };
        let secret = json!({"client_id": "me", "client_secret": "s"});
        site.credential("api", &json!({"auth": auth("read", "/one"), "secret": secret})).await;
        for (number, (scope, path)) in [("read", "/one"), ("write", "/one"), ("write", "/two")].into_iter().enumerate() {
            configure(&site, &auth(scope, path)).await;
            tokens.reply(granted(&format!("t{number}"), None));
            assert_eq!(sent(&site).await, format!("Bearer t{number}"));
            assert_eq!((last(&tokens, "scope").as_deref(), tokens.requests()[number].target.as_str()), (Some(scope), path));
        }
        // The stored token belongs to the last configuration; nothing else about the credential matters.
        site.owner.client.patch("/admin/credentials/api", &json!({"description": "other"})).send().await.expect(200);
        site.app.restart().await;
        assert_eq!(sent(&site).await, "Bearer t2");
        assert_eq!(tokens.requests().len(), 3);
    }

    async fn a_stored_refresh_token_goes_only_to_the_endpoint_that_gave_it(setup: Setup) {
        let site = Site::bare(setup).await;
        let (tokens, other) = (Upstream::http().await, Upstream::http().await);
        let auth = |at: &Upstream, scope: &str| {
            json!({"kind": "oauth2_refresh", "token_url": at.url("/token"), "scope": scope})
        };
        let secret = json!({"client_id": "me", "refresh_token": "r0"});
        site.credential("api", &json!({"auth": auth(&tokens, "a"), "secret": secret})).await;
        tokens.reply(granted("t1", Some("r1")));
        assert_eq!(sent(&site).await, "Bearer t1");
        // Another scope: another token, with the refresh token that is valid now.
        configure(&site, &auth(&tokens, "b")).await;
        tokens.reply(granted("t2", Some("r2")));
        assert_eq!(sent(&site).await, "Bearer t2");
        assert_eq!((last(&tokens, "refresh_token").as_deref(), last(&tokens, "scope")), (Some("r1"), None));
        // Another endpoint gets the secret's value, and nothing that the first one issued.
        configure(&site, &auth(&other, "b")).await;
        other.reply(granted("u1", Some("v1")));
        assert_eq!(sent(&site).await, "Bearer u1");
        assert_eq!(last(&other, "refresh_token").as_deref(), Some("r0"));
    }

    async fn a_token_that_the_api_rejects_is_not_used_again(setup: Setup) {
        let mut site = Site::bare(setup).await;
        let tokens = Upstream::http().await;
        let auth = json!({"kind": "oauth2_refresh", "token_url": tokens.url("/token")});
        site.credential("api", &json!({"auth": auth, "secret": {"client_id": "me", "refresh_token": "r0"}})).await;
        tokens.reply(granted("t1", Some("r1")));
        site.upstream.reply(Reply::new(401).body("revoked"));
        // The agent gets the response as it is; nothing is sent twice.
        site.forward("GET", "/").send().await.forwarded(401);
        assert_eq!(site.upstream.requests().len(), 1);
        tokens.reply(granted("t2", Some("r2")));
        assert_eq!(sent(&site).await, "Bearer t2");
        assert_eq!(last(&tokens, "refresh_token").as_deref(), Some("r1"));
        // A different refusal says nothing about the token, and the store has the new one.
        site.upstream.reply(Reply::new(403).body("not yours"));
        site.forward("GET", "/").send().await.forwarded(403);
        site.app.restart().await;
        assert_eq!(sent(&site).await, "Bearer t2");
        assert_eq!(tokens.requests().len(), 2);
    }

    async fn an_approved_call_without_a_token_says_why_and_where_to_connect_again(setup: Setup) {
        let site = Site::bare(setup).await;
        let tokens = Upstream::http().await;
        tokens.reply_with(|_| refused(400, "invalid_grant"));
        let auth = json!({"kind": "oauth2_refresh", "token_url": tokens.url("/token")});
        site.credential("api", &json!({"auth": auth, "secret": {"client_id": "me", "refresh_token": "r0"}})).await;
        let txn = site.pause("/x").await;
        site.owner.approve(&txn).await;
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!((&outcome["error"], &outcome["response"]), (&json!("upstream_error"), &Value::Null), "{outcome}");
        assert!(outcome["url"].as_str().unwrap().ends_with("/app/credentials/api"), "{outcome}");
        assert!(outcome["detail"].as_str().unwrap().contains("connected again"), "{outcome}");
        // A waiting client gets the same error as a request without an approval.
        let held = site.forward("POST", "/y").header("prefer", "wait=30").body("{}");
        let waiting = tokio::spawn(held.send());
        let txn = until("a pending approval", async || {
            let list = site.owner.client.get("/approvals?state=pending").send().await.expect(200).json();
            list["approvals"][0]["txn_id"].as_str().map(str::to_owned)
        })
        .await;
        site.owner.approve(&txn).await;
        let problem = waiting.await.unwrap().problem(502, "reauthorization_required");
        assert_eq!(problem["url"], outcome["url"]);
        assert_eq!(site.upstream.requests().len(), 0);
    }

    async fn an_approved_call_whose_token_endpoint_refuses_says_so(setup: Setup) {
        let site = Site::bare(setup).await;
        let tokens = Upstream::http().await;
        tokens.reply_with(|_| refused(401, "invalid_client"));
        let auth = json!({"kind": "oauth2_client_credentials", "token_url": tokens.url("/token")});
        site.credential("api", &json!({"auth": auth, "secret": {"client_id": "me", "client_secret": "s"}})).await;
        let txn = site.pause("/x").await;
        site.owner.approve(&txn).await;
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!((&outcome["error"], &outcome["url"]), (&json!("upstream_error"), &Value::Null));
        assert!(outcome["detail"].as_str().unwrap().contains("invalid_client"), "{outcome}");
        // A call that was answered has neither.
        tokens.reply(granted("t", None));
        let txn = site.pause("/z").await;
        site.owner.approve(&txn).await;
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!(outcome["response"]["status"], 200, "{outcome}");
        assert!(outcome.get("detail").is_none() && outcome.get("url").is_none(), "{outcome}");
    }

    /// A definite refusal is not retried. An error that may be the client's fault, or that goes away, is.
    async fn a_refusal_to_renew_leads_to_where_the_account_is_connected_again(setup: Setup) {
        let site = Site::bare(setup).await;
        let tokens = Upstream::http().await;
        let auth = json!({"kind": "oauth2_refresh", "token_url": tokens.url("/token")});
        let secret = json!({"client_id": "me", "refresh_token": "r0"});
        site.credential("api", &json!({"auth": auth, "secret": secret})).await;
        let ended = "the credential's account must be connected again";
        for (status, code, error, asked) in [
            (400, "invalid_grant", "reauthorization_required", 1),
            (401, "invalid_grant", "reauthorization_required", 1),
            (400, "interaction_required", "reauthorization_required", 1),
            (400, "consent_required", "reauthorization_required", 1),
            (400, "login_required", "reauthorization_required", 1),
            (200, "bad_refresh_token", "reauthorization_required", 1),
            (200, "invalid_refresh_token", "reauthorization_required", 1),
            (200, "token_revoked", "reauthorization_required", 1),
            (400, "invalid_request", "reauthorization_required", 2),
            (403, "unauthorized_client", "reauthorization_required", 2),
            (401, "invalid_client", "reauthorization_required", 2),
            (401, "", "reauthorization_required", 2),
            (400, "temporarily_unavailable", "token_error", 2),
            (429, "slow_down", "token_error", 2),
            (503, "server_error", "token_error", 2),
            (200, "internal_error", "token_error", 2),
        ] {
            let before = tokens.requests().len();
            tokens.reply_with(move |_| refused(status, code));
            for _ in 0..2 {
                let problem = site.forward("GET", "/").send().await.problem(502, error);
                let (url, detail) = (problem["url"].as_str(), problem["detail"].as_str().unwrap());
                let leads = url.is_some_and(|url| url.ends_with("/app/credentials/api"));
                assert_eq!(leads, error == "reauthorization_required", "{problem}");
                // For an unclear error, the provider's message helps.
                let said = format!("it answered {status} {code}");
                assert_eq!(detail == ended, asked == 1, "{problem}");
                assert_eq!(detail.ends_with(said.trim_end()), asked == 2, "{problem}");
            }
            assert_eq!(tokens.requests().len() - before, asked, "{status} {code}");
            // Another secret is another account.
            let again = json!({"secret": secret});
            site.owner.client.put("/admin/credentials/api/secret", &again).send().await.expect(200);
        }
        tokens.reply_with(|_| granted("t1", Some("r1")));
        assert_eq!(sent(&site).await, "Bearer t1");
        assert_eq!(site.upstream.requests().len(), 1);
    }
}

engines! {
    async fn a_scope_that_differs_from_the_one_asked_for_is_shown_and_a_refresh_asks_for_none(setup: Setup) {
        let mut site = Site::bare(setup).await;
        let tokens = Upstream::http().await;
        let shown = async |site: &Site| {
            let path = "/admin/credentials/api";
            let one = site.owner.client.get(path).send().await.expect(200).json();
            let list = site.owner.client.get("/admin/credentials").send().await.expect(200).json();
            assert_eq!(list["credentials"][0]["granted_scope"], one["granted_scope"]);
            one["granted_scope"].as_str().map(str::to_owned)
        };
        let auth = json!({"kind": "oauth2_refresh", "token_url": tokens.url("/token"), "scope": "read write"});
        site.credential("api", &json!({"auth": auth, "secret": {"client_id": "me", "refresh_token": "r0"}})).await;
        let grant = async |site: &Site, token: &str, scope: Value| {
            let body = json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": scope});
            tokens.reply(Reply::json(&body.to_string()));
            assert_eq!(sent(site).await, format!("Bearer {token}"));
            assert_eq!(last(&tokens, "scope"), None, "a refresh keeps the scope that was granted");
            // The API rejects the token, so that the next request fetches one.
            site.upstream.reply(Reply::new(401));
            site.forward("GET", "/").send().await.forwarded(401);
        };
        assert_eq!(shown(&site).await, None);
        // The same names in another order, or as a list, are the same scope.
        for same in [json!("write read"), json!(["read", "write"]), json!("read,write"), Value::Null] {
            grant(&site, "t1", same).await;
            assert_eq!(shown(&site).await, None);
        }
        grant(&site, "t2", json!("read")).await;
        assert_eq!(shown(&site).await.as_deref(), Some("read"));
        site.app.restart().await;
        // An endpoint that does not mention the scope keeps it.
        grant(&site, "t3", Value::Null).await;
        assert_eq!(shown(&site).await.as_deref(), Some("read"));
        grant(&site, "t4", json!("read write")).await;
        assert_eq!(shown(&site).await, None);
    }
}

#[tokio::test]
async fn a_refused_assertion_names_the_difference_of_the_clocks() {
    const KEY: &str = include_str!("../../../../pyxis-signing/data/ed25519.pem");
    let site = Site::bare(Setup::new()).await;
    let tokens = Upstream::http().await;
    let auth = json!({
        "kind": "jwt_bearer", "token_url": tokens.url("/token"), "issuer": "me", "algorithm": "EdDSA",
    });
    site.credential("api", &json!({"auth": auth, "secret": KEY})).await;
    for (date, expected) in [
        (Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some("ahead of the endpoint's")),
        (Some("Fri, 01 Jan 2100 00:00:00 GMT"), Some("behind the endpoint's")),
        // The usual `Date` of a server whose clock is right.
        (None, None),
        (Some("yesterday"), None),
    ] {
        let mut reply = refused(400, "invalid_grant");
        if let Some(date) = date {
            reply = reply.header("date", date);
        }
        tokens.reply(reply);
        let problem = site.forward("GET", "/").send().await.problem(502, "token_error");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("400 invalid_grant"), "{detail}");
        assert_eq!(detail.contains("clock"), expected.is_some(), "{date:?}: {detail}");
        assert!(detail.contains(expected.unwrap_or_default()), "{detail}");
    }
    // This refusal does not depend on the time.
    let auth = json!({"kind": "oauth2_client_credentials", "token_url": tokens.url("/token")});
    let secret = json!({"client_id": "me", "client_secret": "s"});
    site.credential("client", &json!({"auth": auth, "secret": secret})).await;
    tokens.reply(refused(401, "invalid_client").header("date", "Sun, 06 Nov 1994 08:49:37 GMT"));
    let call = site.agent.forward("client", "GET", &site.upstream.url("/"));
    let problem = call.send().await.problem(502, "token_error");
    assert!(!problem["detail"].as_str().unwrap().contains("clock"), "{problem}");
}
