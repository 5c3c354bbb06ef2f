//! Resuming an interrupted import, and the cases in which it starts over.

use std::path::PathBuf;

use pyxis_core::digest::sha256_hex;
use pyxis_core::hex;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::{Desk, rejects, wallet};
use crate::support::Setup;

/// The mark by which a checkpoint recognizes its file: a hash of the first and the last KiB of the part read.
fn checkpoint_hash(read: &str) -> String {
    let end = read.len().min(1024);
    sha256_hex(format!("{}{}", &read[..end], &read[read.len() - end..]).as_bytes())
}

impl Desk {
    /// The checkpoint of a run that was killed after it had read this much of a file of this name. Every line but the
    /// rejects was stored. The credential of wallet `last`, the last of them, is submitted.
    async fn left(&self, name: &str, read: &str, rejects: &str, last: u32) -> Value {
        let line = read.lines().last().expect("a line").to_owned();
        let before = self.file("before.jsonl", &line);
        self.app.cli(&["stamps", "import", before.to_str().expect("text")]).await;
        let shown = self.app.cli_json(&["stamps", "show", &wallet(last).to_string()]).await;
        let digest = shown["stamps"][0]["digest"].as_str().expect("a digest");
        let lines = read.lines().count();
        let rejected = rejects.lines().filter(|line| line.ends_with('}')).count();
        let directory = self.app.directory().canonicalize().expect("a directory");
        json!({
            "progress": {
                "lines": lines, "bytes": read.len(), "accepted": lines - rejected, "replaced": 0, "unchanged": 0,
                "rejected": rejected, "last": hex::decode(digest.trim_start_matches("0x")).expect("hex"),
            },
            "mark": checkpoint_hash(read),
            "workspace": self.app.bootstrap["workspace_id"],
            "rejects": directory.join(format!("{name}.rejects.jsonl")),
            "rejects_bytes": rejects.rfind('\n').map_or(0, |end| end + 1),
        })
    }

    fn credentials(&self, from: u32, to: u32) -> String {
        (from..to).map(|n| self.credential(n, "Google", 1) + "\n").collect()
    }
}

fn first_lines(text: &str, count: usize) -> &str {
    let bytes = text.lines().take(count).map(|line| line.len() + 1).sum();
    &text[..bytes]
}

