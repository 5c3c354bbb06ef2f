//! Backups that break (`docs/reference/behavior/operations.md#backup-and-restore`).

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;

use pyxis_testkit::engines;
use pyxis_testkit::long_form::{Dice, figures, rounds};
use serde_json::json;

use crate::support::app::{Ran, run};
use crate::support::{App, Setup, until};

/// Size of a database page in bytes.
const PAGE: u64 = 4096;
/// Pages that are damaged one after the other, in the short and the long form.
const DAMAGES: [usize; 2] = [3, 100];
/// Backups that are killed, in the short and the long form.
const KILLS: [usize; 2] = [2, 40];
/// Bytes of a database that takes long enough to copy that a test can kill its backup on the way.
const BALLAST: u64 = 40_000_000;

/// Names of the files in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

async fn backup(app: &App, file: &Path) -> Ran {
    app.cli(&["backup", file.to_str().unwrap()]).await
}

/// Overwrites the first page of a table, as a bad disk would.
fn damage(app: &App, table: &str) {
    let root = app.sql(&format!("SELECT rootpage FROM sqlite_master WHERE name = '{table}'"));
    let root: u64 = root[0].parse().unwrap();
    let file = fs::File::options().write(true).open(app.data().join("pyxis.db")).unwrap();
    file.write_all_at(&[0xa5; 4096], (root - 1) * PAGE).unwrap();
}

