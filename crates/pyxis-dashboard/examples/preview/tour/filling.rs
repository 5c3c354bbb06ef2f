//! Installation in which a little of everything has happened.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request};
use pyxis_core::approval_mode::Role;
use pyxis_core::id::{ConnectionId, ScoreReviewId};
use pyxis_core::policy::Policy;
use pyxis_core::proof::Kind;
use pyxis_gateway::admin::agents::{self, Agent, AgentInput, AgentPatch, AgentScope};
use pyxis_gateway::admin::webhooks::{self, WebhookInput, WebhookPatch};
use pyxis_gateway::admin::{channels, people, policies};
use pyxis_gateway::notifications::brand;
use pyxis_gateway::tasks::view as tasks;
use pyxis_gateway::workers;
use pyxis_scoring::engine::{self, ScoreKey};
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_scoring::service::score_reviews::{self, ReviewDecision};
use pyxis_scoring::service::scorers::{self, Scorer, ScorerInput, ScorerPatch};
use pyxis_scoring::service::{catalogue, history_requests, score_jobs};
use pyxis_store::connections::clients::{self, RegisteredClientRow};
use pyxis_store::connections::{self, AgentConnectionRow};
use pyxis_store::score_reviews::{self as stored_reviews, ReviewState, ScoreReviewRow};
use pyxis_testkit::authenticator::Authenticator;
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::picture;
use pyxis_testkit::upstream::{Reply, Upstream};
use pyxis_verify::service::issuers as proof_issuers;
use serde_json::json;

use super::Tour;
use crate::support::{
    ACCOUNT, HOLDER, ORIGIN_URL, OTHER, Server, UPSTREAM, bring, import_activity, register, with_bot,
};

/// Id and redirect URI of the program that asks to act as an agent.
const PROGRAM: &str = "px_client_tour";
const PROGRAM_REDIRECT: &str = "https://connector.example/callback";

impl Tour {
    pub(super) async fn fill(hostile: &'static str) -> Self {
        let upstream = Upstream::http().await;
        upstream.reply_with(|_| Reply::ok("done"));
        let server = Server::reaching(TestDatabase::sqlite(), with_bot(), &[upstream.addr()]).await;
        let team = server.team("acme", "ana@example.com").await;
        let mut owner = server.browser().elsewhere(server.with_verification().1);
        owner.use_link(&team.link).await;
        let member = server.with_person(&team, "mem@example.com", Role::Member).await;
        let member = member.elsewhere(server.with_verification().1);
        let (pages, links, targets) = (Vec::new(), Vec::new(), BTreeSet::new());
        let csrf = owner.get(ACCOUNT).await.csrf();
        let mut tour = Self { server, owner, pages, team, member, csrf, links, hostile, targets };
        for list in ["inbox", "decided", "policies", "webhooks", "scorers", "api-keys", "explorer", "issuers"]
        {
            tour.get(&format!("/app/{list}")).await;
        }
        tour.add_access(&upstream.addr().to_string()).await;
        tour.add_people().await;
        tour.add_requests(&upstream.addr().to_string()).await;
        tour.add_tasks(&upstream.addr().to_string()).await;
        tour.add_scoring().await;
        tour.add_deliveries().await;
        tour
    }

