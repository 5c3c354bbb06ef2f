//! The home page: set-up, what waits, the last 24 hours, and what needs attention.

use std::time::Duration;

use http::StatusCode;
use pyxis_core::approval_mode::Role;
use pyxis_core::clock::UnixMillis;
use pyxis_core::policy::Policy;
use pyxis_gateway::admin::webhooks::{self, WebhookInput};
use pyxis_gateway::admin::{credentials, policies};
use pyxis_gateway::{Actor, Config};
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_store::deliveries::{self, Attempt, DeliveryStatus};
use pyxis_store::oauth_tokens::{self, TokenRow};
use pyxis_store::usage::{self, Batch, Surface};
use pyxis_store::{credentials as stored_credentials, home};
use pyxis_testkit::authenticator::Authenticator;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};

use crate::support::{Browser, ORIGIN_URL, PASSWORD, Server, Team, register};

const DAY: Duration = Duration::from_hours(24);

async fn home_page(browser: &mut Browser) -> String {
    let page = browser.get("/app").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    page.text
}

/// The page after time has passed, and with it the session.
async fn home_page_later(server: &Server, browser: &mut Browser, by: Duration) -> String {
    server.later(by);
    browser.sign_in("ana@example.com", PASSWORD).await;
    home_page(browser).await
}

/// One request that a policy denies.
async fn denied(server: &Server, team: &Team) {
    let policy = Policy::from_json(br#"{"deny_methods":["DELETE"]}"#).unwrap();
    policies::put(&server.gateway, &Actor::cli(team.id), "billing", &policy).await.unwrap();
    let request = team.request("billing", "DELETE", "http://127.0.0.1:9/v1/items");
    assert_eq!(server.send(request).await, StatusCode::FORBIDDEN);
}

async fn webhook(server: &Server, team: &Team) -> webhooks::Webhook {
    let url = "https://127.0.0.1:9/in".to_owned();
    let input = WebhookInput { url, ..WebhookInput::default() };
    webhooks::create(&server.gateway, &Actor::cli(team.id), input).await.unwrap().0
}

/// Number of steps that are done, and the titles of those that are left.
fn steps(page: &str) -> (String, Vec<&str>) {
    let Some((_, list)) = page.split_once("id=\"setup-title\"") else { return (String::new(), Vec::new()) };
    let (list, _) = list.split_once("</section>").unwrap();
    let (_, done) = list.split_once("<p>").unwrap();
    let titles = list.split("class=\"step-title\">").skip(1).map(|rest| rest.split('<').next().unwrap());
    (done.split('<').next().unwrap().to_owned(), titles.collect())
}

/// The count next to a label of the table.
fn count<'a>(page: &'a str, label: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!(">{label}</a></th><td class=\"num\">")).expect(label);
    rest.split('<').next().unwrap()
}

/// A server whose upstream answers 401 to everything.
struct UnauthorizedSite {
    server: Server,
    upstream: Upstream,
}

impl Fixture for UnauthorizedSite {
    async fn start(database: TestDatabase) -> Self {
        let upstream = Upstream::http().await;
        upstream.reply_with(|_| Reply::new(401));
        let server = Server::reaching(database, Config::default(), &[upstream.addr()]).await;
        Self { server, upstream }
    }
}

