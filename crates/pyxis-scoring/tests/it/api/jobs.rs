//! Score jobs, populations and clusters (`docs/reference/behavior/score-jobs.md`).

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;
use pyxis_scoring::jobs::{self, JobEnd};
use pyxis_scoring::models::{ActivitySource, FeaturesFuture, SourceError};
use pyxis_scoring::service::clusters::{self, ClusterFormat};
use pyxis_scoring::service::population::{self, Population};
use pyxis_scoring::service::score_jobs::{self, CreateError, Rows, ScoreJobRow, ScoreJobState, UploadError};
use pyxis_scoring::service::{Error, Result};
use pyxis_scoring::{Config, JobConfig, State, TableFormat};
use pyxis_store::score_jobs as stored;
use pyxis_testkit::engines;
use tokio::sync::watch;

use super::models::imported;
use super::scene::{Scene, day, wallet};

fn actor(scene: &Scene) -> Actor {
    Actor::cli(scene.workspace)
}

fn upload(text: &str) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
    // In small pieces, as they arrive.
    let pieces: Vec<_> = text.as_bytes().chunks(7).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    stream::iter(pieces)
}

pub(super) async fn add(scene: &Scene, scorer: ScorerId, text: &str) -> Result<ScoreJobRow, CreateError> {
    score_jobs::create(&scene.state, &actor(scene), scorer, "list", upload(text)).await
}

pub(super) async fn run(state: &State) -> Option<JobEnd> {
    let (_running, mut stop) = watch::channel(false);
    jobs::run_one(state, None, &mut stop).await.unwrap()
}

pub(super) async fn find(scene: &Scene, job: &ScoreJobRow) -> ScoreJobRow {
    score_jobs::find(&scene.state.store, scene.workspace, job.id).await.unwrap()
}

async fn whole(pieces: impl Stream<Item = Result<Bytes>>) -> Vec<u8> {
    pieces.map_ok(|piece| piece.to_vec()).try_concat().await.unwrap()
}

async fn lines(pieces: impl Stream<Item = Result<Bytes>>) -> Vec<String> {
    String::from_utf8(whole(pieces).await).unwrap().lines().map(str::to_owned).collect()
}

pub(super) async fn results(scene: &Scene, job: &ScoreJobRow, rows: Rows) -> Vec<String> {
    lines(
        score_jobs::download(
            &scene.state.store,
            &scene.state.audited,
            &actor(scene),
            job.id,
            rows,
            TableFormat::Csv,
        )
        .await
        .unwrap(),
    )
    .await
}

/// A source that fails while it is told to.
#[derive(Default)]
struct Flaky {
    fails: AtomicBool,
    asked: Mutex<Vec<EvmAddress>>,
}

impl ActivitySource for Flaky {
    fn fetch_features(&self, address: EvmAddress, _: UnixMillis) -> FeaturesFuture<'_> {
        self.asked.lock().unwrap().push(address);
        let fails = self.fails.load(Ordering::Relaxed) && address != wallet(1);
        Box::pin(async move {
            if fails {
                let why = "damaged".to_owned();
                return Err(SourceError::Damaged(pyxis_models::Error::Unreadable { what: "activity", why }));
            }
            Ok(None)
        })
    }
}

