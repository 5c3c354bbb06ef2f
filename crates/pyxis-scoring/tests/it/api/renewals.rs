//! Imports that renew the Stamps of many known addresses, and addresses with very many nullifiers.

use http::{Method, StatusCode};
use pyxis_core::clock::UnixMillis;
use pyxis_scoring::credential::parse_and_verify;
use pyxis_scoring::engine::{Batch, IngestOutcome, ingest_many};
use pyxis_store::stamps::NewStamp;
use pyxis_store::{addresses, stamps};
use pyxis_testkit::engines;

use super::scene::{START, Scene, day, revocation, score_path, timestamp, wallet};

/// Known wallets: more than get their credentials in one transaction.
const KNOWN: u64 = 70;

/// Stores credentials in one block, as an import does.
async fn import(scene: &Scene, credentials: &[(u64, String)]) -> Vec<IngestOutcome> {
    let now = scene.state.now();
    let verified = credentials
        .iter()
        .map(|(number, text)| parse_and_verify(text, wallet(*number), now, |_| true).unwrap())
        .collect();
    let batch = Batch::prepare(scene.workspace, verified, now);
    let (outcomes, committing) = ingest_many(&scene.state.db, batch, now).await.unwrap();
    committing.await.unwrap();
    outcomes
}

engines! {
    async fn wallets_that_were_imported_wait_for_each_other_from_their_first_scores_on(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1.5")]).await;
        scene.on_day(1);
        let issued = |number, until| (number, scene.credential(wallet(number), "A", "n:1", until));
        assert_eq!(import(scene, &[issued(1, 9), issued(2, 30)]).await, [IngestOutcome::Accepted; 2]);
        assert_eq!(scene.count("stamp_nullifiers").await, 0);
        assert_eq!(scene.score(scorer, wallet(1)).await["score"], "1.50000");
        let end = async || scene.score(scorer, wallet(2)).await["stamps"]["A"]["expiration_date"].clone();
        assert_eq!(end().await, timestamp(day(9)));
        assert_eq!(scene.count("stamp_nullifiers").await, 2);
        let later = UnixMillis(START.0 + 10);
        let renewal = scene.credential_from(wallet(1), "A", "n:1", later, day(12));
        assert_eq!(import(scene, &[(1, renewal)]).await, [IngestOutcome::Replaced]);
        assert_eq!(end().await, timestamp(day(12)));
        assert_eq!(scene.count("stamp_nullifiers").await, 2);
    }

    async fn an_imported_stamp_that_was_damaged_waits_for_the_others_once_it_is_fixed(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1.5")]).await;
        let issued = |number| (number, scene.credential(wallet(number), "A", "n:1", 30));
        let first = issued(1);
        assert_eq!(import(scene, &[first.clone(), issued(2)]).await, [IngestOutcome::Accepted; 2]);
        let score = async |number| scene.score(scorer, wallet(number)).await["score"].clone();
        assert_eq!(score(1).await, "1.50000");
        let damage = async |text: &str| {
            scene.sql(&format!("UPDATE stamps SET nullifiers = '{text}' WHERE id = 2")).await;
        };
        damage("").await;
        assert_eq!(scene.score(scorer, wallet(2)).await["error"], "1 stored Stamp cannot be read and does not count.");
        damage("[\"n:1\"]").await;
        scene.clock.set(UnixMillis(START.0 + 3_600_000));
        assert_eq!(score(2).await, "0.00000");
        scene.revoke(wallet(1), &first.1).await;
        assert_eq!(score(2).await, "1.50000");
    }

    async fn a_block_renews_what_is_known_and_adds_what_is_new(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1.5"), ("B", "2")]).await;
        let issued = |number: u64, from: i64, until| {
            let from = UnixMillis(START.0 + from);
            let text = scene.credential_from(wallet(number), "A", &format!("n:{number}"), from, day(until));
            (number, text)
        };
        scene.on_day(1);
        let first: Vec<_> = (0..KNOWN).map(|number| issued(number, 5, 9)).collect();
        assert_eq!(import(scene, &first).await, vec![IngestOutcome::Accepted; 70]);
        for number in 0..KNOWN {
            assert_eq!(scene.score(scorer, wallet(number)).await["score"], "1.50000");
        }
        // Another wallet shows the end of the first one's claim.
        scene.verify(wallet(500), "A", "n:0", 20).await;
        let shows = |until| (serde_json::Value::from(true), serde_json::Value::from(timestamp(day(until))));
        let stamp = async |number| {
            let stamp = scene.score(scorer, wallet(number)).await["stamps"]["A"].clone();
            (stamp["dedup"].clone(), stamp["expiration_date"].clone())
        };
        assert_eq!(stamp(500).await, shows(9));

        let mut block: Vec<_> = (0..KNOWN).map(|number| issued(number, 10, 12)).collect();
        let mut expected = vec![IngestOutcome::Replaced; block.len()];
        // One is revoked, one has an earlier date, one occurs twice.
        let row = revocation(wallet(20), &block[20].1, scene.state.now());
        pyxis_scoring::engine::revoke(&scene.state.db, scene.workspace, &row).await.unwrap();
        expected[20] = IngestOutcome::Revoked;
        block[30] = issued(30, 0, 30);
        expected[30] = IngestOutcome::Superseded;
        block.push(issued(3, 10, 12));
        expected.push(IngestOutcome::Unchanged);
        for number in 100..120 {
            block.insert(usize::try_from(2 * (number - 100)).unwrap(), issued(number, 0, 9));
            expected.insert(usize::try_from(2 * (number - 100)).unwrap(), IngestOutcome::Accepted);
        }
        assert_eq!(import(scene, &block).await, expected);
        let again: Vec<IngestOutcome> = expected
            .iter()
            .map(|outcome| match outcome {
                IngestOutcome::Accepted | IngestOutcome::Replaced => IngestOutcome::Unchanged,
                other => *other,
            })
            .collect();
        assert_eq!(import(scene, &block).await, again);
        assert_eq!(scene.count("stamps").await, KNOWN + 1 + 20);
        for number in 0..KNOWN {
            let until = if [20, 30].contains(&number) { 9 } else { 12 };
            assert_eq!(stamp(number).await, (false.into(), timestamp(day(until)).into()), "{number}");
        }
        assert_eq!(stamp(500).await, shows(12));
        assert_eq!(stamp(110).await.0, false);
    }

    async fn an_address_with_very_many_nullifiers_has_a_score(scene: &Scene) {
        let scorer = scene.scorer("1", &[("S0", "1.5"), ("S512", "2"), ("A", "1")]).await;
        let mut tx = scene.state.store.begin().await.unwrap();
        addresses::ensure(&mut tx, scene.workspace, wallet(1), START).await.unwrap();
        for number in 0..513_u16 {
            let mut digest = [0; 32];
            digest[..2].copy_from_slice(&number.to_be_bytes());
            let new = NewStamp {
                address: wallet(1),
                provider: format!("S{number}").parse().unwrap(),
                issuer: scene.issuer.did(),
                issued_at: START,
                expires_at: day(9),
                digest,
                nullifiers: (0..32).map(|mark| format!("n:{number}:{mark}").parse().unwrap()).collect(),
                received_at: START,
                credential: "{}".to_owned(),
            };
            stamps::insert(&mut tx, scene.workspace, &new).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(scene.score(scorer, wallet(1)).await["score"], "3.50000");
        scene.verify(wallet(1), "A", "n:a", 9).await;
        assert_eq!(scene.score(scorer, wallet(1)).await["score"], "4.50000");
        assert_eq!(scene.delete(wallet(1), "S512").await.status, StatusCode::OK);
        assert_eq!(scene.score(scorer, wallet(1)).await["score"], "2.50000");
        let path = score_path(scorer, wallet(1)) + "?explain=true";
        let explained = scene.send_with_key(Method::GET, &path, &scene.key, String::new()).await;
        assert_eq!(explained.status, StatusCode::OK, "{}", explained.text);
    }
}
