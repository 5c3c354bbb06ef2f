//! Every list has a search field, pages and a text for when it is empty.

use std::collections::BTreeSet;

use pyxis_core::approval_mode::Role;
use pyxis_core::catalogue::{Platform, default_catalogue};
use pyxis_core::chat::ChatPlatform;
use pyxis_core::id::{ChatMessageId, TxnId, WorkspaceId};
use pyxis_core::proof::Kind;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::agents::{self, AgentInput, AgentScope};
use pyxis_gateway::admin::people;
use pyxis_gateway::admin::rights::{self, Right};
use pyxis_gateway::admin::webhooks::{self, WebhookInput};
use pyxis_models::clusters::{Group, SharedCounterparty};
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_scoring::service::scorers::{self, ScorerInput};
use pyxis_scoring::service::{catalogue, history_requests, issuers};
use pyxis_store::chat_messages::{self, NewChatMessage};
use pyxis_store::models;
use pyxis_testkit::engines;
use pyxis_verify::registry::Issuer;
use pyxis_verify::service::issuers as proof_issuers;

use crate::support::{Browser, Server};

const NOTHING: &str = "No results for";

/// Adds an endpoint despite the egress guard, which admits only public hosts; returns its page.
async fn endpoint(server: &Server, team: WorkspaceId, url: &str) -> String {
    let input = WebhookInput { url: url.to_owned(), ..WebhookInput::default() };
    let (made, _) = webhooks::create(&server.gateway, &Actor::cli(team), input).await.unwrap();
    format!("/app/webhooks/{}", made.row.id)
}

/// Target of the link with these words.
fn link(page: &str, words: &str) -> String {
    let (before, _) = page.split_once(words).expect(words);
    let (_, tag) = before.rsplit_once("<a ").unwrap();
    tag.split("href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&amp;", "&")
}

/// Checks that each of 51 rows is on one of two pages, 50 of them on the first, which leads to the second.
async fn is_paged(owner: &mut Browser, list: &str, parameter: &str, row: impl Fn(u8) -> String) {
    let next = format!("{list}?{parameter}=2");
    let (first, second) = (owner.get(list).await.text, owner.get(&next).await.text);
    assert!(first.contains(&format!("href=\"{next}\" rel=\"next\"")), "{next}: {first}");
    let is_first = |n: &u8| {
        let row = row(*n);
        assert_ne!(first.contains(&row), second.contains(&row), "{row} is on one page of {list}");
        first.contains(&row)
    };
    assert_eq!((0..51).filter(is_first).count(), 50, "{list}");
}

/// One more agent.
fn agent(name: &str) -> AgentInput {
    AgentInput {
        name: name.to_owned(),
        rate_limit_per_hour: None,
        max_pending: None,
        credentials: AgentScope::All,
    }
}

/// A suspected group that differs from others only by its number.
fn group(n: u8) -> Group {
    let address = |of: u32| format!("0x{:040x}", of + u32::from(n)).parse().unwrap();
    Group {
        id: address(0xa000),
        size: 3,
        median_score: 12.0,
        shared_funder: Some(SharedCounterparty { address: address(0xf000), members: 3, who: vec![0, 1, 2] }),
        shared_sink: None,
        same_day: 0,
        transfers_within: 0,
        members: Vec::new(),
        links: Vec::new(),
    }
}

