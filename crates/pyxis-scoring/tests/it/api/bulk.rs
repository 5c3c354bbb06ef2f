//! Files of credentials (`docs/reference/behavior/scoring.md#credentials`): on threads, block by block, resumed where
//! it stopped.

use std::io::Cursor;

use pyxis_core::clock::UnixMillis;
use pyxis_scoring::import::{ImportProgress, Options, import};
use pyxis_testkit::engines;
use serde_json::Value;

use super::scene::{START, Scene, day, wallet};

/// Lines of the file: two blocks of 1024 and the rest.
const LINES: u64 = 2600;
/// Lines about one wallet: the newer credential, the older one, the newer one again.
const NEWER: u64 = 3;
const OLDER: u64 = 1500;
const AGAIN: u64 = 2210;
const BLANK: u64 = 2510;

/// True if a line is a credential of its own wallet. The first block has many, so with several threads the others are
/// checked before it.
fn is_good(line: u64) -> bool {
    line <= 96 || line.is_multiple_of(40)
}

/// The file, with wallets from `first` on.
fn file(scene: &Scene, first: u64) -> String {
    let shared = |from: i64| {
        scene.credential_from(wallet(first), "A", &format!("n:{first}"), UnixMillis(START.0 + from), day(9))
    };
    let line = |line: u64| match line {
        NEWER | AGAIN => shared(1),
        OLDER => shared(0),
        BLANK => String::new(),
        _ if is_good(line) => scene.credential(wallet(first + line), "A", &format!("n:{}", first + line), 9),
        _ => "not json".to_owned(),
    };
    (1..=LINES).map(|number| line(number) + "\n").collect()
}

/// Imports a file in runs that each end one block after a number of blocks. Returns the progress after each block, the
/// refused lines and the last result.
async fn run(
    scene: &Scene,
    text: &str,
    threads: usize,
    ends: &[usize],
) -> (Vec<u64>, Vec<Value>, ImportProgress) {
    let options = Options { workspace: scene.workspace, threads };
    let (mut told, mut rejects, mut done) = (Vec::new(), Vec::new(), ImportProgress::default());
    for end in ends {
        let rest = text[usize::try_from(done.bytes).unwrap()..].to_owned();
        let mut blocks = 0;
        let go_on = |progress: &ImportProgress| {
            told.push(progress.lines);
            blocks += 1;
            blocks < *end
        };
        let (db, clock) = (&scene.state.db, &*scene.clock);
        done = import(db, clock, options, Cursor::new(rest), &mut rejects, done, go_on).await.unwrap();
    }
    // A run that finds nothing left reports that, too.
    told.dedup();
    let rejects = String::from_utf8(rejects).unwrap();
    (told, rejects.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), done)
}

engines! {
    async fn a_file_is_stored_in_its_order_on_any_number_of_threads_and_in_any_number_of_runs(scene: &Scene) {
        scene.on_day(1);
        let good = (1..=LINES).filter(|line| is_good(*line)).count() as u64;
        let refused: Vec<u64> =
            (1..=LINES).filter(|line| !is_good(*line) && ![NEWER, AGAIN, BLANK].contains(line)).collect();
        let end = usize::MAX;
        let rounds = [(0, 1, &[end][..]), (1, 4, &[end]), (2, 3, &[1, end]), (3, 2, &[1, 1, end])];
        for (round, threads, ends) in rounds {
            let text = file(scene, round * 10_000);
            let (told, rejects, done) = run(scene, &text, threads, ends).await;
            assert_eq!(told, [1024, 2048, LINES], "{threads} threads");
            let numbers: Vec<u64> = rejects.iter().map(|reject| reject["line"].as_u64().unwrap()).collect();
            assert_eq!(numbers, refused, "{threads} threads");
            for reject in rejects {
                let code = if reject["line"] == OLDER { "superseded" } else { "malformed_json" };
                assert_eq!(reject["code"], code);
            }
            let expected = ImportProgress {
                lines: LINES,
                bytes: text.len() as u64,
                accepted: good,
                replaced: 0,
                unchanged: 1,
                rejected: refused.len() as u64,
                last: done.last,
            };
            assert!(done.last.is_some());
            assert_eq!(done, expected, "{threads} threads");
            assert_eq!(scene.count("stamps").await, (round + 1) * good);
        }
    }

    async fn a_claim_that_an_import_extends_tells_the_name_of_the_stamp_that_came(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await;
        scene.verify(wallet(1), "B", "n:1", 30).await;
        scene.score(scorer, wallet(1)).await; // from here on the scorer knows wallet 1
        assert_eq!(scene.sql("SELECT provider FROM claims").await, ["B"]);
        run(scene, &(scene.credential(wallet(1), "A", "n:1", 50) + "\n"), 1, &[usize::MAX]).await;
        assert_eq!(scene.sql("SELECT provider FROM claims").await, ["A"]);
    }
}
