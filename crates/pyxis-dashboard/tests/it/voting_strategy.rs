//! The page that writes and tries the settings of a voting strategy.

use pyxis_testkit::engines;

use crate::support::{Browser, Server};

const HERE: &str = "/app/verification/strategy";
const USER: &str = "0x1111111111111111111111111111111111111111";

async fn owner(server: &Server) -> Browser {
    let (_, owner) = server.with_owner().await;
    owner.elsewhere(server.with_verification().1)
}

engines! {
    async fn the_settings_of_a_strategy_follow_the_form(server: Server) {
        let mut owner = owner(&server).await;
        let page = owner.get("/app/verification").await.text;
        assert!(page.contains(&format!("href=\"{HERE}\"")), "{page}");
        let page = owner.get(HERE).await.text;
        assert!(page.contains("snapshot-strategies/sybil-resistance/gov-id"), "{page}");
        assert!(page.contains("action-id=123456789") && page.contains("network=10&"), "{page}");
        let page = owner.get(&format!("{HERE}?strategy=phone&network=1&action_id=7&snapshot=12")).await.text;
        assert!(page.contains("snapshot-strategies/sybil-resistance/phone"), "{page}");
        assert!(page.contains("network=1&amp;snapshot=12") || page.contains("network=1&#38;snapshot=12"), "{page}");
        let page = owner.get(&format!("{HERE}?strategy=score")).await.text;
        assert!(page.contains("No scorer is open to votes"), "{page}");
        let page = owner.get(&format!("{HERE}?strategy=residence-us")).await.text;
        assert!(page.contains("snapshot-strategies/residence/country/us"), "{page}");
    }

    async fn addresses_are_answered_as_the_voting_tool_would_be(server: Server) {
        let mut owner = owner(&server).await;
        let page = owner.get(&format!("{HERE}?addresses={USER}%0Avitalik.eth")).await.text;
        assert!(page.contains("No proof registered."), "{page}");
        assert!(page.contains("vitalik.eth</th>"), "the entry that is not an address has a row: {page}");
        for (query, problem) in [
            (format!("snapshot=x&addresses={USER}"), "Snapshot is invalid"),
            (format!("network=5&addresses={USER}"), "Unsupported network"),
            (format!("action_id=0&addresses={USER}"), "Invalid action-id"),
            ("addresses=vitalik.eth".to_owned(), "Invalid user address"),
            (format!("addresses={}", [USER; 6].join("%0A")), "These are 6 addresses. Enter at most 5"),
        ] {
            let page = owner.get(&format!("{HERE}?{query}")).await.text;
            assert!(page.contains(problem) && !page.contains("Voting power</h2>"), "{query}: {page}");
        }
    }
}
