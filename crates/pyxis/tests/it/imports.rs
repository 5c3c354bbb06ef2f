//! `pyxis stamps import` (`docs/reference/behavior/scoring.md#credentials`).

mod files;
mod notes;

use std::fmt::Write;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::entropy::SeededEntropy;
use pyxis_testkit::engines;
use pyxis_testkit::issuer::{CredentialFields, Eip712Issuer};
use serde_json::{Value, json};

use crate::support::{App, Setup, until};

/// Wallet number `n`.
fn wallet(n: u32) -> EvmAddress {
    let mut bytes = [0; 20];
    bytes[16..].copy_from_slice(&n.to_be_bytes());
    EvmAddress(bytes)
}

struct Desk {
    app: App,
    issuer: Eip712Issuer,
}

impl Desk {
    /// An installation that trusts one issuer.
    async fn open(setup: Setup) -> Self {
        let app = App::bootstrapped(setup).await;
        let issuer = Eip712Issuer::new(&SeededEntropy::new(7));
        let workspace = app.bootstrap["workspace_id"].as_str().expect("an id");
        app.sql(&format!(
            "INSERT INTO issuers (workspace_id, did, name, created_at) VALUES ('{workspace}', '{}', 'test', 0)",
            issuer.did()
        ));
        Self { app, issuer }
    }

    /// A credential for wallet `n`, issued `days` ago.
    fn credential(&self, n: u32, provider: &str, days: u64) -> String {
        let day = Duration::from_hours(24);
        let issued_at = SystemClock.now().minus(day * u32::try_from(days).expect("few"));
        let nullifier = format!("v1:{provider}/{n}");
        self.issuer.issue(&CredentialFields {
            address: wallet(n),
            provider,
            nullifiers: &[&nullifier],
            issued_at,
            expires_at: issued_at.plus(day * 90),
        })
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.app.directory().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    fn stored(&self) -> Vec<String> {
        self.app.sql("SELECT CAST(count(*) AS TEXT) FROM stamps")
    }
}

/// Number of threads of a process that have this name.
fn threads_named(process: u32, name: &str) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("a process that runs");
    let names = threads.map(|thread| std::fs::read_to_string(thread.expect("a thread").path().join("comm")));
    names.filter(|found| found.as_ref().is_ok_and(|found| found.trim_end() == name)).count()
}

fn rejects(path: &str) -> Vec<(u64, String)> {
    let text = std::fs::read_to_string(path).expect("a rejects file");
    let line = |line: &str| -> (u64, String) {
        let reject: Value = serde_json::from_str(line).expect("JSON");
        (reject["line"].as_u64().expect("a number"), reject["code"].as_str().expect("a code").to_owned())
    };
    text.lines().map(line).collect()
}

