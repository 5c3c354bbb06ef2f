//! Races for claims, and between all operations that change a score
//! (`docs/reference/behavior/scoring.md#deduplication`).

use std::collections::BTreeSet;
use std::time::Duration;

use http::{Method, StatusCode};
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::{Entropy, SeededEntropy};
use pyxis_core::id::ScorerId;
use pyxis_core::score::ScoreResult;
use pyxis_scoring::Config;
use pyxis_scoring::credential::parse_and_verify;
use pyxis_scoring::engine::{Batch, IngestOutcome, ScoreKey, ingest_many, preview, score};
use pyxis_store::addresses;
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use pyxis_testkit::long_form::rounds;
use serde_json::Value;

use super::scene::{Node, Scene, day, request, revocation, score_path, send, timestamp, wallet};

/// Rounds of the race for an expired claim, in the short and the long form.
const ROUNDS: [usize; 2] = [16, 500];
const ADDRESSES: u64 = 64;
/// Rounds of the races with an import, in the short and the long form, and wallets that it contains credentials for.
const IMPORTS: [usize; 2] = [12, 100];
const IMPORTED: u64 = 12;

/// A block of an import: a credential for each of some wallets.
fn batch(scene: &Scene, credentials: Vec<(u64, String)>) -> Batch {
    let now = scene.state.now();
    let verified = credentials
        .into_iter()
        .map(|(number, text)| parse_and_verify(&text, wallet(number), now, |_| true).unwrap());
    Batch::prepare(scene.workspace, verified.collect(), now)
}

/// Stores a block as an import does.
async fn import(state: pyxis_scoring::State, batch: Batch) -> Vec<IngestOutcome> {
    let (outcomes, committing) = ingest_many(&state.db, batch, state.now()).await.unwrap();
    committing.await.unwrap();
    outcomes
}

/// The record of every address, computed at once as requests do it, by two processes.
async fn records(scene: &Scene, other: &Node, scorer: ScorerId) -> Vec<Value> {
    let now = scene.state.now();
    let asked: Vec<_> = (0..ADDRESSES)
        .map(|number| {
            let state = if number.is_multiple_of(2) { &scene.state } else { &other.state };
            let db = state.db.clone();
            let place = ScoreKey { workspace: scene.workspace, scorer, address: wallet(number) };
            tokio::spawn(async move { score(&db, place, now, true).await })
        })
        .collect();
    let mut records = Vec::with_capacity(asked.len());
    for task in asked {
        let record = task.await.unwrap().unwrap().expect("a holder");
        records.push(serde_json::from_str(&record).unwrap());
    }
    records
}

