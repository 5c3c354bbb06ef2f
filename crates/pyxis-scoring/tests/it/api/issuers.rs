//! Issuers that are taken off the list while their credentials come in.

use pyxis_core::actor::Actor;
use pyxis_core::entropy::SeededEntropy;
use pyxis_scoring::credential::{Verified, parse_and_verify};
use pyxis_scoring::engine::{Outcome, ingest};
use pyxis_scoring::service;
use pyxis_store::issuers::{self, IssuerRow};
use pyxis_testkit::issuer::{Claim, Eip712Issuer};

use super::world::{START, World, both_engines, day, wallet};

fn verified(text: &str) -> Verified {
    parse_and_verify(text, wallet(1), START, |_| true).unwrap()
}

both_engines! {
    async fn an_issuer_that_went_while_signatures_were_checked_is_not_believed_any_more(world: &World) {
        let other = Eip712Issuer::new(&SeededEntropy::new(8));
        let row = IssuerRow { did: other.did(), name: "other".to_owned(), created_at: START };
        issuers::put(&world.state.store, world.workspace, &row).await.unwrap();
        let claim = Claim { address: wallet(1), provider: "B", nullifiers: &["b:1"], issued_at: START, expires_at: day(9) };
        let checked = [
            verified(&other.issue(&Claim { provider: "C", nullifiers: &["c:1"], ..claim })),
            verified(&world.credential(wallet(1), "A", "a:1", 9)),
            verified(&other.issue(&claim)),
        ];
        let checked = checked.each_ref();
        service::issuers::remove(&world.state, &Actor::cli(world.workspace), &other.did()).await.unwrap();
        let outcomes = ingest(&world.state.books, world.workspace, wallet(1), &checked, START).await.unwrap();
        assert_eq!(outcomes, [None, Some(Outcome::Accepted), None]);
        assert_eq!(world.sql("SELECT provider FROM stamps").await, ["A"]);
        assert_eq!(world.bring(wallet(1), &[other.issue(&claim)]).await, ["unknown_issuer"]);
        service::issuers::remove(&world.state, &Actor::cli(world.workspace), &world.issuer.did()).await.unwrap();
        let outcomes = ingest(&world.state.books, world.workspace, wallet(2), &checked, START).await.unwrap();
        assert_eq!(outcomes, [None; 3]);
        assert_eq!(world.count("holders").await, 1);
    }
}

/// On SQLite there is one writer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_is_answered_once_nobody_stores_what_the_issuer_signed() {
    let Some(world) = World::on_postgres("issuer_goes").await else { return };
    let mut storing = world.state.store.begin().await.unwrap();
    let did = world.issuer.did();
    let held = issuers::hold(&mut storing, world.workspace, std::slice::from_ref(&did)).await.unwrap();
    assert_eq!(held, std::slice::from_ref(&did));
    let (state, actor) = (world.state.clone(), Actor::cli(world.workspace));
    let removing = tokio::spawn(async move { service::issuers::remove(&state, &actor, &did).await });
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted \
         AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
    while world.sql(waiting).await != ["1"] {
        tokio::task::yield_now().await;
    }
    assert!(!removing.is_finished());
    storing.commit().await.unwrap();
    removing.await.unwrap().unwrap();
    world.remove().await;
}