engines! {
    async fn an_interrupted_import_goes_on_where_it_stopped(setup: Setup) {
        let desk = Desk::open(setup).await;
        let text = format!("not json\n{}nor this\n", desk.credentials(0, 40));
        let file = desk.file("stamps.jsonl", &text);
        let name = file.to_str().expect("text");
        let note = PathBuf::from(format!("{name}.import.json"));
        // After ten lines, with a reject of the next block half written.
        let first = json!({"line": 1, "code": "malformed_json", "detail": ""}).to_string() + "\n";
        let written = format!("{first}{{\"line\":");
        desk.file("stamps.jsonl.rejects.jsonl", &written);
        let left = desk.left("stamps.jsonl", first_lines(&text, 10), &written, 8).await;
        std::fs::write(&note, left.to_string()).expect("a file");

        let ran = desk.app.cli(&["stamps", "import", name, "--json"]).await.expect(1);
        assert!(ran.stderr.contains("resuming an interrupted import"), "{}", ran.stderr);
        assert_eq!((&ran.json()["lines"], &ran.json()["accepted"]), (&json!(42), &json!(40)));
        assert_eq!(desk.stored(), ["32"]);
        let path = format!("{name}.rejects.jsonl");
        assert_eq!(rejects(&path), [1, 42].map(|line| (line, "malformed_json".to_owned())));
        assert!(!note.exists());

        std::fs::write(&note, left.to_string()).expect("a file");
        let restarted = desk.app.cli(&["stamps", "import", name, "--restart", "--json"]).await.expect(1);
        assert_eq!((&restarted.json()["accepted"], &restarted.json()["unchanged"]), (&json!(8), &json!(32)));
        assert_eq!(desk.stored(), ["40"]);

        std::fs::write(&note, "{").expect("a file");
        let damaged = desk.app.cli(&["stamps", "import", name]).await.expect(1);
        assert!(damaged.stderr.contains("use --restart to start over"), "{}", damaged.stderr);
    }

    async fn another_file_under_the_same_name_is_read_from_its_beginning(setup: Setup) {
        let desk = Desk::open(setup).await;
        let (before, now) = (desk.credentials(0, 20), desk.credentials(20, 40));
        let read = first_lines(&before, 10);
        let short = now.lines().next().expect("a line");
        for (name, text, expected) in [
            ("other.jsonl", now.as_str(), [20, 0]),
            ("short.jsonl", short, [0, 1]),
            ("longer.jsonl", &format!("{read}{now}"), [10, 20]),
            ("old.jsonl", &before, [19, 1]),
        ] {
            let file = desk.file(name, text);
            let mut left = desk.left(name, read, "", 9).await;
            if name == "old.jsonl" {
                // A checkpoint of a version that did not look at the file.
                left = json!({"progress": left["progress"], "rejects_bytes": 0});
            }
            desk.file(&format!("{name}.import.json"), &left.to_string());
            let ran = desk.app.cli(&["stamps", "import", file.to_str().expect("text"), "--json"]).await;
            let done = ran.json();
            assert_eq!(json!([done["accepted"], done["unchanged"]]), json!(expected), "{name}");
            let goes_on = ran.stderr.contains("resuming an interrupted import");
            let is_other = ran.stderr.contains("the interrupted import was of another file");
            assert_eq!((goes_on, is_other), (name == "longer.jsonl", name != "longer.jsonl"), "{}", ran.stderr);
        }
    }

    async fn an_import_goes_on_only_into_the_same_workspace_database_and_rejects_file(setup: Setup) {
        let desk = Desk::open(setup).await;
        let other = desk.app.cli_json(&["workspace", "add", "other"]).await;
        let text = format!("not json\n{}", desk.credentials(0, 20));
        let file = desk.file("stamps.jsonl", &text);
        let name = file.to_str().expect("text");
        let written = json!({"line": 1, "code": "malformed_json", "detail": ""}).to_string() + "\n";
        let fits = desk.left("stamps.jsonl", first_lines(&text, 11), &written, 9).await;
        let with = |path: &str, value: Value| {
            let mut left = fits.clone();
            *left.pointer_mut(path).expect("a member") = value;
            left
        };
        let (elsewhere, longer) = ("wrote another rejects file", json!(written.len() + 1));
        let there = "is not in this database";
        for (left, reason, stored) in [
            (with("/workspace", other["workspace_id"].clone()), "into another workspace", [19, 1]),
            (with("/workspace", Value::Null), "into another workspace", [0, 20]),
            (with("/rejects", json!("/elsewhere")), elsewhere, [0, 20]),
            (with("/rejects_bytes", longer), elsewhere, [0, 20]),
            (with("/progress/last", json!(vec![7; 32])), there, [0, 20]),
            (with("/progress/last", Value::Null), there, [0, 20]),
            (fits.clone(), "resuming an interrupted import", [10, 10]),
        ] {
            desk.file("stamps.jsonl.rejects.jsonl", &written);
            desk.file("stamps.jsonl.import.json", &left.to_string());
            let ran = desk.app.cli(&["stamps", "import", name, "--json"]).await.expect(1);
            assert!(ran.stderr.contains(reason), "{reason}: {}", ran.stderr);
            let done = ran.json();
            assert_eq!(json!([done["accepted"], done["unchanged"]]), json!(stored), "{reason}");
            assert_eq!(rejects(&format!("{name}.rejects.jsonl")), [(1, "malformed_json".to_owned())]);
        }
        // Another rejects file is never extended to the length at which the interrupted import ended.
        desk.file("stamps.jsonl.import.json", &fits.to_string());
        let path = desk.app.directory().join("new.jsonl").display().to_string();
        let ran = desk.app.cli(&["stamps", "import", name, "--rejects", &path, "--json"]).await.expect(1);
        assert!(ran.stderr.contains(elsewhere), "{}", ran.stderr);
        assert_eq!(rejects(&path), [(1, "malformed_json".to_owned())]);
        // No issuer is trusted in the other workspace, so all lines read are refused.
        desk.file("stamps.jsonl.rejects.jsonl", &written);
        desk.file("stamps.jsonl.import.json", &fits.to_string());
        let ran = desk.app.cli(&["stamps", "import", name, "--workspace", "other", "--json"]).await.expect(1);
        assert_eq!(ran.json()["rejected"], 21, "{}", ran.stderr);
    }
}