engines! {
    async fn race_of_64_addresses_for_a_claim_that_expires_credits_exactly_one(scene: &Scene) {
        let other = scene.node(Config::default());
        let mut winners = std::collections::BTreeSet::new();
        for number in 0..ADDRESSES {
            let until = 1000 + i64::try_from(number).unwrap();
            scene.bring(wallet(number), &[scene.credential(wallet(number), "A", "n:1", until)]).await;
        }
        let [short, long] = ROUNDS;
        for round in 0..rounds(short, long) as u64 {
            // A scorer in which another wallet holds the nullifier until the end of the round.
            let scorer = scene.scorer("1", &[("A", "1.5")]).await;
            let (holder, now) = (wallet(1000 + round), scene.state.now());
            let end = now.plus(Duration::from_secs(1));
            scene.bring(holder, &[scene.credential_from(holder, "A", "n:1", now, end)]).await;
            assert_eq!(scene.score(scorer, holder).await["score"], "1.50000");
            let before = records(scene, &other, scorer).await;
            assert!(before.iter().all(|record| record["score"] == "0.00000"), "round {round}");
            scene.clock.set(end);
            let records = records(scene, &other, scorer).await;
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
        // It was a race, between the processes as well.
        assert!([0, 1].into_iter().all(|parity| winners.iter().any(|winner| winner % 2 == parity)), "{winners:?}");
    }

    async fn race_of_imports_scores_and_arrivals_that_share_nullifiers_disturbs_nobody(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1"), ("B", "2")]).await;
        let credential = |number: u64, name: &str, round: u64| {
            let marks = format!("m:{} k:{}", (number + round) % 4, (number * 3 + round) % 5);
            let now = scene.state.now();
            scene.credential_from(wallet(number), name, &marks, now, now.plus(Duration::from_hours(3)))
        };
        for number in 0..IMPORTED {
            scene.bring(wallet(number), &[credential(number, "A", 0)]).await;
            scene.score(scorer, wallet(number)).await;
        }
        let [short, long] = IMPORTS;
        for round in 1..=rounds(short, long) as u64 {
            scene.clock.advance(Duration::from_hours(1));
            let mut working = tokio::task::JoinSet::new();
            // Two imports of the same wallets, each with some new ones.
            for (part, name) in [(0, "A"), (1, "B")] {
                let new = 1000 + round * 10 + part;
                let numbers = (0..IMPORTED).chain([new]);
                let block = numbers.map(|number| (number, credential(number, name, round))).collect();
                let (state, block) = (scene.state.clone(), batch(scene, block));
                working.spawn(async move {
                    let outcomes = import(state, block).await;
                    assert!(outcomes.iter().all(|one| matches!(one, IngestOutcome::Accepted | IngestOutcome::Replaced)));
                    StatusCode::OK
                });
            }
            for number in 0..IMPORTED {
                let text = credential(number, "C", round);
                for (method, path, body) in [
                    (Method::GET, score_path(scorer, wallet(number)), String::new()),
                    (Method::POST, format!("/v2/stamps/{}", wallet(number)), format!("[{text}]")),
                ] {
                    let (router, asked) = (scene.router(), request(method, &path, &scene.key, body));
                    working.spawn(async move { send(&router, asked).await.status });
                }
            }
            while let Some(status) = working.join_next().await {
                assert_eq!(status.unwrap(), StatusCode::OK, "round {round}");
            }
        }
    }

    async fn race_of_readers_of_an_outdated_score_makes_one_row_of_history(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1"), ("B", "2")]).await;
        scene.verify(wallet(1), "A", "n:1", 2).await;
        scene.verify(wallet(1), "B", "n:2", 9).await;
        scene.score(scorer, wallet(1)).await;
        assert_eq!(scene.count("score_history").await, 1);
        scene.on_day(2);
        let mut reading = tokio::task::JoinSet::new();
        for millis in 0..64 {
            let (db, now) = (scene.state.db.clone(), UnixMillis(day(2).0 + millis));
            let place = ScoreKey { workspace: scene.workspace, scorer, address: wallet(1) };
            reading.spawn(async move { score(&db, place, now, true).await.unwrap().unwrap() });
        }
        let answered: BTreeSet<String> = reading.join_all().await.into_iter().collect();
        assert_eq!(answered.len(), 1);
        assert_eq!(scene.count("score_history").await, 2);
        // A score that was never answered becomes history.
        scene.clock.set(day(3));
        scene.delete(wallet(1), "A").await;
        scene.verify(wallet(1), "B", "n:3", 10).await;
        let place = ScoreKey { workspace: scene.workspace, scorer, address: wallet(1) };
        score(&scene.state.db, place, UnixMillis(day(3).0 + 1), true).await.unwrap();
        assert_eq!(scene.count("score_history").await, 3);
    }

    async fn whatever_score_is_answered_is_history_though_another_takes_its_place(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "1")]).await;
        scene.verify(wallet(1), "A", "n:1", 90).await;
        scene.score(scorer, wallet(1)).await;
        let removed = format!("/v2/stamps/{}?provider=B", wallet(1));
        let mut answered = BTreeSet::new();
        for round in 0..200 {
            // A score that was never answered, and another a moment later.
            scene.clock.advance(Duration::from_millis(1));
            scene.verify(wallet(1), "B", &format!("b:{round}"), 90).await;
            scene.clock.advance(Duration::from_millis(1));
            let mut working = tokio::task::JoinSet::new();
            for (method, path) in std::iter::once((Method::DELETE, removed.clone()))
                .chain((0..4).map(|_| (Method::GET, score_path(scorer, wallet(1)))))
            {
                let (router, asked) = (scene.router(), request(method, &path, &scene.key, String::new()));
                working.spawn(async move { send(&router, asked).await });
            }
            for answer in working.join_all().await {
                assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
                answered.extend(answer.json()["last_score_timestamp"].as_str().map(str::to_owned));
            }
        }
        let kept = scene.sql("SELECT CAST(computed_at AS TEXT) FROM score_history").await;
        let kept: BTreeSet<String> = kept.iter().map(|at| timestamp(UnixMillis(at.parse().unwrap()))).collect();
        assert_eq!(answered.difference(&kept).collect::<Vec<_>>(), Vec::<&String>::new());
    }

    async fn race_of_ingest_score_revoke_and_removal_leaves_what_a_fresh_computation_finds(scene: &Scene) {
        let scorers = [
            scene.scorer("3", &[("A", "1"), ("B", "2"), ("C", "4")]).await,
            scene.scorer("3", &[("A", "8")]).await,
        ];
        let entropy = SeededEntropy::new(11);
        let mut issued: Vec<(u64, String)> = Vec::new();
        // The account of each nullifier: nullifiers of one credential are one account, whatever becomes of it.
        let mut accounts = [0, 1, 2, 3];
        for round in 0..rounds(20, 200) {
            scene.clock.advance(Duration::from_hours(1));
            let mut working = tokio::task::JoinSet::new();
            for _ in 0..12 {
                let mut dice = [0; 6];
                entropy.fill(&mut dice);
                let number = u64::from(dice[0] % 6);
                let (name, router, key) =
                    (["A", "B", "C"][usize::from(dice[1] % 3)], scene.router(), scene.key.clone());
                let scorer = scorers[usize::from(dice[2] % 2)];
                match dice[3] % 8 {
                    0..4 => {
                        let marks =
                            ["m:0", "m:1", "m:2", "m:0 m:1", "m:1 m:2", "m:2 m:3"][usize::from(dice[4] % 6)];
                        let now = scene.state.now();
                        let until = now.plus(Duration::from_hours(u64::from(1 + dice[5] % 9)));
                        let text = scene.credential_from(wallet(number), name, marks, now, until);
                        issued.push((number, text.clone()));
                        let named: Vec<usize> = marks.split(' ').map(|mark| mark[2..].parse().unwrap()).collect();
                        for mark in &named {
                            let (from, to) = (accounts[*mark], accounts[named[0]]);
                            accounts.iter_mut().filter(|one| **one == from).for_each(|one| *one = to);
                        }
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
                        let (state, workspace) = (scene.state.clone(), scene.workspace);
                        let row = revocation(wallet(of), &text, state.now());
                        working.spawn(async move {
                            pyxis_scoring::engine::revoke(&state.db, workspace, &row).await.unwrap();
                            StatusCode::OK
                        });
                    }
                }
            }
            while let Some(status) = working.join_next().await {
                assert_eq!(status.unwrap(), StatusCode::OK, "round {round}");
            }
            for scorer in scorers {
                settled_matches(scene, scorer, round, accounts).await;
            }
        }
    }
}