engines! {
    async fn every_row_of_a_job_has_its_score_or_its_reason(scene: Scene) {
        let scorer = scene.scorer("1", &[("A", "2")]).await;
        imported(&scene).await;
        scene.verify(wallet(1), "A", "a:1", 9).await;
        let upper = wallet(2).to_string().to_uppercase().replacen("0X", "0x", 1);
        let text = format!("name,address\nann,{}\nbob,vitalik.eth\ncarl,{upper}\nann again,{}\n,\n", wallet(1), wallet(1));
        let job = add(&scene, scorer, &text).await.unwrap();
        assert_eq!((job.state, job.total, &*job.name), (ScoreJobState::Queued, 4, "list"));
        assert_eq!(run(&scene.state).await, Some(JobEnd::Done));
        assert_eq!(run(&scene.state).await, None);
        let job = find(&scene, &job).await;
        assert_eq!((job.state, job.scored, job.failed, job.retryable), (ScoreJobState::Done, 3, 1, 0));
        let lines = results(&scene, &job, Rows::All).await;
        let heading: Vec<&str> = lines[0].split(',').collect();
        assert_eq!(&heading[..7], ["line", "address", "status", "error", "score", "threshold", "passing"]);
        assert!(heading.contains(&"model_aggregate") && heading.contains(&"cluster_evidence"));
        assert!(lines[1].starts_with(&format!("2,{},scored,,2.00000,1.00000,true,", wallet(1))), "{}", lines[1]);
        assert!(lines[1].contains("\"\"A\"\""), "{}", lines[1]);
        assert!(lines[2].starts_with("3,vitalik.eth,invalid,"), "{}", lines[2]);
        assert!(lines[3].starts_with(&format!("4,{},scored,,0.00000,1.00000,false,", wallet(2))), "{}", lines[3]);
        assert_eq!(lines[4].split_once(',').unwrap().1, lines[1].split_once(',').unwrap().1);
        assert_eq!(lines.len(), 5);
        let failed = results(&scene, &job, Rows::Failed).await;
        assert_eq!(failed[1..], lines[2..3]);
        let again = score_jobs::retry(&scene.state, &actor(&scene), job.id).await;
        assert!(matches!(again, Err(Error::Conflict(why)) if why.contains("correct the addresses")));
        let model = scene.state.models.current().await.unwrap();
        assert!(model.fingerprint.len() == 64);
        let manager = actor(&scene);
        let pieces = score_jobs::download(&scene.state.store, &scene.state.audited, &manager, job.id, Rows::All, TableFormat::Parquet);
        let parquet = whole(pieces.await.unwrap()).await;
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    }

    async fn a_file_without_any_address_is_refused_and_a_bad_first_row_is_a_row(scene: Scene) {
        let scorer = scene.scorer("1", &[]).await;
        let wallet = wallet(1);
        for (text, said) in [
            (format!("ann,{wallet}\n"), "no row has an address in column 1, with commas between columns"),
            (format!("handle,who\nann,{wallet}\n"), "column 1 (handle)"),
            (format!("Address;handle\n{wallet};ann\n"), "separated by semicolons"),
            ("\u{1}x\u{2}\n\u{3}\n".to_owned(), "no row has an address"),
        ] {
            let refused = add(&scene, scorer, &text).await.unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
        }
        assert_eq!(score_jobs::list(&scene.state.store, scene.workspace, None, 10).await.unwrap().len(), 0);
        let job = add(&scene, scorer, &format!("vitalik.eth\n{wallet}\n")).await.unwrap();
        run(&scene.state).await;
        let lines = results(&scene, &job, Rows::All).await;
        assert!(lines[1].starts_with("1,vitalik.eth,invalid,"), "{}", lines[1]);
        assert_eq!(lines.len(), 3);
    }

    async fn a_node_that_dies_loses_nothing_and_no_row_is_there_twice(scene: Scene) {
        let scorer = scene.scorer("1", &[("A", "2")]).await;
        let text = (1..=2500).map(|number| wallet(number).to_string()).collect::<Vec<_>>().join("\n");
        let job = add(&scene, scorer, &text).await.unwrap();
        // A node that claims the job and is never heard of again.
        let dead = pyxis_core::id::NodeId::new(scene.state.now(), &*scene.state.entropy);
        assert_eq!(stored::claim(&scene.state.store, job.id, dead, scene.state.now()).await.unwrap(), Some(1));
        assert_eq!(run(&scene.state).await, None);
        scene.clock.set(scene.state.now().plus(Duration::from_secs(31)));
        let other = scene.node(Config::default());
        assert_eq!(run(&other.state).await, Some(JobEnd::Done));
        let lines = results(&scene, &job, Rows::All).await;
        let addresses: HashSet<&str> = lines[1..].iter().map(|line| line.split(',').nth(1).unwrap()).collect();
        assert_eq!((lines.len(), addresses.len()), (2501, 2500));
        assert!(lines[2500].starts_with(&format!("2500,{},", wallet(2500))));
    }

    async fn a_stopped_node_returns_its_job_and_a_canceled_job_stays_canceled(scene: Scene) {
        let scorer = scene.scorer("1", &[]).await;
        let job = add(&scene, scorer, &wallet(1).to_string()).await.unwrap();
        let (_running, mut stop) = watch::channel(true);
        let ended = jobs::run_one(&scene.state, None, &mut stop).await.unwrap();
        assert!(matches!(ended, Some(JobEnd::Lost | JobEnd::Done)), "{ended:?}");
        let second = add(&scene, scorer, &wallet(2).to_string()).await.unwrap();
        score_jobs::cancel(&scene.state, &actor(&scene), second.id).await.unwrap();
        while run(&scene.state).await.is_some() {}
        assert_eq!(find(&scene, &job).await.state, ScoreJobState::Done);
        assert_eq!(find(&scene, &second).await.state, ScoreJobState::Canceled);
        assert!(score_jobs::cancel(&scene.state, &actor(&scene), job.id).await.is_err());
        score_jobs::remove(&scene.state.store, &scene.state.audited, &actor(&scene), second.id).await.unwrap();
        let gone = score_jobs::find(&scene.state.store, scene.workspace, second.id).await;
        assert!(matches!(gone, Err(Error::NotFound(_))));
    }

    async fn failed_rows_run_again_alone(scene: Scene) {
        let scorer = scene.scorer("1", &[]).await;
        let source = Arc::new(Flaky::default());
        let node = scene.node_asking(source.clone());
        source.fails.store(true, Ordering::Relaxed);
        let text = format!("{}\n{}\n0x12\n{}\n", wallet(1), wallet(2), wallet(3));
        let job = add(&scene, scorer, &text).await.unwrap();
        assert_eq!(run(&node.state).await, Some(JobEnd::Done));
        let first = find(&scene, &job).await;
        assert_eq!((first.scored, first.failed, first.retryable), (1, 3, 2));
        assert_eq!(results(&scene, &job, Rows::Failed).await.len(), 4);
        source.fails.store(false, Ordering::Relaxed);
        source.asked.lock().unwrap().clear();
        score_jobs::retry(&scene.state, &actor(&scene), job.id).await.unwrap();
        assert_eq!(run(&node.state).await, Some(JobEnd::Done));
        let mut asked = source.asked.lock().unwrap().clone();
        asked.sort_unstable();
        assert_eq!(asked, [wallet(2), wallet(3)]);
        let second = find(&scene, &job).await;
        assert_eq!((second.scored, second.failed, second.retryable), (3, 1, 0));
        let lines = results(&scene, &job, Rows::All).await;
        let status: Vec<&str> = lines[1..].iter().map(|line| line.split(',').nth(2).unwrap()).collect();
        assert_eq!(status, ["scored", "scored", "invalid", "scored"]);
    }

    async fn an_upload_that_is_too_long_empty_or_no_list_leaves_nothing(scene: Scene) {
        let scorer = scene.scorer("1", &[]).await;
        let limits = JobConfig { upload_max: 200, rows_max: 3, kept_max: 1, ..JobConfig::default() };
        let node = scene.node(Config { jobs: limits, ..Config::default() });
        let add = async |text: &str| {
            score_jobs::create(&node.state, &actor(&scene), scorer, "list", upload(text)).await
        };
        let refused = async |text: &str| match add(text).await {
            Err(CreateError::Upload(error)) => error,
            other => panic!("{other:?}"),
        };
        let address = wallet(1).to_string();
        assert!(matches!(refused(&format!("{address}\n").repeat(9)).await, UploadError::TooLarge(200)));
        assert!(matches!(refused(&format!("{address}\n").repeat(4)).await, UploadError::TooManyRows(3)));
        assert!(matches!(refused("").await, UploadError::Empty));
        assert!(matches!(refused("address\n\n").await, UploadError::Empty));
        assert!(matches!(refused("PAR1 and nothing more").await, UploadError::Unreadable(_)));
        let broken = stream::iter([Ok(Bytes::from_static(b"0x")), Err("gone")]).boxed();
        let broken = score_jobs::create(&node.state, &actor(&scene), scorer, "list", broken).await;
        assert!(matches!(broken, Err(CreateError::Upload(UploadError::Broken(_)))));
        let none = score_jobs::list(&scene.state.store, scene.workspace, None, 9).await.unwrap();
        assert_eq!(none.len(), 0);
        let unknown = score_jobs::create(&node.state, &actor(&scene), "99".parse().unwrap(), "n", upload("")).await;
        assert!(matches!(unknown, Err(CreateError::Refused(Error::NotFound(_)))));
        add(&address).await.unwrap();
        assert!(matches!(add(&address).await, Err(CreateError::Refused(Error::Conflict(_)))));
    }

    async fn a_population_is_listed_counted_and_exported_now_and_as_of_a_moment(scene: Scene) {
        let scorer = scene.scorer("1", &[("A", "2"), ("B", "0.5")]).await;
        scene.verify(wallet(1), "A", "a:1", 30).await;
        scene.verify(wallet(2), "B", "b:2", 30).await;
        let read = async |number| scene.get(&format!("/v2/stamps/{scorer}/score/{}", wallet(number))).await.json();
        read(1).await;
        read(2).await;
        scene.on_day(2);
        scene.verify(wallet(2), "A", "a:2", 30).await;
        read(2).await;
        let of = async |at| Population::load(&scene.state.store, scene.state.now(), &actor(&scene), scorer, at).await.unwrap();
        let now = population::summary(&of(None).await).await.unwrap();
        assert_eq!((now.addresses, now.passing, now.outdated), (2, 2, 0));
        let shares: Vec<_> = now.stamps.iter().map(|share| (&*share.name, share.addresses, share.passing)).collect();
        assert_eq!(shares, [("A", 2, 2), ("B", 1, 1)]);
        let days: Vec<_> = now.days.iter().map(|rate| (rate.day, rate.addresses, rate.passing)).collect();
        assert_eq!(days, [(start(0), 2, 1), (start(2), 2, 2)]);
        let then = population::summary(&of(Some(day(1))).await).await.unwrap();
        assert_eq!((then.addresses, then.passing, then.days.len()), (2, 1, 1));
        // The day of a moment ends at the moment.
        scene.clock.advance(Duration::from_hours(1));
        for (at, expected) in [
            (day(2), vec![(start(0), 2, 1)]),
            (UnixMillis(day(2).0 + 1), vec![(start(0), 2, 1), (start(2), 2, 2)]),
        ] {
            let then = population::summary(&of(Some(at)).await).await.unwrap();
            let days: Vec<_> = then.days.iter().map(|rate| (rate.day, rate.addresses, rate.passing)).collect();
            assert_eq!(days, expected);
            assert_eq!(then.passing, days[days.len() - 1].2);
        }
        let page = of(None).await.page(Some(wallet(1)), 9).await.unwrap();
        assert_eq!(page.iter().map(|line| line.address).collect::<Vec<_>>(), [wallet(2)]);
        let pieces = population::export(&scene.state.audited, &actor(&scene), of(None).await, TableFormat::Csv).await;
        let lines = Box::pin(lines(pieces.unwrap())).await;
        assert!(lines[2].starts_with(&format!("{},2.50000,1.00000,true,", wallet(2))), "{lines:?}");
        let future = Population::load(&scene.state.store, scene.state.now(), &actor(&scene), scorer, Some(day(9))).await;
        assert!(matches!(future, Err(Error::InvalidField { .. })));
    }

    async fn clusters_are_exported_with_members_transfers_and_evidence(scene: Scene) {
        let empty = lines(clusters::export(scene.state.store.clone(), ClusterFormat::Csv).unwrap()).await;
        assert_eq!(empty.len(), 1);
        let group = |id: u8| pyxis_models::clusters::Group {
            id: EvmAddress([id; 20]),
            size: 3,
            median_score: 2.5,
            shared_funder: Some(pyxis_models::clusters::SharedCounterparty { address: EvmAddress([9; 20]), members: 2, who: vec![0, 1] }),
            shared_sink: None,
            same_day: 2,
            transfers_within: 1,
            members: vec![pyxis_models::clusters::ClusterMember { address: EvmAddress([id; 20]), score: Some(2.5) }],
            links: Vec::new(),
        };
        let member = |number: u8| pyxis_models::clusters::ClusterMember { address: EvmAddress([number; 20]), score: None };
        let extent = pyxis_models::clusters::GroupExtent { members: vec![member(1), member(2), member(3)], links: vec![(0, 2)] };
        let new = |id: u8| pyxis_store::models::NewGroup {
            document: serde_json::to_string(&group(id)).unwrap(),
            members: extent.members_to_bytes(),
            links: extent.links_to_bytes(),
        };
        let mut tx = scene.state.store.begin().await.unwrap();
        pyxis_store::models::replace_groups(&mut tx, vec![new(1), new(4)]).await.unwrap();
        tx.commit().await.unwrap();
        // A group that an earlier release stored has its listed members only.
        scene.sql("UPDATE suspect_groups SET members = NULL WHERE position = 2").await;
        let csv = lines(clusters::export(scene.state.store.clone(), ClusterFormat::Csv).unwrap()).await;
        assert_eq!(csv.len(), 1 + 3 + 1);
        let first = format!("{0},{0},,3,2.5,{1},2,,,2,1", EvmAddress([1; 20]), EvmAddress([9; 20]));
        assert_eq!(csv[1], first);
        let graph = whole(clusters::export(scene.state.store.clone(), ClusterFormat::GraphMl).unwrap()).await;
        let graph = String::from_utf8(graph).unwrap();
        assert_eq!((graph.matches("<node ").count(), graph.matches("<edge ").count()), (4 + 2, 3 + 1));
        assert!(graph.contains("<edge source=\"g1.m0\" target=\"g1.m2\"><data key=\"kind\">transfer"));
        assert!(graph.trim_end().ends_with("</graphml>"));
        let scorer = scene.scorer("1", &[]).await;
        let job = add(&scene, scorer, &EvmAddress([3; 20]).to_string()).await.unwrap();
        run(&scene.state).await;
        let line = results(&scene, &job, Rows::All).await.remove(1);
        assert!(line.contains(&format!(",{},3,2.5,2 members received from", EvmAddress([1; 20]))), "{line}");
    }
}

/// The start of the calendar day of a day of the scene.
fn start(number: i64) -> UnixMillis {
    let day = day(number).0;
    UnixMillis(day - day.rem_euclid(86_400_000))
}