engines! {
    async fn an_import_stores_what_is_good_says_what_is_not_and_changes_nothing_when_repeated(setup: Setup) {
        let desk = Desk::open(setup).await;
        let stranger = Eip712Issuer::new(&SeededEntropy::new(8));
        let mut text = String::new();
        // More than one block.
        for n in 0..600 {
            writeln!(text, "{}", desk.credential(n, "Google", 1)).expect("text");
            writeln!(text, "{}", desk.credential(n, "Discord", 1)).expect("text");
        }
        let foreign = stranger.issue(&CredentialFields {
            address: wallet(1),
            provider: "Lens",
            nullifiers: &["v1:x"],
            issued_at: SystemClock.now(),
            expires_at: SystemClock.now().plus(Duration::from_hours(1)),
        });
        let long = "x".repeat(200_000);
        let old = desk.credential(5, "Google", 3);
        let first = text.lines().next().expect("a line").to_owned();
        write!(text, "\nnot json\n{foreign}\n{long}\n{old}\n{first}").expect("text");
        let file = desk.file("stamps.jsonl", &text);
        let name = file.to_str().expect("text");

        let ran = desk.app.cli(&["stamps", "import", name, "--json"]).await.expect(1);
        let path = format!("{name}.rejects.jsonl");
        assert_eq!(
            ran.json(),
            json!({
                "lines": 1206, "accepted": 1200, "replaced": 0, "unchanged": 1, "rejected": 4, "rejects": path
            })
        );
        let expected = [(1202, "malformed_json"), (1203, "unknown_issuer"), (1204, "too_large"), (1205, "superseded")];
        assert_eq!(rejects(&path), expected.map(|(line, code)| (line, code.to_owned())));
        assert_eq!(desk.stored(), ["1200"]);

        let good = desk.file("good.jsonl", &text.lines().take(1200).collect::<Vec<_>>().join("\n"));
        let again = desk.app.cli(&["stamps", "import", good.to_str().expect("text"), "--json"]).await.expect(3);
        assert_eq!((&again.json()["unchanged"], &again.json()["rejects"]), (&json!(1200), &Value::Null));
        assert_eq!(desk.stored(), ["1200"]);

        let newer = desk.file("newer.jsonl", &desk.credential(5, "Google", 0));
        let renewed = desk.app.cli_json(&["stamps", "import", newer.to_str().expect("text")]).await;
        assert_eq!(renewed["replaced"], 1);
        assert_eq!(desk.stored(), ["1200"]);
    }

    async fn an_import_that_is_killed_stores_every_line_once_when_it_is_run_again(setup: Setup) {
        const LINES: u32 = 2000;
        let desk = Desk::open(setup).await;
        // Long lines fill the first block, so that most of the work is still to do when it is stored.
        let long = "x".repeat(70_000);
        let is_good = |n: u32| if n < 100 { n.is_multiple_of(4) } else { !n.is_multiple_of(50) };
        let line = |n| if is_good(n) { desk.credential(n, "Google", 1) } else { long.clone() };
        let lines: Vec<String> = (0..LINES).map(line).collect();
        let file = desk.file("stamps.jsonl", &lines.join("\n"));
        let name = file.to_str().expect("text");
        let note = PathBuf::from(format!("{name}.import.json"));
        let good = (0..LINES).filter(|n| is_good(*n)).count();

        let mut importing = desk.app.command(&["stamps", "import", name, "--threads", "3"]);
        let mut importing = importing.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process");
        until("the first block to be stored", async || note.exists().then_some(())).await;
        importing.kill().expect("a process that runs");
        importing.wait().expect("its end");
        let left: Value = serde_json::from_slice(&std::fs::read(&note).expect("a note")).expect("JSON");
        let (read, stored) = (left["progress"]["lines"].as_u64(), left["progress"]["accepted"].as_u64());
        assert!(read.is_some_and(|lines| lines < u64::from(LINES)) && stored > Some(0), "{left}");

        let ran = desk.app.cli(&["stamps", "import", name, "--threads", "2", "--json"]).await.expect(1);
        assert!(ran.stderr.contains("resuming an interrupted import"), "{}", ran.stderr);
        let done = ran.json();
        assert_eq!((&done["lines"], &done["rejected"]), (&json!(LINES), &json!(LINES as usize - good)));
        // The last block before the end may have been stored without a checkpoint.
        let stored = ["accepted", "unchanged"].map(|what| done[what].as_u64().expect("a number"));
        assert_eq!(stored.iter().sum::<u64>(), good as u64);
        assert_eq!(desk.stored(), [good.to_string()]);
        let bad = (0..LINES).filter(|n| !is_good(*n)).map(|n| (u64::from(n) + 1, "too_large".to_owned()));
        assert_eq!(rejects(&format!("{name}.rejects.jsonl")), bad.collect::<Vec<_>>());
        assert!(!note.exists());
    }

    async fn as_many_threads_check_signatures_as_an_import_is_told(setup: Setup) {
        let desk = Desk::open(setup).await;
        for threads in [1, 4] {
            let rejects = desk.file(&format!("rejects-{threads}.jsonl"), "");
            let (path, count) = (rejects.to_str().expect("text"), threads.to_string());
            let mut importing =
                desk.app.command(&["stamps", "import", "-", "--rejects", path, "--threads", &count]);
            let importing = importing.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut importing = importing.spawn().expect("a process");
            let mut input = importing.stdin.take().expect("a pipe");
            input.write_all("not json\n".repeat(2_000).as_bytes()).expect("it reads");
            // By then all of them have started, and they wait for the rest of the input.
            until("the first lines to be rejected", async || {
                std::fs::read(&rejects).is_ok_and(|text| !text.is_empty()).then_some(())
            })
            .await;
            // A thread sets its name some time after its start.
            let named = || threads_named(importing.id(), "stamps-check");
            until("each thread to have its name", async || (named() >= threads).then_some(())).await;
            assert_eq!(named(), threads);
            drop(input);
            assert_eq!(importing.wait().expect("its end").code(), Some(1));
        }
        for wrong in ["0", "257", "99999999999999999999", "many"] {
            let refused = desk.app.cli(&["stamps", "import", "-", "--threads", wrong]).await.expect(2);
            let named = format!("invalid value '{wrong}' for '--threads <COUNT>'");
            assert!(refused.stderr.contains(&named), "{}", refused.stderr);
        }
        let refused = desk.app.cli(&["stamps", "import", "-", "--threads", "0"]).await.expect(2);
        assert!(refused.stderr.contains("0 is not in 1..=256"), "{}", refused.stderr);
    }

    async fn an_imported_stamp_counts_at_once(setup: Setup) {
        let mut desk = Desk::open(setup).await;
        desk.app.serve();
        let key = desk.app.bootstrap["api_key"].as_str().expect("a key").to_owned();
        let path = format!("/v2/stamps/1/score/{}", wallet(9));
        let score = async |desk: &Desk| {
            let answer = desk.app.anonymous().get(&path).header("x-api-key", &key).send().await.expect(200).json();
            answer["score"].as_str().expect("a score").to_owned()
        };
        assert_eq!(score(&desk).await, "0.00000");
        let google = desk.file("google.jsonl", &desk.credential(9, "Google", 1));
        desk.app.cli_json(&["stamps", "import", google.to_str().expect("text")]).await;
        assert_eq!(score(&desk).await, "0.52500");
        // Known by now: the import updates the score itself.
        let discord = desk.file("discord.jsonl", &desk.credential(9, "Discord", 1));
        desk.app.cli_json(&["stamps", "import", discord.to_str().expect("text")]).await;
        assert_eq!(score(&desk).await, "1.04100");
    }
}
