//! The self-check page of a scorer, before sign-in.

use http::StatusCode;
use pyxis_gateway::Actor;
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_testkit::engines;

use super::with_scorer;
use crate::support::Server;

engines! {
    async fn the_self_check_page_is_open_while_a_key_of_the_scorer_allows_the_servers_origin(server: Server) {
        let (team, mut owner, scorer) = with_scorer(&server).await;
        let path = format!("/check/{}", scorer.id);
        assert!(owner.get(&format!("/app/scorers/{}", scorer.id)).await.text.contains(&format!("href=\"{path}\"")));
        let mut stranger = server.browser();
        assert_eq!(stranger.get(&path).await.status, StatusCode::NOT_FOUND);
        let actor = Actor::cli(team.id);
        let issuer = server.scoring.signer.config().issuer.clone();
        let input = ApiKeyInput::publishable("page", scorer.id, vec!["https://app.example.org".to_owned()]);
        api_keys::create(&server.scoring, &actor, input).await.unwrap();
        assert_eq!(stranger.get(&path).await.status, StatusCode::NOT_FOUND);
        let input = ApiKeyInput::publishable("check", scorer.id, vec![issuer.clone()]);
        let (key, text) = api_keys::create(&server.scoring, &actor, input).await.unwrap();
        let page = stranger.get(&path).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(page.text.contains("Check your score") && page.text.contains("Airdrop"), "{}", page.text);
        assert!(page.text.contains("HolonymGovIdProvider"), "the Stamps that give points");
        assert!(!page.text.contains(text.expose().as_str()), "the page needs no key");
        assert!(page.text.contains(&format!("data-check=\"{}\"", scorer.id)));
        // The script compares this with the address of the browser, and shows the link if they differ.
        let elsewhere = format!("<a href=\"{issuer}{path}\">{issuer}{path}</a>");
        assert!(page.text.contains(&format!("data-origin=\"{issuer}\"")), "{}", page.text);
        assert!(page.text.contains("data-elsewhere hidden") && page.text.contains(&elsewhere), "{}", page.text);
        assert!(stranger.jar.is_empty(), "no cookie is set");
        for other in ["/check/999", "/check/x", "/check/-1"] {
            assert_eq!(stranger.get(other).await.status, StatusCode::NOT_FOUND, "{other}");
        }
        api_keys::revoke(&server.scoring.audited, &actor, key.id).await.unwrap();
        assert_eq!(stranger.get(&path).await.status, StatusCode::NOT_FOUND);
    }
}
