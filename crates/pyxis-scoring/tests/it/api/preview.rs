//! Previews of changed terms (`docs/reference/behavior/scoring.md#managing-scorers`).

use pyxis_scoring::service::preview::{Proposal, preview};
use pyxis_testkit::engines;

use super::world::{World, wallet};

/// More than are read at once.
const WALLETS: u64 = 104;

const AS_IT_IS: Proposal = Proposal { threshold: None, weights: None };

engines! {
    async fn of_wallets_that_share_an_account_one_passes_though_none_was_scored_yet(world: &World) {
        let scorer = world.scorer("1", &[("A", "1"), ("B", "1")]).await;
        for number in 0..WALLETS {
            world.verify(wallet(number), "A", "n:1", 20).await;
        }
        let found = preview(&world.state.store, world.workspace, scorer, AS_IT_IS, world.state.now()).await.unwrap();
        assert_eq!((found.sampled, found.passing_before, found.passing_after), (104, 1, 1));
        let nothing = Proposal { threshold: Some("2".parse().unwrap()), weights: None };
        let found = preview(&world.state.store, world.workspace, scorer, nothing, world.state.now()).await.unwrap();
        assert_eq!((found.passing_before, found.passing_after, found.lost), (1, 0, 1));
        // The scored wallet holds it, even if it is the last of the sample.
        world.score(scorer, wallet(WALLETS - 1)).await;
        world.verify(wallet(0), "B", "b:1", 20).await;
        let found = preview(&world.state.store, world.workspace, scorer, AS_IT_IS, world.state.now()).await.unwrap();
        assert_eq!((found.passing_before, found.passing_after), (2, 2));
        assert_eq!(world.count("claims").await, 1);
    }
}
