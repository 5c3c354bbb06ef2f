//! Erasure of an address from lists, jobs and pages, and during other work (`docs/guides/erase-an-address.md`).

use pyxis_core::actor::Actor;
use pyxis_core::id::ScorerId;
use pyxis_scoring::engine;
use pyxis_scoring::jobs::JobEnd;
use pyxis_scoring::service::allow_lists;
use pyxis_scoring::service::erasures::Erasure;
use pyxis_scoring::service::score_jobs::{Rows, ScoreJobRow};
use pyxis_store::score_jobs as stored;
use pyxis_testkit::engines;
use serde_json::json;

use super::erasures::{erase, occurrences};
use super::jobs;
use super::own_stamps;
use super::scene::{Scene, wallet};
use super::widget::{PAGE, TestPage, Wallet};

fn count(receipt: &Erasure, kind: &str) -> i64 {
    receipt.removed.get(kind).copied().unwrap_or_default()
}

async fn job(scene: &Scene, scorer: ScorerId, wallets: &[u64]) -> ScoreJobRow {
    let lines: Vec<String> = wallets.iter().map(|number| wallet(*number).to_string()).collect();
    jobs::add(scene, scorer, &format!("address\n{}\n", lines.join("\n"))).await.unwrap()
}

engines! {
    async fn an_erased_address_leaves_allow_lists_and_the_stamps_issued_by_them(scene: &Scene) {
        let scorer = scene.scorer("5", &[]).await;
        let actor = Actor::cli(scene.workspace);
        allow_lists::create(&scene.state, &actor, own_stamps::input(Some(scorer))).await.unwrap();
        let both = [wallet(1), wallet(2)];
        let both = both.map(own_stamps::plain);
        allow_lists::add(&scene.state, &actor, &own_stamps::name(), &both).await.unwrap();
        let request = json!({ "stamps": [{ "provider": "Member" }] });
        own_stamps::request(scene, 1, &request).await;
        assert_eq!((scene.count("issued_stamps").await, scene.count("stamps").await), (1, 1));
        let receipt = erase(scene, wallet(1)).await.unwrap();
        let counts = ["allow_list_entries", "issued_stamps", "stamps"].map(|kind| count(&receipt, kind));
        assert_eq!(counts, [1, 1, 1]);
        assert_eq!(occurrences(scene, wallet(1)).await, [""; 0]);
        let list = allow_lists::get(&scene.state.store, &actor, &own_stamps::name()).await.unwrap();
        assert_eq!((list.addresses, scene.count("listed_addresses").await), (1, 1), "the other one stays");
    }

    async fn an_erased_holder_is_signed_out_of_every_page(scene: &Scene) {
        let scorer = scene.scorer("5", &[]).await;
        let page = TestPage::for_origins(scene, scorer, &[PAGE]).await;
        let holder = Wallet::number(1);
        let token = page.sign_in(&holder).await;
        page.message(holder.address()).await;
        assert_eq!(page.score(&token).await.status, 200);
        assert_eq!(count(&erase(scene, holder.address()).await.unwrap(), "sign_ins"), 2);
        assert_eq!(occurrences(scene, holder.address()).await, [""; 0]);
        assert_eq!(page.score(&token).await.status, 401);
    }

    async fn an_erased_address_leaves_score_jobs_and_its_line_stays_as_one_without_an_address(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "2")]).await;
        scene.verify(wallet(1), "A", "a:1", 9).await;
        let done = job(scene, scorer, &[1, 2]).await;
        assert_eq!(jobs::run(&scene.state).await, Some(JobEnd::Done));
        let waits = job(scene, scorer, &[2, 1]).await;
        let receipt = erase(scene, wallet(1)).await.unwrap();
        assert_eq!(count(&receipt, "score_job_rows"), 2);
        let lines = jobs::results(scene, &done, Rows::All).await;
        assert!(lines[1].starts_with("2,,invalid,the address was erased,"), "{}", lines[1]);
        assert!(lines[2].starts_with(&format!("3,{},scored,", wallet(2))), "{}", lines[2]);
        let job = jobs::find(scene, &done).await;
        assert_eq!((job.scored, job.failed, job.retryable, job.total), (1, 1, 0, 2));
        // A job that waits does not bring it back.
        assert_eq!(jobs::run(&scene.state).await, Some(JobEnd::Done));
        let lines = jobs::results(scene, &waits, Rows::All).await;
        assert!(lines[2].starts_with("3,,invalid,the address was erased,"), "{}", lines[2]);
        let job = jobs::find(scene, &waits).await;
        assert_eq!((job.scored, job.failed, job.total), (1, 1, 2));
        assert_eq!(scene.count("stamps").await, 0);
    }

    async fn a_node_that_works_on_a_job_cannot_store_what_it_read_before_an_erasure(scene: &Scene) {
        let scorer = scene.scorer("1", &[("A", "2")]).await;
        scene.verify(wallet(1), "A", "a:1", 9).await;
        let added = job(scene, scorer, &[1]).await;
        let (store, now) = (&scene.state.store, scene.state.now());
        let holder = pyxis_core::id::NodeId::new(now, &*scene.state.entropy);
        assert_eq!(stored::claim(store, added.id, holder, now).await.unwrap(), Some(1));
        let read = stored::next_pending(store, added.id).await.unwrap().unwrap();
        assert!(erase(scene, wallet(1)).await.is_some());
        let result = stored::ChunkResult {
            number: read.number,
            before: read.totals,
            totals: stored::ChunkTotals { scored: 1, failed: 0, retryable: 0 },
            result: "[]".to_owned(),
        };
        assert!(!stored::commit_chunk(store, added.id, holder, &result, now).await.unwrap());
        assert_eq!(jobs::run(&scene.state).await, Some(JobEnd::Done));
        let lines = jobs::results(scene, &added, Rows::All).await;
        assert!(lines[1].starts_with("2,,invalid,the address was erased,"), "{}", lines[1]);
    }

    async fn an_erasure_during_a_rescoring_leaves_nothing_behind(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2")]).await;
        for number in 1..=20 {
            scene.verify(wallet(number), "A", &format!("a:{number}"), 90).await;
            scene.score(scorer, wallet(number)).await;
        }
        scene.set_terms(scorer, "2", &[("A", "1.5")]).await;
        let state = &scene.state;
        let rescoring = engine::rescore(&state.db, scene.workspace, scorer, &*state.clock, |_| ());
        let erasing = async {
            let mut receipts = Vec::new();
            for number in [20, 10, 1] {
                receipts.push(erase(scene, wallet(number)).await.unwrap());
            }
            receipts
        };
        let (rescored, receipts) = tokio::join!(rescoring, erasing);
        assert!((17..=20).contains(&rescored.unwrap()));
        assert!(receipts.iter().all(|receipt| count(receipt, "scores") == 1));
        for number in [20, 10, 1] {
            assert_eq!(occurrences(scene, wallet(number)).await, [""; 0], "{number}");
            let record = scene.score(scorer, wallet(number)).await;
            assert_eq!((&record["score"], &record["stamps"]), (&json!("0.00000"), &json!({})));
        }
        assert_eq!((scene.count("scores").await, scene.score(scorer, wallet(2)).await["score"].clone()), (17, json!("1.50000")));
    }

    async fn two_erasures_at_once_give_one_receipt(scene: &Scene) {
        let scorer = scene.scorer("2", &[("A", "2")]).await;
        scene.verify(wallet(1), "A", "a:1", 90).await;
        scene.score(scorer, wallet(1)).await;
        let (one, other) = tokio::join!(erase(scene, wallet(1)), erase(scene, wallet(1)));
        assert_eq!(one.iter().chain(&other).count(), 1, "{one:?} {other:?}");
        assert_eq!((scene.count("erasures").await, scene.count("stamps").await), (1, 0));
    }
}
