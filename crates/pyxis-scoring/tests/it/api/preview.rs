//! Previews of changed terms (`docs/reference/behavior/scoring.md#managing-scorers`).

use pyxis_scoring::service::preview::{Proposal, preview};
use pyxis_testkit::engines;

use super::scene::{Scene, wallet};

/// More than are read at once.
const WALLETS: u64 = 104;

const AS_IT_IS: Proposal = Proposal { threshold: None, weights: None, keep_until_expiry: false };

engines! {
    async fn of_wallets_that_share_an_account_one_passes_though_none_was_scored_yet(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1"), ("B", "1")]).await;
        for number in 0..WALLETS {
            scene.verify(wallet(number), "A", "n:1", 20).await;
        }
        let found = preview(&scene.state.store, scene.workspace, scorer, AS_IT_IS, scene.state.now()).await.unwrap();
        assert_eq!((found.sampled, found.passing_before, found.passing_after), (104, 1, 1));
        let nothing = Proposal { threshold: Some("2".parse().unwrap()), ..AS_IT_IS };
        let found = preview(&scene.state.store, scene.workspace, scorer, nothing, scene.state.now()).await.unwrap();
        assert_eq!((found.passing_before, found.passing_after, found.lost), (1, 0, 1));
        // The scored wallet holds it, even if it is the last of the sample.
        scene.score(scorer, wallet(WALLETS - 1)).await;
        scene.verify(wallet(0), "B", "b:1", 20).await;
        let found = preview(&scene.state.store, scene.workspace, scorer, AS_IT_IS, scene.state.now()).await.unwrap();
        assert_eq!((found.passing_before, found.passing_after), (2, 2));
        assert_eq!(scene.count("claims").await, 1);
    }
}
