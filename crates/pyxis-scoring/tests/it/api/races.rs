//! Races for claims, and between everything that changes a score (decisions, Deduplication).

use std::time::Duration;

use http::{Method, StatusCode};
use pyxis_core::entropy::{Entropy, SeededEntropy};
use pyxis_core::id::ScorerId;
use pyxis_core::score::Settled;
use pyxis_scoring::engine::{Place, preview, score};
use serde_json::Value;

use super::world::{World, both_engines, request, revocation, score_path, send, shown, wallet};

/// Rounds of the race for an expired claim.
const ROUNDS: u64 = 500;
const ADDRESSES: u64 = 64;

/// The record of every address, computed at once as requests do it.
async fn records(world: &World, scorer: ScorerId) -> Vec<Value> {
    let now = world.state.now();
    let asked: Vec<_> = (0..ADDRESSES)
        .map(|number| {
            let books = world.state.books.clone();
            let place = Place { workspace: world.workspace, scorer, address: wallet(number) };
            tokio::spawn(async move { score(&books, place, now, true).await })
        })
        .collect();
    let mut records = Vec::with_capacity(asked.len());
    for task in asked {
        let record = task.await.unwrap().unwrap().expect("a holder");
        records.push(serde_json::from_str(&record).unwrap());
    }
    records
}

both_engines! {
    async fn race_of_64_addresses_for_a_claim_that_expires_credits_exactly_one(world: &World) {
        let mut winners = std::collections::BTreeSet::new();
        for number in 0..ADDRESSES {
            let until = 1000 + i64::try_from(number).unwrap();
            world.bring(wallet(number), &[world.credential(wallet(number), "A", "n:1", until)]).await;
        }
        for round in 0..ROUNDS {
            // A scorer in which somebody else holds the nullifier until the end of the round.
            let scorer = world.scorer("1", &[("A", "1.5")]).await;
            let (holder, now) = (wallet(1000 + round), world.state.now());
            let end = now.plus(Duration::from_secs(1));
            world.bring(holder, &[world.credential_from(holder, "A", "n:1", now, end)]).await;
            assert_eq!(world.score(scorer, holder).await["score"], "1.50000");
            if round == 0 {
                assert!(records(world, scorer).await.iter().all(|record| record["score"] == "0.00000"));
            }
            world.clock.set(end);
            let records = records(world, scorer).await;
            let credited: Vec<usize> =
                (0..records.len()).filter(|&n| records[n]["score"] == "1.50000").collect();
            let [winner] = credited[..] else { panic!("round {round}: {credited:?} credited") };
            let until = &records[winner]["stamps"]["A"]["expiration_date"];
            for (number, record) in records.iter().enumerate().filter(|(number, _)| *number != winner) {
                let stamp = &record["stamps"]["A"];
                assert_eq!(
                    (&stamp["dedup"], &stamp["expiration_date"]),
                    (&Value::Bool(true), until),
                    "{number}"
                );
            }
            winners.insert(winner);
        }
        // It was a race.
        assert!(winners.len() > 1, "{winners:?}");
    }

    async fn race_of_ingest_score_revoke_and_removal_leaves_what_a_fresh_computation_finds(world: &World) {
        let scorers = [
            world.scorer("3", &[("A", "1"), ("B", "2"), ("C", "4")]).await,
            world.scorer("3", &[("A", "8")]).await,
        ];
        let entropy = SeededEntropy::new(11);
        let mut issued: Vec<(u64, String)> = Vec::new();
        for round in 0..40 {
            world.clock.advance(Duration::from_hours(1));
            let mut working = tokio::task::JoinSet::new();
            for _ in 0..12 {
                let mut dice = [0; 6];
                entropy.fill(&mut dice);
                let number = u64::from(dice[0] % 6);
                let (name, router, key) =
                    (["A", "B", "C"][usize::from(dice[1] % 3)], world.router(), world.key.clone());
                let scorer = scorers[usize::from(dice[2] % 2)];
                match dice[3] % 8 {
                    0..4 => {
                        let marks =
                            ["m:0", "m:1", "m:2", "m:0 m:1", "m:1 m:2", "m:2 m:3"][usize::from(dice[4] % 6)];
                        let now = world.state.now();
                        let until = now.plus(Duration::from_hours(u64::from(1 + dice[5] % 9)));
                        let text = world.credential_from(wallet(number), name, marks, now, until);
                        issued.push((number, text.clone()));
                        let asked = request(
                            Method::POST,
                            &format!("/v2/stamps/{}", wallet(number)),
                            &key,
                            format!("[{text}]"),
                        );
                        working.spawn(async move { send(&router, asked).await.status });
                    }
                    4 | 5 => {
                        let asked =
                            request(Method::GET, &score_path(scorer, wallet(number)), &key, String::new());
                        working.spawn(async move { send(&router, asked).await.status });
                    }
                    6 => {
                        let path = format!("/v2/stamps/{}?provider={name}", wallet(number));
                        let asked = request(Method::DELETE, &path, &key, String::new());
                        working.spawn(async move { send(&router, asked).await.status });
                    }
                    _ if issued.is_empty() => {}
                    _ => {
                        let (of, text) = issued.swap_remove(usize::from(dice[4]) % issued.len());
                        let (state, workspace) = (world.state.clone(), world.workspace);
                        let row = revocation(wallet(of), &text, state.now());
                        working.spawn(async move {
                            pyxis_scoring::engine::revoke(&state.books, workspace, &row).await.unwrap();
                            StatusCode::OK
                        });
                    }
                }
            }
            while let Some(status) = working.join_next().await {
                assert_eq!(status.unwrap(), StatusCode::OK, "round {round}");
            }
            for scorer in scorers {
                settled_matches(world, scorer, round).await;
            }
        }
    }
}

/// What is stored and what is answered is what a computation finds that stores nothing.
async fn settled_matches(world: &World, scorer: ScorerId, round: i32) {
    // A first look lets everybody take what has become free.
    for number in 0..6 {
        world.score(scorer, wallet(number)).await;
    }
    let mut holders = std::collections::BTreeMap::new();
    for number in 0..6 {
        let answered = world.score(scorer, wallet(number)).await;
        let place = Place { workspace: world.workspace, scorer, address: wallet(number) };
        let (_, fresh) = preview(&world.state.store, place, world.state.now()).await.unwrap();
        assert_eq!(answered["stamps"], stamps(&fresh), "round {round}, wallet {number}");
        assert_eq!(answered["score"], fresh.score.to_string(), "round {round}, wallet {number}");
        assert!(fresh.claims.is_empty(), "round {round}, wallet {number}: {:?}", fresh.claims);
        // No nullifier is credited twice.
        let page = world.get(&format!("/v2/stamps/{}", wallet(number))).await.json();
        for item in page["items"].as_array().unwrap() {
            let subject = &item["credential"]["credentialSubject"];
            let name = subject["provider"].as_str().unwrap();
            if answered["stamps"][name]["dedup"] == false {
                for mark in subject["nullifiers"].as_array().unwrap() {
                    let other = holders.insert(mark.to_string(), number).unwrap_or(number);
                    assert_eq!(other, number, "round {round}: {mark} counts twice");
                }
            }
        }
    }
}

fn stamps(settled: &Settled) -> Value {
    let stamp = |entry: &pyxis_core::score::Entry| {
        let shown = serde_json::json!({
            "score": entry.score.to_string(), "dedup": entry.dedup, "expiration_date": shown(entry.expires_at),
        });
        (entry.provider.to_string(), shown)
    };
    Value::Object(settled.stamps.iter().map(stamp).collect())
}