#[tokio::test]
async fn a_damaged_page_leaves_no_backup_and_keeps_the_earlier_one() {
    let app = App::bootstrapped(Setup::new()).await;
    let backups = app.directory().join("backups");
    fs::create_dir(&backups).unwrap();
    backup(&app, &backups.join("good")).await.expect(0);
    let good = fs::read(backups.join("good")).unwrap();
    assert_eq!(fs::metadata(backups.join("good")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(app.cli_json(&["doctor"]).await["ok"], true);

    damage(&app, "score_history");
    let ran = backup(&app, &backups.join("next")).await.expect(1);
    assert!(ran.stderr.contains("the database is damaged"), "{ran:?}");
    assert_eq!(names(&backups), ["good"]);
    assert_eq!(fs::read(backups.join("good")).unwrap(), good);
    let ran = app.cli(&["doctor"]).await.expect(1);
    assert!(ran.stdout.contains("WRONG database file: "), "{ran:?}");
}

#[tokio::test]
async fn a_backup_that_is_killed_leaves_nothing_under_its_name_and_the_next_one_succeeds() {
    let app = App::bootstrapped(Setup::new()).await;
    // Enough that reading it again takes longer than noticing that it began.
    app.sql(
        "CREATE TABLE ballast (bytes BLOB); INSERT INTO ballast SELECT randomblob(1000000) FROM \
         (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i FROM n)",
    );
    let backups = app.directory().join("backups");
    fs::create_dir(&backups).unwrap();
    let (file, partial) = (backups.join("b"), backups.join("b.partial"));
    let mut command = app.command(&["backup", file.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the copy began", async || {
        fs::metadata(&partial).is_ok_and(|partial| partial.len() > 0).then_some(())
    })
    .await;
    let second = backup(&app, &file).await.expect(1);
    assert!(second.stderr.contains("another backup is being written"), "{second:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!file.exists() && partial.exists());

    backup(&app, &file).await.expect(0);
    assert_eq!(names(&backups), ["b"]);
}

#[tokio::test]
async fn damage_of_any_page_is_found_by_the_doctor_and_leaves_no_backup() {
    let app = App::bootstrapped(Setup::new()).await;
    let backups = app.directory().join("backups");
    fs::create_dir(&backups).unwrap();
    backup(&app, &backups.join("good")).await.expect(0);
    // Then every page is in use, and all are in one file.
    app.sql("VACUUM");
    app.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let database = app.data().join("pyxis.db");
    let whole = fs::read(&database).unwrap();
    let pages = whole.len() / usize::try_from(PAGE).unwrap();
    let [short, long] = DAMAGES;
    let (damages, mut dice) = (rounds(short, long), Dice::new());
    for _ in 0..damages {
        let page = dice.index(pages);
        let bytes: Vec<u8> = (0..PAGE).map(|_| u8::try_from(dice.below(256)).unwrap()).collect();
        let file = fs::File::options().write(true).open(&database).unwrap();
        file.write_all_at(&bytes, u64::try_from(page).unwrap() * PAGE).unwrap();
        let ran = backup(&app, &backups.join("next")).await;
        assert_eq!(ran.code, Some(1), "page {page} of {pages}: {ran:?}");
        assert_eq!(names(&backups), ["good"], "page {page} of {pages}: {ran:?}");
        let ran = app.cli(&["doctor"]).await;
        assert_eq!(ran.code, Some(1), "page {page} of {pages}: {ran:?}");
        for suffix in ["-wal", "-shm"] {
            // One of them may never have been made.
            let _ = fs::remove_file(app.data().join(format!("pyxis.db{suffix}")));
        }
        fs::write(&database, &whole).unwrap();
    }
    backup(&app, &backups.join("next")).await.expect(0);
    assert_eq!(app.cli_json(&["doctor"]).await["ok"], true);
    figures("damaged pages", &format!("{damages} of {pages}, one at a time, each found, 0 backups written"));
}

#[tokio::test]
async fn backups_that_are_killed_at_random_moments_leave_the_earlier_one_and_no_part_under_their_name() {
    let app = App::bootstrapped(Setup::new()).await;
    let backups = app.directory().join("backups");
    fs::create_dir(&backups).unwrap();
    backup(&app, &backups.join("good")).await.expect(0);
    let good = fs::read(backups.join("good")).unwrap();
    app.sql(&format!(
        "CREATE TABLE ballast (bytes BLOB); INSERT INTO ballast SELECT randomblob(1000000) FROM \
         (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT i FROM n)",
        BALLAST / 1_000_000
    ));
    let (file, partial) = (backups.join("b"), backups.join("b.partial"));
    let [short, long] = KILLS;
    let (kills, mut dice) = (rounds(short, long), Dice::new());
    let mut too_late = 0;
    for _ in 0..kills {
        let length = dice.below(BALLAST);
        let mut command = app.command(&["backup", file.to_str().unwrap()]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("a part of the copy", async || {
            let written = fs::metadata(&partial).is_ok_and(|partial| partial.len() > length);
            (written || file.exists()).then_some(())
        })
        .await;
        child.kill().unwrap();
        child.wait().unwrap();
        if file.exists() {
            too_late += 1;
            fs::remove_file(&file).unwrap();
        }
        assert_eq!(fs::read(backups.join("good")).unwrap(), good);
        backup(&app, &file).await.expect(0);
        assert_eq!(names(&backups), ["b", "good"]);
        fs::remove_file(&file).unwrap();
    }
    let killed = kills - too_late;
    assert!(killed > 0, "every kill came too late");
    figures(
        "killed backups",
        &format!("{killed} on the way, {too_late} ended before; 0 parts under their name"),
    );
}

#[tokio::test]
async fn a_disk_that_is_full_leaves_nothing_behind() {
    let app = App::bootstrapped(Setup::new()).await;
    let backups = app.directory().join("backups");
    fs::create_dir(&backups).unwrap();
    let command = app.command(&[]);
    // 256 blocks of 512 bytes, less than an empty database. A write beyond that fails, as on a full disk.
    let script = r#"ulimit -f 256; trap '' XFSZ; exec "$0" backup "$1""#;
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", script]).arg(command.get_program()).arg(backups.join("b"));
    shell.current_dir(app.directory()).stdin(Stdio::null()).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = run(shell).await.expect(1);
    assert!(ran.stderr.contains("no backup was written"), "{ran:?}");
    assert_eq!(names(&backups), [""; 0]);
}

engines! {
    async fn a_backup_of_a_damaged_audit_trail_is_written_only_on_request(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let file = app.directory().join("b");
        app.sql("UPDATE audit_records SET actor_name = 'no one' WHERE seq = 2");
        let ran = backup(&app, &file).await.expect(1);
        assert!(ran.stderr.contains("the audit trail is damaged at record 2"), "{ran:?}");
        assert!(!file.exists());
        let written = app.cli_json(&["backup", "--without-audit-check", file.to_str().unwrap()]).await;
        assert_eq!(written["audit_records"], json!(null));
        assert!(file.exists());
    }

    async fn a_backup_says_how_many_records_it_checked_and_asks_for_the_key_that_this_takes(setup: Setup) {
        let app = App::bootstrapped(setup).await;
        let count = app.audit().await.len();
        let written = app.cli_json(&["backup", app.directory().join("b").to_str().unwrap()]).await;
        assert_eq!(written["audit_records"], json!(count));
        let recorded = app.sql("SELECT value FROM meta WHERE key = 'last_backup_at'");
        assert_eq!(recorded.len(), 1, "the home page learns of it");
        fs::rename(app.data().join("master.key"), app.directory().join("elsewhere")).unwrap();
        let ran = backup(&app, &app.directory().join("c")).await.expect(1);
        assert!(ran.stderr.contains("set PX_ENCRYPTION_KEY_FILE, or add --without-audit-check"), "{ran:?}");
        assert!(!app.data().join("master.key").exists(), "no other key is made");
    }
}