/// On SQLite the one writer is the lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_locks_no_nullifier_before_it_has_all_addresses_on_postgres() {
    let scene = Scene::start(TestDatabase::postgres("import_order").await).await;
    for number in [1, 2] {
        scene.verify(wallet(number), "A", "n:1", 9).await;
    }
    let mut other = scene.state.store.begin().await.unwrap();
    assert!(addresses::lock(&mut other, scene.workspace, wallet(2)).await.unwrap());
    let block = [1, 2].map(|number| (number, scene.credential(wallet(number), "B", "n:1", 9)));
    let importing = tokio::spawn(import(scene.state.clone(), batch(&scene, block.into())));
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid' \
         AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
    while scene.sql(waiting).await != ["1"] {
        tokio::task::yield_now().await;
    }
    let held = "SELECT count(*) FROM pg_locks WHERE granted AND locktype = 'advisory' \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    assert_eq!(scene.sql(held).await, ["1"], "of the digests");
    drop(other);
    assert_eq!(importing.await.unwrap(), [IngestOutcome::Accepted; 2]);
}

/// The stored and answered scores equal the result of a computation that stores nothing.
async fn settled_matches(scene: &Scene, scorer: ScorerId, round: usize, accounts: [usize; 4]) {
    // A first read lets each wallet take what has become free.
    for number in 0..6 {
        scene.score(scorer, wallet(number)).await;
    }
    let mut holders = std::collections::BTreeMap::new();
    for number in 0..6 {
        let answered = scene.score(scorer, wallet(number)).await;
        let place = ScoreKey { workspace: scene.workspace, scorer, address: wallet(number) };
        let (_, fresh) = preview(&scene.state.db, place, scene.state.now()).await.unwrap();
        assert_eq!(answered["stamps"], stamps(&fresh), "round {round}, wallet {number}");
        assert_eq!(answered["score"], fresh.score.to_string(), "round {round}, wallet {number}");
        assert!(fresh.claims.is_empty(), "round {round}, wallet {number}: {:?}", fresh.claims);
        // No nullifier is credited twice.
        let page = scene.get(&format!("/v2/stamps/{}", wallet(number))).await.json();
        for item in page["items"].as_array().unwrap() {
            let subject = &item["credential"]["credentialSubject"];
            let name = subject["provider"].as_str().unwrap();
            if answered["stamps"][name]["dedup"] == false {
                for mark in subject["nullifiers"].as_array().unwrap() {
                    let account = accounts[mark.as_str().unwrap()[2..].parse::<usize>().unwrap()];
                    let other = holders.insert(account, number).unwrap_or(number);
                    assert_eq!(other, number, "round {round}: {mark} counts twice");
                }
            }
        }
    }
}

fn stamps(settled: &ScoreResult) -> Value {
    let stamp = |entry: &pyxis_core::score::StampEntry| {
        let shown = serde_json::json!({
            "score": entry.score.to_string(), "dedup": entry.dedup, "expiration_date": timestamp(entry.expires_at),
        });
        (entry.provider.to_string(), shown)
    };
    Value::Object(settled.stamps.iter().map(stamp).collect())
}