    async fn add_access(&self, bank: &str) {
        let (gateway, actor) = (&self.server.gateway, self.actor());
        // A policy that needs two approvers needs two people.
        people::add(gateway, &actor, "bea@example.com", Role::Admin).await.unwrap();
        for (name, host) in
            [("bank", bank), ("mail", UPSTREAM), ("vault", UPSTREAM), ("wide", "*.example.co.uk")]
        {
            self.server.add_bearer(self.team.id, name, host).await;
        }
        for (name, policy) in [
            (
                "billing",
                r#"{"auto_approve_methods":["GET"],"deny_methods":["DELETE"],"deny_urls":["/v1/keys"],"approval_timeout_secs":3600}"#,
            ),
            ("mail", r#"{"min_approvals":2,"require_reason":true,"channel":"chat_primary"}"#),
            ("vault", r#"{"passkey_required":true}"#),
            ("wide", r#"{"allowed_approvers":["ana@example.com"]}"#),
        ] {
            let policy = Policy::from_json(policy.as_bytes()).unwrap();
            policies::put(gateway, &actor, name, &policy).await.unwrap();
        }
        for name in ["checkout-bot", "retired-bot"] {
            let credentials = AgentScope::Named(vec!["billing".to_owned()]);
            let input = AgentInput {
                name: name.to_owned(),
                rate_limit_per_hour: Some(100),
                max_pending: None,
                credentials,
            };
            let (agent, _) = agents::create(gateway, &actor, input).await.unwrap();
            if name == "retired-bot" {
                let patch = AgentPatch { enabled: Some(false), ..AgentPatch::default() };
                agents::update(gateway, &actor, agent.row.id, patch).await.unwrap();
            }
            self.connect_program(&agent).await;
        }
        // As an older version accepted it.
        let wide = "UPDATE credentials SET allowed_hosts = '[\"*.co.uk\"]' WHERE name = 'wide'";
        self.server.database.run(wide).await;
        let url = format!("https://{UPSTREAM}/hook");
        for url in [format!("{url}/old"), url] {
            let enabled = !url.ends_with("old");
            let input = WebhookInput { url, ..WebhookInput::default() };
            let (webhook, _) = webhooks::create(gateway, &actor, input).await.unwrap();
            let patch = WebhookPatch { enabled: Some(enabled), ..WebhookPatch::default() };
            webhooks::update(gateway, &actor, webhook.row.id, patch).await.unwrap();
        }
        brand::put(&gateway.audited, &actor, "Acme", "#0f766e").await.unwrap();
        brand::set_logo(&gateway.audited, &actor, Some(picture::dot())).await.unwrap();
    }

    async fn add_people(&mut self) {
        let fields = [
            ("kind", "oauth2_refresh"),
            ("name", "account"),
            ("allowed_hosts", "api.example.com"),
            ("authorization_url", "https://login.example.com/authorize"),
            ("token_url", "https://login.example.com/token"),
            ("client_id", "me"),
            ("client_secret", "s3cret"),
        ];
        let page = self.owner.submit(ACCOUNT, "/app/credentials", &fields).await;
        assert_eq!(page.location(), "/app/credentials/account", "{}", page.text);
        let (gateway, actor) = (&self.server.gateway, self.actor());
        for (email, enabled) in [("dag@example.com", true), ("cleo@example.com", false)] {
            let (user, link) = people::add(gateway, &actor, email, Role::Member).await.unwrap();
            people::set_enabled(&gateway.audited, &actor, user.id, enabled).await.unwrap();
            if enabled {
                self.links.push(link.expose().strip_prefix(ORIGIN_URL).unwrap().to_owned());
            }
        }
        let known = people::by_email(&gateway.store, self.team.id, "mem@example.com").await.unwrap();
        let link = people::link(gateway, &actor, known.id).await.unwrap();
        self.links.push(link.expose().strip_prefix(ORIGIN_URL).unwrap().to_owned());
        self.server.grant(&self.team, "mem@example.com", true, true).await;
        register(&mut self.owner, &mut Authenticator::new(ORIGIN_URL, 1), "Laptop").await;
        register(&mut self.member, &mut Authenticator::new(ORIGIN_URL, 2), "Phone").await;
        let fields = [
            ("method_GET", "auto"),
            ("auto_approve_urls", "/v1/search"),
            ("min_approvals", "2"),
            ("channel", "dashboard"),
            ("approval_timeout_minutes", "60"),
        ];
        let page = self.member.submit(ACCOUNT, "/app/policies/billing", &fields).await;
        assert!(page.location().starts_with("/app/staged/"), "{}", page.text);
        let fields = [("name", "ci"), ("scope", "px:approve"), ("expires_in_days", "30")];
        for browser in [&mut self.owner, &mut self.member] {
            browser.submit(ACCOUNT, "/app/account/tokens", &fields).await;
        }
        self.server.database.run("UPDATE access_tokens SET last_used_at = created_at").await;
        self.owner.submit(ACCOUNT, "/app/account/tokens", &[("name", "old"), fields[1], fields[2]]).await;
        self.server.database.run("UPDATE access_tokens SET expires_at = 1 WHERE name = 'old'").await;
    }

    /// A pending request with a body of this type.
    async fn pend(&self, credential: &str, host: &str, path: &str, (kind, body): (&str, Vec<u8>)) -> String {
        let mut request = self.team.request(credential, "POST", &format!("http://{host}{path}"));
        request.headers_mut().insert("x-px-reason", "The customer asked for it.".parse().unwrap());
        request.headers_mut().insert(CONTENT_TYPE, kind.parse().unwrap());
        // No header has control characters.
        let account = HeaderValue::from_bytes(self.text("acct").replace('\u{7}', "").as_bytes()).unwrap();
        request.headers_mut().insert("stripe-account", account);
        *request.body_mut() = Body::from(body);
        self.server.accepted(request).await
    }

    /// Requests in every state.
    async fn add_requests(&mut self, bank: &str) {
        let body = self.text(r#"{"customer":"cus_8812","note":"March"#).replace('"', "'");
        let json = ("application/json", json!({ "amount": 12900, "note": body }).to_string().into_bytes());
        let note = [("reason", "Wrong customer, ask again")];
        let grant = [("grant_seconds", "14400"), ("agent_only", "on")];
        for (credential, host, path, verb, fields) in [
            ("bank", bank, "/v1/invoices", "approve", &[][..]),
            ("billing", UPSTREAM, "/v1/lost", "approve", &[]),
            ("billing", UPSTREAM, "/v1/refunds", "deny", &note),
        ] {
            let txn = self.pend(credential, host, path, json.clone()).await;
            self.owner.submit(ACCOUNT, &format!("/app/approvals/{txn}/{verb}"), fields).await;
            workers::send_all(&self.server.gateway).await.unwrap();
        }
        self.server.post_pending(&self.team, "/v1/expired", "", "{}").await;
        self.server.later(Duration::from_hours(2));
        workers::expire_tick(&self.server.gateway).await.unwrap();
        let txn = self.pend("billing", UPSTREAM, "/v1/opened", json.clone()).await;
        self.owner.submit(ACCOUNT, &format!("/app/approvals/{txn}/approve"), &grant).await;
        let withdrawn = self.server.post_pending(&self.team, "/v1/withdrawn", "", "{}").await;
        let request = Request::delete(format!("/agent/approvals/{withdrawn}"));
        let request = request.header("x-px-key", &self.team.agent_key).body(Body::empty()).unwrap();
        assert!(self.server.send(request).await.is_success());
        self.add_pending(json).await;
    }

    /// A task that was used, and two that wait, one of them for a passkey.
    async fn add_tasks(&mut self, bank: &str) {
        for (credential, host, path, approved) in [
            ("bank", bank, "/v1/payouts", true),
            ("bank", bank, "/v1/refunds", false),
            ("vault", UPSTREAM, "/v1/secrets", false),
        ] {
            let url = format!("http://{host}{path}");
            let action = json!({"credential": credential, "method": "POST", "url": url, "max_uses": 20});
            let body = json!({"purpose": "Pay the March invoices", "actions": [action], "minutes": 90});
            let request = Request::post("/agent/tasks").header("x-px-key", &self.team.agent_key);
            let request = request.header(CONTENT_TYPE, "application/json");
            let request = request.body(Body::from(body.to_string())).unwrap();
            assert!(self.server.send(request).await.is_success());
            if !approved {
                continue;
            }
            let (gateway, team) = (&self.server.gateway, self.team.id);
            let waiting = tasks::proposed(&gateway.store, team, None, gateway.now()).await.unwrap();
            let to = format!("/app/tasks/{}/approve", waiting[0].row.id);
            let fields = [("keep-1", "on"), ("uses-1", "5"), ("minutes", "60")];
            let page = self.owner.submit(ACCOUNT, &to, &fields).await;
            assert!(page.location().starts_with("/app/tasks/"), "{}", page.text);
            assert!(self.server.send(self.team.request("bank", "POST", &url)).await.is_success());
        }
    }

    async fn add_pending(&mut self, json: (&'static str, Vec<u8>)) {
        let long = format!("/v1/{}?q={}", "ledgers/".repeat(20), "x".repeat(90));
        self.pend("billing", UPSTREAM, &long, json.clone()).await;
        let form = self.text("to=DE89+3704&amount=4%2C200.00&memo=rent");
        for (kind, body) in [
            ("application/x-www-form-urlencoded", form.into_bytes()),
            ("application/octet-stream", (0..2600_u32).map(|n| (n * 37 % 251) as u8).collect()),
            ("text/plain", self.text(&"a line of text\n".repeat(900)).into_bytes()),
        ] {
            self.pend("billing", UPSTREAM, "/v1/bodies", (kind, body)).await;
        }
        self.pend("vault", UPSTREAM, "/v1/secrets", json.clone()).await;
        let two = self.pend("mail", UPSTREAM, "/v1/send", json).await;
        self.owner.submit(ACCOUNT, &format!("/app/approvals/{two}/approve"), &[]).await;
        let typed = json!({
            "types": {"Transfer": [{"name": "to", "type": "address"}, {"name": "memo", "type": "string"}]},
            "primaryType": "Transfer", "domain": {"name": self.text("Bank"), "chainId": 1},
            "message": {"to": HOLDER.to_string(), "memo": self.text("rent")},
        });
        let blind = json!({"payload": "ab".repeat(32), "algorithm": "secp256k1"});
        let typed = json!({
            "payload": typed.to_string(), "encoding": "utf8", "algorithm": "secp256k1", "format": "eip712",
            "description": "Pay the rent",
        });
        for body in [typed, blind] {
            self.server.ask_to_sign(&self.team, &body).await;
        }
    }

    async fn add_scoring(&self) {
        let (scoring, actor) = (&self.server.scoring, self.actor());
        let mut platforms =
            catalogue::get(&scoring.store, self.team.id).await.unwrap().platforms.into_owned();
        "Our own words".clone_into(&mut platforms[0].description);
        catalogue::replace(&scoring.audited, &actor, platforms).await.unwrap();
        for name in ["Airdrop", "Forum"] {
            let input = ScorerInput { name: name.to_owned(), threshold: None, weights: None };
            let Scorer { id, terms, .. } = scorers::create(&scoring.audited, &actor, input).await.unwrap();
            for (address, stamp, nullifier) in [
                (HOLDER, "Discord", "same"),
                (OTHER, "Discord", "same"),
                (OTHER, "HolonymGovIdProvider", "own"),
                (OTHER, "Unknown", "other"),
            ] {
                bring(&self.server, &self.team, address, stamp, nullifier).await;
                let key = ScoreKey { workspace: self.team.id, scorer: id, address };
                engine::score(&scoring.db, key, scoring.now(), false).await.unwrap();
            }
            let mut revision = Some(terms.revision);
            if name == "Forum" {
                let threshold = Some("0.5".parse().unwrap());
                let mut weights = terms.weights;
                weights.insert("HolonymGovIdProvider".parse().unwrap(), "1".parse().unwrap());
                let patch = ScorerPatch {
                    threshold,
                    weights: Some(weights),
                    keep_until_expiry: true,
                    revision,
                    ..ScorerPatch::default()
                };
                let changed = scorers::update(&scoring.audited, &actor, id, patch).await.unwrap();
                revision = Some(changed.terms.revision);
            }
            let later = ScorerPatch {
                threshold: Some("18".parse().unwrap()),
                effective_from: Some(scoring.now().plus(Duration::from_hours(240))),
                revision,
                ..ScorerPatch::default()
            };
            scorers::update(&scoring.audited, &actor, id, later).await.unwrap();
        }
        let scorer = scorers::list(&scoring.store, self.team.id, scoring.now()).await.unwrap()[0].id;
        for (address, decided) in [(HOLDER, false), (OTHER, true)] {
            let row = ScoreReviewRow {
                id: ScoreReviewId::new(scoring.now(), &*scoring.entropy),
                workspace_id: self.team.id,
                scorer_id: scorer,
                address,
                reason: "The account is mine.".to_owned(),
                score: "1".parse().unwrap(),
                threshold: "20".parse().unwrap(),
                state: ReviewState::Open,
                created_at: scoring.now(),
                decided_by: None,
                decided_at: None,
                answer: None,
            };
            stored_reviews::insert(&scoring.store, &row).await.unwrap();
            if decided {
                score_reviews::decide(scoring, &actor, row.id, ReviewDecision::Grant, "Seen.").await.unwrap();
            }
        }
        for name in ["waiting", "canceled"] {
            let file = bytes::Bytes::from(format!("{HOLDER}\n{OTHER}\n"));
            let pieces = futures_util::stream::iter([Ok::<_, std::convert::Infallible>(file)]);
            let job = score_jobs::create(scoring, &actor, scorer, name, pieces).await.unwrap();
            if name == "canceled" {
                score_jobs::cancel(scoring, &actor, job.id).await.unwrap();
            }
        }
        for (name, decision) in [("server", None), ("old", Some(false)), ("reader", Some(true))] {
            let (key, _) = api_keys::create(scoring, &actor, ApiKeyInput::with_name(name)).await.unwrap();
            let request =
                history_requests::create(scoring, &actor, key.id, "Quarterly report").await.unwrap();
            if let Some(approve) = decision {
                history_requests::decide(&scoring.audited, &actor, request.id, approve).await.unwrap();
            }
            if name == "old" {
                api_keys::revoke(&scoring.audited, &actor, key.id).await.unwrap();
            }
        }
        api_keys::create(scoring, &actor, ApiKeyInput::with_name("indexer")).await.unwrap();
        import_activity(
            &self.server,
            format!("chain,from,to\nbase,{HOLDER},{HOLDER}\nbase,{HOLDER},{HOLDER}\n"),
        )
        .await;
        let issuer = OTHER.to_string().parse().unwrap();
        proof_issuers::add(&self.server.verification.audited, &actor, Kind::Phone, issuer, "Ours")
            .await
            .unwrap();
    }

    /// Rows that other servers' responses leave.
    async fn add_deliveries(&self) {
        let (gateway, actor) = (&self.server.gateway, self.actor());
        let platform = pyxis_core::chat::ChatPlatform::TELEGRAM;
        channels::set_default_chat(gateway, &actor, platform, "-100200").await.unwrap();
        let id = people::by_email(&gateway.store, self.team.id, "ana@example.com").await.unwrap().id;
        let (ws, now) = (self.team.id, gateway.now().0);
        let statements = format!(
            "UPDATE deliveries SET status = 'failed', next_at = NULL, attempts = 5, last_attempt_at = {now},
                 last_millis = 10000, response_status = 500, response_excerpt = 'oops', error = 'not a 2xx'
                 WHERE event = 'approval.requested';
             UPDATE deliveries SET status = 'delivered', next_at = NULL, attempts = 1, response_status = 204,
                 resends = 1 WHERE event = 'approval.approved';
             INSERT INTO chat_identities VALUES ('{ws}', 'telegram', '4242', '{id}', '@ana', {now});
             INSERT INTO chat_messages (id, workspace_id, txn_id, platform, chat, nonce_hash, wanted, attempts,
                 next_at, error, created_at)
                 SELECT lower(hex(randomblob(4))) || substr(txn_id, 9), workspace_id, txn_id, 'telegram', '-100' ||
                 (rowid % 2), txn_id, 'pending', 3, CASE rowid % 2 WHEN 0 THEN {now} END, 'The bot was removed',
                 {now} FROM approvals WHERE state = 'pending' LIMIT 4;
             INSERT INTO task_messages (id, workspace_id, task_id, platform, chat, nonce_hash, wanted, attempts,
                 error, created_at)
                 SELECT lower(hex(randomblob(4))) || substr(id, 9), workspace_id, id, 'telegram', '-1007', id,
                 'pending', 3, 'The bot was removed', {now} FROM tasks LIMIT 2;
             INSERT INTO push_subscriptions SELECT id, workspace_id, id, 'https://push.example.com/' || id, id, x'00',
                 'Chromium on Linux', {now}, NULL, 403, 'BadJwtToken', {now}, NULL, 0 FROM users;"
        );
        self.server.database.run(&statements).await;
    }

    /// A program that registered itself and acts as the agent.
    async fn connect_program(&self, agent: &Agent) {
        let gateway = &self.server.gateway;
        let now = gateway.now();
        let client = RegisteredClientRow {
            id: PROGRAM.to_owned(),
            name: "Connector".to_owned(),
            secret_hash: None,
            redirect_uris: format!("[\"{PROGRAM_REDIRECT}\"]"),
            created_at: now,
            expires_at: now.plus(Duration::from_hours(24)),
        };
        if clients::find(&gateway.store, PROGRAM, now).await.unwrap().is_none() {
            clients::insert(&gateway.store, &client, 10).await.unwrap();
        }
        let connection = AgentConnectionRow {
            id: ConnectionId::new(now, &*gateway.entropy),
            workspace_id: agent.row.workspace_id,
            agent_id: agent.row.id,
            client_id: client.id,
            client_name: client.name,
            destination: "connector.example".to_owned(),
            allowed_by: "ana@example.com".to_owned(),
            created_at: now,
            last_used_at: now,
        };
        connections::insert(&gateway.store, &connection).await.unwrap();
    }
}
