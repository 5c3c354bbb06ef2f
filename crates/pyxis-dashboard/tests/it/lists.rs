//! Every list has a search field, pages and something to say when it is empty.

use pyxis_core::id::WorkspaceId;
use pyxis_gateway::Actor;
use pyxis_gateway::service::webhooks::{self, WebhookInput};
use pyxis_scoring::service::issuers;

use crate::support::{World, both_engines};

const NOTHING: &str = "Nothing here contains";

/// An endpoint past the egress guard, which lets nothing but public hosts through.
async fn endpoint(world: &World, team: WorkspaceId, url: &str) {
    let input = WebhookInput { url: url.to_owned(), ..WebhookInput::default() };
    webhooks::create(&world.gateway, &Actor::cli(team), input).await.unwrap();
}

both_engines! {
    async fn the_inbox_is_searched_and_what_is_decided_has_pages_of_its_own() {
        let world = World::new().await;
        let (team, mut owner) = world.with_owner().await;
        assert!(owner.get("/app/decided").await.text.contains("Nothing was decided yet"));
        let invoice = world.ask(&team, "/v1/invoices", "for the March invoice", "{}").await;
        let refund = world.ask(&team, "/v1/refunds", "for the refund", "{}").await;
        let found = owner.get("/app/inbox?q=MARCH").await.text;
        assert!(found.contains(&invoice) && !found.contains(&refund));
        assert!(owner.get("/app/inbox?q=nothing+like+it").await.text.contains("Nothing that waits contains"));
        // A search is no pattern.
        assert!(!owner.get("/app/inbox?q=%25").await.text.contains(&invoice));

        let mut decided = vec![invoice, refund];
        for n in 0..49 {
            decided.push(world.ask(&team, "/v1/items", "", &format!("{{\"n\":{n}}}")).await);
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

    async fn issuers_grants_endpoints_and_the_catalogue_are_searched() {
        let world = World::new().await;
        let (team, mut owner) = world.with_owner().await;
        let actor = Actor::cli(team.id);
        for n in 0..51_u8 {
            let did = format!("did:ethr:0x{:040x}", u32::from(n) + 1);
            issuers::add(&world.scoring, &actor, &did, &format!("Issuer {n:02}")).await.unwrap();
        }
        let first = owner.get("/app/issuers").await.text;
        assert!(first.contains("Issuer 00") && !first.contains("Issuer 50") && first.contains("50 of 51"));
        assert!(owner.get("/app/issuers?page=2").await.text.contains("Issuer 50"));
        let found = owner.get("/app/issuers?q=issuer+07").await.text;
        assert!(found.contains("Issuer 07") && !found.contains("Issuer 08"));
        assert!(owner.get("/app/issuers?q=nobody").await.text.contains(NOTHING));

        for (n, path) in ["/v1/pay", "/v1/mail"].into_iter().enumerate() {
            let txn = world.ask(&team, path, "", &format!("{{\"n\":{n}}}")).await;
            let to = format!("/app/approvals/{txn}/approve");
            owner.submit("/app/account", &to, &[("grant_seconds", "900")]).await;
        }
        let found = owner.get("/app/policies?q=v1%2Fpay").await.text;
        assert!(found.contains("/v1/pay</span>") && !found.contains("/v1/mail</span>"), "{found}");
        assert!(owner.get("/app/policies?q=nobody").await.text.contains(NOTHING));

        endpoint(&world, team.id, "https://127.0.0.1:9/one").await;
        endpoint(&world, team.id, "https://127.0.0.1:9/two").await;
        let found = owner.get("/app/webhooks?q=ONE").await.text;
        assert!(found.contains("/one</a>") && !found.contains("/two</a>"));
        assert!(owner.get("/app/webhooks?q=nobody").await.text.contains(NOTHING));

        let found = owner.get("/app/catalogue?q=discord").await.text;
        assert!(found.contains("/app/catalogue/Discord") && !found.contains("/app/catalogue/ETH"));
        assert!(owner.get("/app/catalogue?q=nobody").await.text.contains(NOTHING));
    }
}