engines! {
    async fn an_empty_installation_teaches_every_step_and_needs_no_attention(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        credentials::remove(&server.gateway.audited, &Actor::cli(team.id), "billing").await.unwrap();
        let page = home_page(&mut owner).await;
        let (done, left) = steps(&page);
        assert_eq!(done, "0 of 6 done");
        assert_eq!(left, [
            "Store a credential",
            "Connect an agent",
            "Add a second approver",
            "Set up backups",
            "Add a passkey",
            "Turn on notifications",
        ]);
        for told in [
            "href=\"/app/new/credential\"",
            "/connect\"",
            "href=\"/app/new/person\"",
            "PX_BACKUP_DIR",
            "href=\"/app/account\"",
            "href=\"/app/notifications\"",
            "Requests that need approval appear here",
            "No requests in the last 24 hours. When an agent sends one",
            "Nothing needs attention.",
            "Programs read scores with an <a href=\"/app/api-keys\">API key</a>",
        ] {
            assert!(page.contains(told), "{told}: {page}");
        }
    }

    async fn each_step_disappears_when_it_is_done_and_the_list_with_the_last_one(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let actor = Actor::cli(team.id);
        credentials::remove(&server.gateway.audited, &actor, "billing").await.unwrap();
        assert_eq!(steps(&home_page(&mut owner).await).0, "0 of 6 done");

        server.add_bearer(team.id, "billing", "127.0.0.1:9").await;
        let page = home_page(&mut owner).await;
        assert_eq!(steps(&page).0, "1 of 6 done");
        assert!(!steps(&page).1.contains(&"Store a credential"));

        let connect = page.split("href=\"").find(|rest| rest.contains("/connect\"")).unwrap();
        let connect = owner.get(connect.split('"').next().unwrap()).await;
        assert!(connect.text.contains("Connect default-agent"), "the step leads to its page");
        server.post_pending(&team, "/v1/first", "", "{}").await;
        assert!(!steps(&home_page(&mut owner).await).1.contains(&"Connect an agent"));

        server.with_person(&team, "adm@example.com", Role::Admin).await;
        assert!(!steps(&home_page(&mut owner).await).1.contains(&"Add a second approver"));

        home::record_backup(&server.gateway.store, server.gateway.now()).await.unwrap();
        assert!(!steps(&home_page(&mut owner).await).1.contains(&"Set up backups"));

        register(&mut owner, &mut Authenticator::new(ORIGIN_URL, 1), "laptop").await;
        let page = home_page(&mut owner).await;
        assert_eq!(steps(&page), ("5 of 6 done".to_owned(), vec!["Turn on notifications"]));

        webhook(&server, &team).await;
        assert_eq!(steps(&home_page(&mut owner).await), (String::new(), Vec::new()));
    }

    async fn a_backup_of_last_week_is_not_recent(server: Server) {
        let (_team, mut owner) = server.with_owner().await;
        home::record_backup(&server.gateway.store, server.gateway.now()).await.unwrap();
        assert!(!steps(&home_page_later(&server, &mut owner, 6 * DAY).await).1.contains(&"Set up backups"));
        assert!(steps(&home_page_later(&server, &mut owner, 2 * DAY).await).1.contains(&"Set up backups"));
    }

    async fn a_step_is_skipped_for_one_person_and_an_unknown_one_is_refused(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let mut admin = server.with_person(&team, "adm@example.com", Role::Admin).await;
        for _ in 0..2 {
            let skipped = owner.submit("/app", "/app/setup/skip", &[("step", "backup")]).await;
            assert_eq!(skipped.location(), "/app");
        }
        let page = home_page(&mut owner).await;
        assert_eq!(steps(&page).0, "2 of 6 done", "skipping is not doing");
        assert!(!steps(&page).1.contains(&"Set up backups"));
        assert!(steps(&home_page(&mut admin).await).1.contains(&"Set up backups"));
        for unknown in ["", "nothing", "Backup"] {
            let refused = owner.submit("/app", "/app/setup/skip", &[("step", unknown)]).await;
            assert_eq!(refused.status, StatusCode::NOT_FOUND, "{unknown}");
        }
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        let refused = member.submit("/app", "/app/setup/skip", &[("step", "backup")]).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "a step of managers");
        for step in ["agent", "passkey", "notifications"] {
            owner.submit("/app", "/app/setup/skip", &[("step", step)]).await;
        }
        assert_eq!(steps(&home_page(&mut owner).await).1, Vec::<&str>::new());
    }

    async fn a_member_sees_only_the_own_steps_and_no_administration(server: Server) {
        let (team, _owner) = server.with_owner().await;
        denied(&server, &team).await;
        let txn = server.post_pending(&team, "/v1/first", "", "{}").await;
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        let page = home_page(&mut member).await;
        assert_eq!(steps(&page), ("0 of 2 done".to_owned(), vec!["Add a passkey", "Turn on notifications"]));
        assert!(page.contains("Ready") && page.contains("Requests that need approval appear here"), "{page}");
        for hidden in ["Last 24 hours", "Scores served", "/app/audit", "PX_BACKUP_DIR", "/app/settings", &txn] {
            assert!(!page.contains(hidden), "{hidden}: {page}");
        }
        server.grant(&team, "mem@example.com", true, false).await;
        assert!(home_page(&mut member).await.contains(&format!("href=\"/app/approvals/{txn}\"")));
    }

    async fn pending_requests_and_decisions_are_counted_and_linked(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let first = server.post_pending(&team, "/v1/first", "", "{}").await;
        server.later(Duration::from_secs(5));
        server.post_pending(&team, "/v1/second", "", "{\"n\":2}").await;
        denied(&server, &team).await;
        let page = home_page(&mut owner).await;
        assert!(page.contains("<a href=\"/app/inbox\">2</a>"), "{page}");
        assert!(page.contains("Oldest <time") && page.contains(&format!("href=\"/app/approvals/{first}\"")), "{page}");
        assert!(page.replace("<wbr>", "").contains(">default-agent: POST 127.0.0.1:9</a>"), "{page}");
        assert_eq!((count(&page, "Denied by policy"), count(&page, "Allowed by policy")), ("1", "0"));
        assert!(page.contains("/app/audit?outcome=denied"), "{page}");

        server.later(Duration::from_mins(1));
        let to = format!("/app/approvals/{first}/deny");
        owner.submit("/app/account", &to, &[("from", "inbox")]).await;
        server.later(Duration::from_mins(1));
        assert_eq!(count(&home_page(&mut owner).await, "Denied by a person"), "1");

        let page = home_page_later(&server, &mut owner, Duration::from_hours(25)).await;
        assert!(!page.contains(">Denied by policy</a></th><td class=\"num\">1<"), "{page}");
    }

    async fn health_is_that_of_the_readiness_check_and_a_broken_part_is_named(server: Server) {
        let (_team, mut owner) = server.with_owner().await;
        let page = home_page(&mut owner).await;
        for part in [
            "Ready",
            "Database: working",
            "Audit trail: working",
            "Name resolution: working",
            "<a href=\"/app/settings\">Server settings</a>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        server.gateway.audit.stop().await.unwrap();
        server.later(Duration::from_mins(1));
        let page = home_page(&mut owner).await;
        for part in ["Not ready", "Database: working", "Audit trail: not working"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(page.contains("The audit trail cannot be read at the moment."), "{page}");
    }

    async fn what_is_idle_for_a_month_needs_attention(server: Server) {
        let (_team, mut owner) = server.with_owner().await;
        let page = home_page_later(&server, &mut owner, 31 * DAY).await;
        assert!(page.contains("href=\"/app/credentials/billing\"") && page.contains("Not used for 30 days"));
        assert!(page.contains("default-<wbr>agent") && page.contains("No request for 30 days"), "{page}");
        assert!(!page.contains("Nothing needs attention."));
    }

    async fn a_credential_that_an_api_refuses_needs_attention_once(scene: UnauthorizedSite) {
        let server = &scene.server;
        let (team, mut owner) = server.with_owner().await;
        server.add_bearer(team.id, "stale", &scene.upstream.addr().to_string()).await;
        for _ in 0..3 {
            server.send(team.request("stale", "GET", &scene.upstream.url("/v1/items"))).await;
        }
        let found = credentials::get(&server.gateway.store, team.id, "stale").await.unwrap();
        let now = server.gateway.now();
        stored_credentials::record_verification(&server.gateway.store, team.id, found.id, 1, Some(401), now)
            .await
            .unwrap();
        let page = home_page(&mut owner).await;
        assert!(page.contains("Refused by the API: 3 requests in 24 hours"), "{page}");
        assert_eq!(page.matches("href=\"/app/credentials/stale\"").count(), 1, "{page}");
        assert_eq!(count(&page, "Allowed by policy"), "3");
        let page = home_page_later(server, &mut owner, 2 * DAY).await;
        assert!(page.contains("The last test got status 401"), "{page}");
    }

    async fn a_client_certificate_needs_attention_from_two_weeks_before_it_expires(server: Server) {
        let (_team, mut owner) = server.with_owner().await;
        let (certificate, key) = Authority::new().client_until("me.example.com", 2100);
        let fields = [
            ("kind", "mtls"),
            ("name", "bank"),
            ("allowed_hosts", "api.example.com"),
            ("certificate", certificate.as_str()),
            ("private_key", key.as_str()),
        ];
        let added = owner.submit("/app/new/credential?kind=mtls", "/app/credentials", &fields).await;
        assert_eq!(added.location(), "/app/credentials/bank", "{}", added.text);
        let expiry = UnixMillis::parse_rfc3339("2100-01-01T00:00:00Z").unwrap();
        let until = expiry.since(server.gateway.now());
        let page = home_page_later(&server, &mut owner, until.saturating_sub(15 * DAY)).await;
        assert!(page.contains("href=\"/app/credentials/bank\"") && !page.contains("Certificate"), "unused: {page}");
        for (later, told) in [
            (2 * DAY, "Certificate expires in 13 days"),
            (12 * DAY, "Certificate expires in 1 day"),
            (2 * DAY, "Certificate expired 1 day ago"),
        ] {
            let page = home_page_later(&server, &mut owner, later).await;
            assert!(page.contains(told), "{told}: {page}");
            assert_eq!(page.matches("href=\"/app/credentials/bank\"").count(), 1, "one reason for one credential");
        }
    }

    async fn a_credential_that_lost_its_account_needs_attention_until_its_secret_is_replaced(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let store = &server.gateway.store;
        let found = credentials::get(store, team.id, "billing").await.unwrap();
        let now = server.gateway.now();
        let tokens = TokenRow {
            credential_id: found.id,
            workspace_id: team.id,
            credential_version: found.version,
            sealed_tokens: None,
            expires_at: now,
            problem: Some("invalid_grant".to_owned()),
            granted_scope: None,
            updated_at: now,
        };
        assert!(oauth_tokens::put(store, &tokens).await.unwrap());
        let page = home_page_later(&server, &mut owner, 31 * DAY).await;
        assert!(page.contains("Connect the account again"), "{page}");
        assert_eq!(page.matches("href=\"/app/credentials/billing\"").count(), 1, "{page}");
        let replaced = owner
            .submit("/app/credentials/billing", "/app/credentials/billing/secret", &[("secret", "another-secret-value")])
            .await;
        assert_eq!(replaced.location(), "/app/credentials/billing", "{}", replaced.text);
        assert!(!home_page(&mut owner).await.contains("Connect the account again"));
    }

    async fn a_webhook_whose_last_delivery_failed_needs_attention_until_one_arrives(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let hook = webhook(&server, &team).await;
        let store = &server.gateway.store;
        for (status, failing) in [(DeliveryStatus::Failed, true), (DeliveryStatus::Delivered, false)] {
            server.later(Duration::from_secs(1));
            server.post_pending(&team, "/v1/first", "", &format!("{{\"failing\":{failing}}}")).await;
            let now = server.gateway.now();
            let claimed = deliveries::claim(store, hook.row.id, now, now, 10).await.unwrap();
            let attempt = Attempt {
                status,
                next_at: None,
                at: now,
                millis: 1,
                response_status: None,
                response_excerpt: None,
                error: None,
            };
            for one in claimed {
                deliveries::record(store, &one, &attempt).await.unwrap();
            }
            let link = format!("href=\"/app/webhooks/{}\"", hook.row.id);
            assert_eq!(home_page(&mut owner).await.contains(&link), failing);
        }
    }

    async fn access_tokens_are_listed_before_they_expire_and_only_to_their_owner(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let mut admin = server.with_person(&team, "adm@example.com", Role::Admin).await;
        let token = [("name", "deploy"), ("scope", "px:approve"), ("expires_in_days", "30")];
        let made = owner.submit("/app/account", "/app/account/tokens", &token).await;
        assert_eq!(made.status, StatusCode::OK, "{}", made.text);
        assert!(!home_page(&mut owner).await.contains("Your access token expires"));
        let page = home_page_later(&server, &mut owner, 20 * DAY).await;
        assert!(page.contains("deploy") && page.contains("Your access token expires in 10 days"), "{page}");
        admin.sign_in("adm@example.com", PASSWORD).await;
        assert!(!home_page(&mut admin).await.contains("Your access token expires"));
    }

    async fn scores_served_are_counted_for_a_day(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let (key, _) =
            api_keys::create(&server.scoring, &Actor::cli(team.id), ApiKeyInput::with_name("site")).await.unwrap();
        let now = server.gateway.now();
        let (surface, requests, limit) = (Surface::Stamps, 3, 2);
        let batch = Batch { key: key.id, surface, window_start: now, requests, limit, now };
        usage::count(&server.scoring.store, &batch).await.unwrap();
        server.later(Duration::from_secs(1));
        let page = home_page(&mut owner).await;
        assert!(page.contains("<a href=\"/app/usage\">2</a>") && page.contains("1 refused"), "{page}");
        let page = home_page_later(&server, &mut owner, 2 * DAY).await;
        assert!(page.contains("<a href=\"/app/usage\">0</a>"), "{page}");
    }

    async fn other_workspaces_do_not_appear(server: Server) {
        let (team, _owner) = server.with_owner().await;
        server.post_pending(&team, "/v1/first", "", "{}").await;
        denied(&server, &team).await;
        let rival = server.team("rival", "eve@example.com").await;
        let mut eve = server.browser();
        eve.use_link(&rival.link).await;
        let page = home_page(&mut eve).await;
        assert!(page.contains("Requests that need approval appear here"), "{page}");
        assert!(page.contains("No requests in the last 24 hours."), "{page}");
    }
}
