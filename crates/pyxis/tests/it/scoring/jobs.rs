//! Score jobs as managers and commands see them: upload, progress, results, failures, and a crash.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Received, Release, Reply, Upstream};
use serde_json::{Value, json};

use super::installation::{ScoringSite, address};
use super::population::import_group;
use crate::support::{Setup, until};

/// Columns of a result.
const COLUMNS: &str = "line,address,status,error,score,threshold,passing,computed_at,expires_at,score_error,stamps,\
     model_aggregate,model_ethereum_activity,model_nft,model_arbitrum,model_base,model_optimism,model_polygon,\
     model_zksync,cluster,cluster_users,cluster_median_score,cluster_evidence";

/// Behavior of an indexer for every address but the first.
enum Mood {
    Answers,
    Refuses,
    /// Holds its responses back until it has another mood.
    Silent(Vec<Release>),
}

/// An indexer without transfers.
struct MoodyIndexer {
    upstream: Upstream,
    mood: Arc<Mutex<Mood>>,
}

impl MoodyIndexer {
    async fn start(mood: Mood) -> Self {
        let (upstream, mood) = (Upstream::http().await, Arc::new(Mutex::new(mood)));
        let shared = Arc::clone(&mood);
        upstream.reply_with(move |request| {
            answer(&mut shared.lock().unwrap_or_else(PoisonError::into_inner), request)
        });
        Self { upstream, mood }
    }