engines! {
    async fn the_inbox_is_searched_and_what_is_decided_has_pages_of_its_own(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        assert!(owner.get("/app/decided").await.text.contains("No decided requests yet"));
        let invoice = server.post_pending(&team, "/v1/invoices", "for the March invoice", "{}").await;
        let refund = server.post_pending(&team, "/v1/refunds", "for the refund", "{}").await;
        let found = owner.get("/app/inbox?q=MARCH").await.text;
        assert!(found.contains(&invoice) && !found.contains(&refund));
        assert!(owner.get("/app/inbox?q=nothing+like+it").await.text.contains("No pending request contains"));
        // A search text is not a pattern.
        assert!(!owner.get("/app/inbox?q=%25").await.text.contains(&invoice));

        let mut decided = vec![invoice, refund];
        for n in 0..49 {
            decided.push(server.post_pending(&team, "/v1/items", "", &format!("{{\"n\":{n}}}")).await);
        }
        for txn in &decided {
            let page = format!("/app/approvals/{txn}");
            owner.submit("/app/account", &format!("{page}/deny"), &[]).await;
        }
        let first = owner.get("/app/decided").await.text;
        let next = first.split("href=\"/app/decided?after=").nth(1).expect("a second page");
        let second = owner.get(&format!("/app/decided?after={}", next.split('"').next().unwrap())).await.text;
        let on = |page: &str| decided.iter().filter(|txn| page.contains(txn.as_str())).count();
        assert_eq!((on(&first), on(&second)), (50, 1));
        let found = owner.get("/app/decided?q=refund").await.text;
        assert_eq!(on(&found), 1);
        assert!(owner.get("/app/decided?q=nobody").await.text.contains(NOTHING));
    }

    async fn issuers_grants_endpoints_and_the_catalogue_are_searched(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let actor = Actor::cli(team.id);
        for n in 0..51_u8 {
            let did = format!("did:ethr:0x{:040x}", u32::from(n) + 1);
            issuers::add(&server.scoring.audited, &actor, &did, &format!("Issuer {n:02}")).await.unwrap();
        }
        let first = owner.get("/app/issuers").await.text;
        assert!(first.contains("Issuer 00") && !first.contains("Issuer 50") && first.contains("50 of 51"));
        assert!(owner.get("/app/issuers?page=2").await.text.contains("Issuer 50"));
        let found = owner.get("/app/issuers?q=issuer+07").await.text;
        assert!(found.contains("Issuer 07") && !found.contains("Issuer 08"));
        assert!(owner.get("/app/issuers?q=nobody").await.text.contains(NOTHING));

        for (n, path) in ["/v1/pay", "/v1/mail"].into_iter().enumerate() {
            let txn = server.post_pending(&team, path, "", &format!("{{\"n\":{n}}}")).await;
            let to = format!("/app/approvals/{txn}/approve");
            owner.submit("/app/account", &to, &[("grant_seconds", "900")]).await;
        }
        let found = owner.get("/app/policies?q=v1%2Fpay").await.text;
        assert!(found.contains("/v1/pay</span>") && !found.contains("/v1/mail</span>"), "{found}");
        assert!(owner.get("/app/policies?q=nobody").await.text.contains(NOTHING));

        endpoint(&server, team.id, "https://127.0.0.1:9/one").await;
        endpoint(&server, team.id, "https://127.0.0.1:9/two").await;
        let found = owner.get("/app/webhooks?q=ONE").await.text;
        assert!(found.contains("/one</a>") && !found.contains("/two</a>"));
        assert!(owner.get("/app/webhooks?q=nobody").await.text.contains(NOTHING));

        let found = owner.get("/app/catalogue?q=discord").await.text;
        assert!(found.contains("/app/catalogue/Discord") && !found.contains("/app/catalogue/ETH"));
        assert!(owner.get("/app/catalogue?q=nobody").await.text.contains(NOTHING));
    }

    async fn every_list_that_is_read_whole_has_a_search_pages_and_a_word_for_nothing(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let actor = Actor::cli(team.id);
        for n in 0..51 {
            let name = format!("thing-{n:02}");
            agents::create(&server.gateway, &actor, agent(&name)).await.unwrap();
            server.add_bearer(team.id, &name, "api.example.com").await;
            let email = format!("{name}@example.com");
            people::add(&server.gateway, &actor, &email, Role::Member).await.unwrap();
            let input = ScorerInput { name: name.clone(), threshold: None, weights: None };
            scorers::create(&server.scoring.audited, &actor, input).await.unwrap();
            api_keys::create(&server.scoring, &actor, ApiKeyInput::with_name(name)).await.unwrap();
        }
        for list in ["agents", "credentials", "people", "policies", "scorers", "api-keys"] {
            let path = format!("/app/{list}");
            let mut get = async |query: &str| owner.get(&format!("{path}{query}")).await.text;
            let (first, second) = (get("").await, get("?page=2").await);
            assert!(first.contains("50 of 5") && first.contains("page=2"), "{list}: {first}");
            for n in 0..51 {
                let name = format!("thing-{n:02}");
                assert_ne!(first.contains(&name), second.contains(&name), "{name} is on one page of {list}");
            }
            let found = get("?q=THING-07").await;
            assert!(found.contains("thing-07") && !found.contains("thing-08"), "{list}");
            assert!(get("?q=nobody").await.contains(NOTHING), "{list}");
        }
    }

    async fn deliveries_and_the_audit_trail_go_back_page_by_page_and_keep_what_is_looked_for(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let endpoint = endpoint(&server, team.id, "https://127.0.0.1:9/in").await;
        let mut asked = vec![server.post_pending(&team, "/v1/march", "", "{}").await];
        for n in 0..51 {
            asked.push(server.post_pending(&team, "/v1/items", "", &format!("{{\"n\":{n}}}")).await);
        }
        let mut get = async |path: &str| owner.get(path).await.text;

        let on = |page: &str| asked.iter().filter(|txn| page.contains(txn.as_str())).count();
        for (list, all) in [("/app/audit", 52), ("/app/audit?q=V1%2FITEMS", 51)] {
            let first = get(list).await;
            let second = get(&link(&first, ">Older")).await;
            assert_eq!((on(&first), on(&format!("{first}{second}"))), (50, all), "{list}");
            assert_eq!(link(&second, "Newest</a>"), list);
        }
        assert_eq!(on(&get("/app/audit?q=v1%2Fmarch").await), 1);
        assert!(get("/app/audit?q=nobody").await.contains("<h2>No matching events</h2>"));

        let rows = |page: &str| -> BTreeSet<String> {
            page.split("/app/deliveries/").skip(1).map(|rest| rest[..36].to_owned()).collect()
        };
        for query in ["", "?q=approval.requested", "?status=pending"] {
            let first = get(&format!("{endpoint}{query}")).await;
            let second = get(&link(&first, ">Older")).await;
            let both = rows(&format!("{first}{second}"));
            assert_eq!((rows(&first).len(), both.len()), (50, 52), "{query}");
        }
        let found = rows(&get(&format!("{endpoint}?q={}", asked[7])).await);
        assert_eq!(found.len(), 1);
        assert!(get(&format!("/app/deliveries/{}", found.first().unwrap())).await.contains(&asked[7]));
        for query in ["?q=nobody", "?q=approval.decided", "?status=failed"] {
            assert!(get(&format!("{endpoint}{query}")).await.contains("No matching deliveries."), "{query}");
        }
    }

    async fn grants_and_proposals_have_pages_of_their_own_below_the_policies(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        let user = people::by_email(&server.gateway.store, team.id, "mem@example.com").await.unwrap();
        let right = Right { approve: false, policy: true };
        for n in 0..51 {
            let name = format!("thing-{n:02}");
            server.add_bearer(team.id, &name, "api.example.com").await;
            rights::set(&server.gateway.audited, &Actor::cli(team.id), user.id, &name, right).await.unwrap();
            let fields = [("min_approvals", "1"), ("require_reason", "on"), ("channel", "dashboard")];
            member.submit("/app/account", &format!("/app/policies/{name}"), &fields).await;
            let txn = server.post_pending(&team, &format!("/v1/{name}"), "", "{}").await;
            let to = format!("/app/approvals/{txn}/approve");
            owner.submit("/app/account", &to, &[("grant_seconds", "900")]).await;
        }
        let grant = |n: u8| format!("/v1/thing-{n:02}</span>");
        let proposal = |n: u8| format!("\">thing-{n:02}</a></th><td data-label=\"Proposed by\">");
        is_paged(&mut owner, "/app/policies", "second", grant).await;
        is_paged(&mut owner, "/app/policies", "third", proposal).await;
        let found = owner.get("/app/policies?q=THING-07").await.text;
        assert!(found.contains(&grant(7)) && !found.contains(&grant(8)));
        assert!(found.contains(&proposal(7)) && !found.contains(&proposal(8)));
    }

    async fn requests_for_history_and_a_long_catalogue_have_pages_of_their_own(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let (actor, state) = (Actor::cli(team.id), &server.scoring);
        for n in 0..51 {
            let (key, _) = api_keys::create(state, &actor, ApiKeyInput::with_name(format!("{n}"))).await.unwrap();
            history_requests::create(state, &actor, key.id, &format!("use {n:02}")).await.unwrap();
        }
        let request = |n: u8| format!("<p>use {n:02}</p>");
        is_paged(&mut owner, "/app/api-keys", "second", request).await;
        let found = owner.get("/app/api-keys?q=USE+07").await.text;
        assert!(found.contains(&request(7)) && !found.contains(&request(8)));

        let (like, id) = (&default_catalogue()[0], |n: u8| format!("thing-{n:02}"));
        let platform = |n| Platform { id: id(n), groups: Vec::new(), ..like.clone() };
        catalogue::replace(&state.audited, &actor, (0..51).map(platform).collect()).await.unwrap();
        is_paged(&mut owner, "/app/catalogue", "page", |n| format!("/app/catalogue/{}\"", id(n))).await;
    }

    async fn what_belongs_to_one_person_is_searched(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        assert!(!owner.get("/app/account").await.text.contains("role=\"search\""), "nothing to search");
        for name in ["night job", "day job"] {
            let fields = [("name", name), ("scope", "px:approve"), ("expires_in_days", "30")];
            owner.submit("/app/account", "/app/account/tokens", &fields).await;
        }
        let found = owner.get("/app/account?q=NIGHT").await.text;
        assert!(found.contains("night job") && !found.contains("day job"));
        assert!(owner.get("/app/account?q=nobody").await.text.contains(NOTHING));
    }

    async fn the_rights_of_a_member_have_pages_and_keep_what_another_page_has(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        for n in 0..51_u8 {
            server.add_bearer(team.id, &format!("api-{n:02}"), "api.example.com").await;
        }
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        let user = people::by_email(&server.gateway.store, team.id, "mem@example.com").await.unwrap();
        let page = format!("/app/people/{}", user.id);
        let first = owner.get(&page).await.text;
        assert!(first.contains("50 of 52") && first.contains("api-00") && !first.contains("billing<"));
        let ticked = [("credential", "api-00"), ("approve", "api-00")];
        owner.submit(&page, &format!("{page}/grants"), &ticked).await;
        let second = owner.get(&format!("{page}?page=2")).await.text;
        assert!(second.contains("billing<") && !second.contains("api-00"));
        let ticked = [("credential", "billing"), ("policy", "billing")];
        owner.submit(&page, &format!("{page}/grants"), &ticked).await;
        let mine = member.get("/app/account").await.text;
        assert!(mine.contains("api-00: decide requests") && mine.contains("billing: propose policies"));
        let found = member.get("/app/account?q=BILLING").await.text;
        assert!(found.contains("billing: propose") && !found.contains("api-00"));
        assert!(owner.get(&format!("{page}?q=nobody")).await.text.contains(NOTHING));
    }

    async fn messages_that_did_not_arrive_have_pages(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let store = &server.gateway.store;
        let txn: TxnId = server.post_pending(&team, "/v1/items", "", "{}").await.parse().unwrap();
        for n in 0..51 {
            let platform = if n % 2 == 0 { ChatPlatform::TELEGRAM } else { ChatPlatform::MATRIX };
            let (now, entropy) = (server.gateway.now(), &*server.gateway.entropy);
            let id = ChatMessageId::new(now, entropy);
            let (chat, nonce_hash) = (format!("chat-{n:02}"), format!("{n:064x}"));
            let workspace_id = team.id;
            let new = NewChatMessage { id, workspace_id, subject: txn.into(), platform, chat, nonce_hash, created_at: now, recipient: None };
            chat_messages::insert(store, &new).await.unwrap();
            let rows = chat_messages::list(store, team.id, txn).await.unwrap();
            let row = rows.iter().find(|row| row.id == id).unwrap();
            chat_messages::failed(store, row, "the room is encrypted", None).await.unwrap();
            server.later(std::time::Duration::from_secs(1));
        }
        let first = owner.get("/app/notifications").await.text;
        assert!(first.contains("50 of 51") && first.contains("chat-50") && !first.contains("chat-00"));
        assert!(owner.get("/app/notifications?page=2").await.text.contains("chat-00"));
        let found = owner.get("/app/notifications?q=Chat-07").await.text;
        assert!(found.contains("chat-07") && !found.contains("chat-08"));
        assert!(owner.get("/app/notifications?q=nobody").await.text.contains(NOTHING));
    }

    async fn issuers_of_proofs_and_suspected_groups_are_searched(server: Server) {
        let (team, owner) = server.with_owner().await;
        let (verification, pages) = server.with_verification();
        let mut owner = owner.elsewhere(pages);
        for n in 0..51_u8 {
            let issuer: Issuer = format!("0x{:040x}", u32::from(n) + 1).parse().unwrap();
            let name = format!("Verifier {n:02}");
            proof_issuers::add(&verification.audited, &Actor::cli(team.id), Kind::Phone, issuer, &name).await.unwrap();
        }
        let first = owner.get("/app/verification").await.text;
        assert!(first.contains("50 of 51") && first.contains("Verifier 00") && !first.contains("Verifier 50"));
        assert!(owner.get("/app/verification?page=2").await.text.contains("Verifier 50"));
        let found = owner.get("/app/verification?q=verifier+07").await.text;
        assert!(found.contains("Verifier 07") && !found.contains("Verifier 08"));
        assert!(owner.get("/app/verification?q=nobody").await.text.contains(NOTHING));

        let document = |n: u8| serde_json::to_string(&group(n)).unwrap();
        let new = |n: u8| models::NewGroup { document: document(n), members: Vec::new(), links: Vec::new() };
        let groups = (1..=51).map(new).collect();
        let mut tx = server.scoring.store.begin().await.unwrap();
        models::replace_groups(&mut tx, groups).await.unwrap();
        tx.commit().await.unwrap();
        let name = |n: u8| group(n).id.to_string();
        let first = owner.get("/app/models").await.text;
        assert!(first.contains("50 of 51") && first.contains(&name(1)) && !first.contains(&name(51)));
        assert!(owner.get("/app/models?page=2").await.text.contains(&name(51)));
        let funder = group(7).shared_funder.unwrap().address;
        let found = owner.get(&format!("/app/models?q={}", funder.to_string().to_lowercase())).await.text;
        assert!(found.contains(&name(7)) && !found.contains(&name(8)));
        assert!(owner.get("/app/models?q=nobody").await.text.contains(NOTHING));
    }
}
