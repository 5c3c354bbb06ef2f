//! The files of an import, which are locked for its exclusive use.

use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;

use super::Desk;
use crate::support::{Setup, until};

#[tokio::test]
async fn a_file_is_imported_once_at_a_time() {
    let desk = Desk::open(Setup::new()).await;
    let file = desk.file("stamps.jsonl", &desk.credential(1, "Google", 1));
    let name = file.to_str().expect("text");
    let other = File::open(&file).expect("a file");
    other.lock().expect("a lock");
    let refused = desk.app.cli(&["stamps", "import", name]).await.expect(1);
    assert!(refused.stderr.contains("another import is using"), "{}", refused.stderr);
    assert_eq!(desk.stored(), ["0"]);
    drop(other);
    desk.app.cli(&["stamps", "import", name]).await.expect(0);
    assert_eq!(desk.stored(), ["1"]);
}

#[tokio::test]
async fn two_imports_do_not_share_a_rejects_file() {
    let desk = Desk::open(Setup::new()).await;
    let rejects = desk.app.directory().join("rejects.jsonl");
    let path = rejects.to_str().expect("text");
    let mut first = desk.app.command(&["stamps", "import", "-", "--rejects", path]);
    let mut first =
        first.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process");
    let mut input = first.stdin.take().expect("a pipe");
    input.write_all("not json\n".repeat(2_000).as_bytes()).expect("it reads");
    let written = async || fs::read(&rejects).is_ok_and(|text| !text.is_empty()).then_some(());
    until("the first lines to be rejected", written).await;
    let file = desk.file("stamps.jsonl", &desk.credential(1, "Google", 1));
    let name = file.to_str().expect("text");
    let refused = desk.app.cli(&["stamps", "import", name, "--rejects", path]).await.expect(1);
    assert!(refused.stderr.contains("another import is using"), "{}", refused.stderr);
    drop(input);
    assert_eq!(first.wait().expect("its end").code(), Some(1));
    assert_eq!(fs::read_to_string(&rejects).expect("rejects").lines().count(), 2_000);
    assert_eq!(desk.stored(), ["0"]);
}

#[tokio::test]
async fn what_is_imported_is_never_written_over_with_rejects() {
    let desk = Desk::open(Setup::new()).await;
    let file = desk.file("stamps.jsonl", "not json\n");
    let (link, hard) = (desk.app.directory().join("link"), desk.app.directory().join("hard"));
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    fs::hard_link(&file, &hard).expect("a link");
    let name = file.to_str().expect("text");
    for rejects in [name, "stamps.jsonl", "./stamps.jsonl", "link", "hard"] {
        let refused = desk.app.cli(&["stamps", "import", name, "--rejects", rejects]).await.expect(1);
        assert!(refused.stderr.contains("is the file to import"), "{rejects}: {}", refused.stderr);
        let mut piped = desk.app.command(&["stamps", "import", "-", "--rejects", rejects]);
        let piped = piped.stdin(File::open(&file).expect("a file")).output().expect("a process");
        assert_eq!(piped.status.code(), Some(1), "{rejects}");
        assert_eq!(fs::read_to_string(&file).expect("a file"), "not json\n", "{rejects}");
    }
    // Rejects can be discarded.
    desk.app.cli(&["stamps", "import", name, "--rejects", "/dev/null"]).await.expect(1);
}