    fn turns(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn setting(&self) -> String {
        format!("base={}", self.upstream.url("/api"))
    }

    /// Addresses of the requests after the first `count`.
    fn asked_after(&self, count: usize) -> BTreeSet<String> {
        let requests = self.upstream.requests();
        let of = |request: &Received| {
            let rest = request.target.split("address=").nth(1).unwrap();
            rest.split('&').next().unwrap().to_owned()
        };
        requests[count..].iter().map(of).collect()
    }
}

fn answer(mood: &mut Mood, request: &Received) -> Reply {
    let nothing = Reply::json(r#"{"status":"0","message":"No transactions found","result":[]}"#);
    if request.target.contains(&format!("address={}", address(1))) {
        return nothing;
    }
    match mood {
        Mood::Answers => nothing,
        Mood::Refuses => Reply::new(400),
        Mood::Silent(held) => {
            let (reply, release) = nothing.hold();
            held.push(release);
            reply
        }
    }
}

/// Uploads a file as a job; returns its id.
async fn upload(site: &ScoringSite, body: impl Into<Bytes>) -> String {
    let path = format!("/admin/scorers/{}/jobs?name=list", site.scorer());
    let job = site.owner.call("POST", &path).body(body).send().await.expect(201).json();
    assert_eq!(job["name"], "list");
    assert_begun(&job);
    job["id"].as_str().unwrap().to_owned()
}

/// A job that was just queued. The server may have begun it before it answered.
fn assert_begun(job: &Value) {
    assert!(["queued", "running", "done"].iter().any(|state| job["state"] == *state), "{job}");
}

/// Waits for a state of a job.
async fn until_job(site: &ScoringSite, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/admin/score-jobs/{id}");
    until("the progress of the job", async || Some(site.get(&path).await).filter(&wanted)).await
}

async fn done(site: &ScoringSite, id: &str) -> Value {
    until_job(site, id, |job| job["state"] == "done").await
}

/// Waits until the first thousand rows have results and the others wait for the indexer.
async fn halfway(site: &ScoringSite, id: &str) {
    let half = until_job(site, id, |job| job["scored"] == 1000).await;
    assert_eq!((&half["state"], &half["failed"]), (&json!("running"), &json!(0)));
}

async fn results(site: &ScoringSite, id: &str, query: &str) -> Vec<String> {
    let path = format!("/admin/score-jobs/{id}/result{query}");
    let text = site.owner.get(&path).send().await.expect(200).text();
    text.lines().map(str::to_owned).collect()
}

fn cell(line: &str, place: usize) -> &str {
    line.split(',').nth(place).unwrap()
}

/// A thousand rows of the first address, and one of each other.
fn long_list(others: [u8; 3]) -> String {
    let first = format!("{}\n", address(1)).repeat(1000);
    first + &others.map(|number| format!("{}\n", address(number))).concat()
}

/// Checks that rows 1 to 1003 are there in order, each once and scored.
fn assert_whole(lines: &[String]) {
    let numbers: Vec<&str> = lines[1..].iter().map(|line| cell(line, 0)).collect();
    assert_eq!(numbers, (1..=1003).map(|number| number.to_string()).collect::<Vec<_>>());
    assert!(lines[1..].iter().all(|line| cell(line, 2) == "scored"));
}

/// Addresses and scores of a Parquet result.
fn rows(bytes: impl Into<Bytes>) -> Vec<(String, Option<f64>)> {
    let file = SerializedFileReader::new(bytes.into()).unwrap();
    let columns = file.metadata().file_metadata().schema_descr().columns();
    let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
    assert_eq!(names.join(","), COLUMNS);
    let rows = file.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| (row.get_string(1).unwrap().clone(), row.get_double(4).ok())).collect()
}

engines! {
    async fn a_job_goes_from_its_upload_to_results_that_are_the_input_of_another_job(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let (app, scorer) = (&site.app, site.scorer());
        import_group(&site).await;
        app.cli(&["scorer", "set-weights", &scorer, "Member=30"]).await.expect(0);
        site.stamp(1, "Member", "member:1").await;
        let id = upload(&site, format!("name,address\nann,{}\nbob,nobody\ncarl,{}\n", address(1), address(13))).await;
        let job = done(&site, &id).await;
        assert_eq!((&job["rows"], &job["scored"], &job["failed"], &job["retryable"]), (&json!(3), &json!(2), &json!(1), &json!(0)));
        assert_eq!((&job["created_by"], &job["problem"]), (&json!("owner@localhost"), &Value::Null));
        assert!(job["started_at"].is_string() && job["finished_at"].is_string(), "{job}");

        let lines = results(&site, &id, "").await;
        assert_eq!((lines.len(), &*lines[0]), (4, COLUMNS));
        assert!(lines[1].starts_with(&format!("2,{},scored,,30.00000,20.00000,true,", address(1))), "{}", lines[1]);
        let (stamps, models) = lines[1].rsplit_once("}\",").unwrap();
        assert!(stamps.contains("\"\"Member\"\":{\"\"score\"\":\"\"30.00000\"\""), "{stamps}");
        let served = site.api.get(&format!("/v2/models/score/{}", address(1))).send().await.expect(200).json();
        let served = served["details"]["models"]["aggregate"]["score"].as_f64().unwrap();
        assert_eq!(cell(models, 0).parse::<f64>().unwrap().to_bits(), served.to_bits(), "{models}");
        assert_eq!((cell(models, 8), cell(models, 9)), (&*address(1).to_string(), "12"), "{models}");
        assert!(cell(models, 11).starts_with(&format!("12 members sent to {};", address(99))), "{models}");
        assert!(lines[2].starts_with("3,nobody,invalid,not an address"), "{}", lines[2]);
        assert!(lines[3].starts_with(&format!("4,{},scored,,0.00000,20.00000,false,", address(13))), "{}", lines[3]);
        assert_eq!(results(&site, &id, "?rows=failed").await[1..], lines[2..3]);

        let parquet = site.owner.get(&format!("/admin/score-jobs/{id}/result?format=parquet")).send().await.expect(200);
        assert_eq!(parquet.header("content-type"), Some("application/vnd.apache.parquet"));
        let expected = [(address(1).to_string(), Some(30.0)), ("nobody".to_owned(), None), (address(13).to_string(), Some(0.0))];
        assert_eq!(rows(parquet.body.clone()), expected);
        let second = upload(&site, parquet.body.clone()).await;
        done(&site, &second).await;
        let again = results(&site, &second, "").await;
        for (before, after) in lines[1..].iter().zip(&again[1..]) {
            assert_eq!((cell(after, 1), cell(after, 2)), (cell(before, 1), cell(before, 2)));
        }
        assert_eq!((again.len(), cell(&again[1], 0)), (4, "1"));

        let path = |name: &str| app.directory().join(name).to_str().unwrap().to_owned();
        let (input, out, failed) = (path("input.parquet"), path("out.parquet"), path("failed.csv"));
        std::fs::write(&input, &parquet.body).unwrap();
        let create = ["score-job", "create", &input, "--scorer", &scorer, "--out", &out];
        assert_eq!(app.cli_json(&create).await["file"], json!(out));
        assert_eq!(rows(std::fs::read(&out).unwrap()), expected);
        app.cli(&create).await.expect(1);
        let listed = app.cli_json(&["score-job", "list"]).await;
        let names: Vec<&Value> = listed.as_array().unwrap().iter().map(|job| &job["name"]).collect();
        assert_eq!(names, ["input.parquet", "list", "list"]);
        let page = site.get("/admin/score-jobs?limit=2").await;
        assert_eq!(page["score_jobs"][0]["id"], listed[0]["id"]);
        let next = format!("/admin/score-jobs?limit=2&before={}", page["next_before"].as_str().unwrap());
        assert_eq!(site.get(&next).await["score_jobs"], json!([job]));

        let shown = app.cli_json(&["score-job", "show", &id]).await;
        assert_eq!((&shown["state"], &shown["scored"]), (&json!("done"), &json!(2)));
        app.cli(&["score-job", "download", &id, "--failed", "--out", &failed]).await.expect(0);
        let written = std::fs::read_to_string(&failed).unwrap();
        assert_eq!(written.lines().collect::<Vec<_>>(), [&*lines[0], &*lines[2]]);
        app.cli(&["score-job", "cancel", &id]).await.expect(3);
        app.cli(&["score-job", "retry", &id]).await.expect(1);
        app.cli(&["score-job", "remove", &second, "--yes"]).await.expect(0);
        app.cli(&["score-job", "show", &second]).await.expect(1);
        let of_job = format!("/admin/score-jobs/{id}");
        for word in ["cancel", "retry"] {
            site.post(&format!("{of_job}/{word}"), &json!({})).await.problem(409, "conflict");
        }
        let stranger = site.stranger().await.client;
        for path in [of_job.clone(), format!("{of_job}/result")] {
            stranger.get(&path).send().await.problem(404, "not_found");
            app.anonymous().get(&path).send().await.problem(401, "unauthenticated");
        }
        stranger.delete(&of_job).send().await.problem(404, "not_found");
        let of_scorer = format!("/admin/scorers/{scorer}/jobs");
        stranger.call("POST", &of_scorer).body("0x1").send().await.problem(404, "not_found");
        for body in ["", "address\n", "PAR1"] {
            let problem = site.owner.call("POST", &of_scorer).body(body).send().await.problem(422, "invalid_field");
            assert_eq!(problem["field"], "file");
        }
        for query in ["?format=xml", "?rows=some"] {
            site.owner.get(&format!("{of_job}/result{query}")).send().await.problem(422, "invalid_field");
        }
        site.owner.delete(&of_job).send().await.expect(204);
        site.owner.get(&of_job).send().await.problem(404, "not_found");
    }

    async fn failed_rows_run_again_alone_and_a_canceled_job_keeps_its_results(setup: Setup) {
        let indexer = MoodyIndexer::start(Mood::Refuses).await;
        let setup = setup.env("PX_INDEXERS", &indexer.setting()).env("PX_INDEXER_PER_SECOND", "100000");
        let site = ScoringSite::with(setup).await;
        let id = upload(&site, format!("{}\n{}\nnobody\n{}\n", address(1), address(2), address(3))).await;
        let job = done(&site, &id).await;
        assert_eq!((&job["scored"], &job["failed"], &job["retryable"]), (&json!(1), &json!(3), &json!(2)));
        let failed = results(&site, &id, "?rows=failed").await;
        let status: Vec<&str> = failed[1..].iter().map(|line| cell(line, 2)).collect();
        assert_eq!(status, ["failed", "invalid", "failed"]);
        assert_eq!(cell(&failed[1], 3), "the indexer of base does not respond; run it again later");
        let before = results(&site, &id, "").await;
        let asked = indexer.upstream.requests().len();
        indexer.turns(Mood::Answers);
        let queued = site.app.cli_json(&["score-job", "retry", &id]).await;
        assert_eq!(queued["failed"], 1);
        assert_begun(&queued);
        let job = done(&site, &id).await;
        assert_eq!((&job["scored"], &job["failed"], &job["retryable"]), (&json!(3), &json!(1), &json!(0)));
        assert_eq!(indexer.asked_after(asked), BTreeSet::from([2, 3].map(|number| address(number).to_string())));
        let after = results(&site, &id, "").await;
        assert_eq!((after.len(), &after[1], &after[3]), (5, &before[1], &before[3]));

        indexer.turns(Mood::Silent(Vec::new()));
        let id = upload(&site, long_list([4, 5, 6])).await;
        halfway(&site, &id).await;
        let path = format!("/admin/score-jobs/{id}");
        site.owner.delete(&path).send().await.problem(409, "conflict");
        let canceled = site.post(&format!("{path}/cancel"), &json!({})).await.expect(200).json();
        assert_eq!((&canceled["state"], &canceled["scored"]), (&json!("canceled"), &json!(1000)));
        assert_eq!(results(&site, &id, "").await.len(), 1001);
        indexer.turns(Mood::Answers);
        let queued = site.post(&format!("{path}/retry"), &json!({})).await.expect(200).json();
        assert!(queued["scored"].as_u64() >= Some(1000), "{queued}");
        assert_begun(&queued);
        assert_eq!(done(&site, &id).await["scored"], 1003);
        assert_whole(&results(&site, &id, "").await);

        indexer.turns(Mood::Silent(Vec::new()));
        let id = upload(&site, long_list([7, 8, 9])).await;
        halfway(&site, &id).await;
        assert_eq!(site.app.cli_json(&["score-job", "cancel", &id]).await["state"], "canceled");
        site.app.cli(&["score-job", "cancel", &id]).await.expect(3);
        site.owner.delete(&format!("/admin/score-jobs/{id}")).send().await.expect(204);
    }

    async fn a_killed_server_finishes_its_job_after_a_start_with_every_row_once(setup: Setup) {
        let indexer = MoodyIndexer::start(Mood::Silent(Vec::new())).await;
        let setup = setup.env("PX_INDEXERS", &indexer.setting()).env("PX_INDEXER_PER_SECOND", "100000");
        let mut site = ScoringSite::with(setup).await;
        let id = upload(&site, long_list([2, 3, 4])).await;
        halfway(&site, &id).await;
        site.app.kill().await;
        indexer.turns(Mood::Answers);
        assert_eq!(site.app.sql("SELECT state FROM score_jobs"), ["running"]);
        // The claim of the killed process ends.
        site.app.sql("UPDATE score_jobs SET held_until_at = 1");
        let asked = indexer.upstream.requests().len();
        site.app.serve();
        let job = done(&site, &id).await;
        assert_eq!((&job["rows"], &job["scored"], &job["failed"]), (&json!(1003), &json!(1003), &json!(0)));
        assert_whole(&results(&site, &id, "").await);
        // The first thousand rows did not run again.
        assert_eq!(indexer.asked_after(asked), BTreeSet::from([2, 3, 4].map(|number| address(number).to_string())));
    }
}
