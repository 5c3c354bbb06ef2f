//! The page of models.

use pyxis_scoring::activity::{import, rebuild};

use super::HOLDER;
use crate::support::World;

async fn take_in(world: &World, text: String) {
    let reader =
        pyxis_models::reading::Reader::new(Box::new(std::io::Cursor::new(text.into_bytes()))).unwrap();
    let store = &world.scoring.store;
    import(store, "aa", "a.csv", reader, world.scoring.now(), |_| ()).await.unwrap();
    let held = world.scoring.models.current().await.unwrap();
    rebuild(store, &held.bundle, |_, _| ()).await.unwrap();
}

#[tokio::test]
async fn the_page_says_how_good_models_are_and_why_a_wallet_has_its_score() {
    let world = World::new().await;
    let (_, mut browser) = world.with_owner().await;
    let text = browser.get("/app/models").await.text;
    for shown in [
        "How good they are",
        "by cluster",
        "transferred to",
        "partly circular",
        "No activity was taken in",
        "<svg",
    ] {
        assert!(text.contains(shown), "{shown}");
    }
    take_in(&world, format!("chain,from,to\nbase,{HOLDER},{HOLDER}\nbase,{HOLDER},{HOLDER}\n")).await;
    let text = browser.get(&format!("/app/models?address={HOLDER}")).await.text;
    for shown in ["weighs 100 %", "Transferred: this model never saw labels", "What was seen", "Speaks for"] {
        assert!(text.contains(shown), "{shown}");
    }
    let text = browser.get(&format!("/app/models?address={HOLDER}&model=nft")).await.text;
    assert!(text.contains("Too little data: fewer than 2 transfers"));
    assert!(browser.get("/app/models?address=vitalik.eth").await.text.contains("That is no address"));
}
