//! Backups that the server makes (`docs/reference/behavior/operations.md#scheduled-backups`).

use std::fs;
use std::path::{Path, PathBuf};

use pyxis_core::secret::SecretString;
use pyxis_core::target::Target;
use pyxis_signing::sigv4::{self, Keys, SigningScope};
use pyxis_testkit::upstream::{Received, Reply, Upstream};

use crate::support::client::{Address, Client};
use crate::support::{App, Setup, until};
use pyxis_testkit::postgres::Database;

const SECRET_KEY: &str = "canary-storage-secret";
const AGE: &str = "pyxis_backup_last_success_timestamp_seconds";

/// An installation that makes backups into `directory/backups`.
async fn installed(setup: impl FnOnce(Setup) -> Setup) -> (App, PathBuf) {
    let mut app = App::bootstrapped(Setup::new()).await;
    let backups = app.directory().join("backups");
    fs::create_dir(&backups).unwrap();
    let dir = backups.to_str().unwrap().to_owned();
    app.change(|plain| setup(plain.env("PX_BACKUP_DIR", &dir)).env("PX_METRICS_LISTEN", "127.0.0.1:0"));
    (app, backups)
}

fn backups(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

async fn age(app: &App) -> Option<String> {
    let address = app.greeting["metrics_address"].as_str().unwrap().parse().unwrap();
    let text = Client::new(Address::new(address)).get("/metrics").send().await.expect(200).text();
    let line = text.lines().find(|line| line.starts_with(AGE))?;
    line.rsplit_once(' ').map(|(_, seconds)| seconds.to_owned())
}

#[tokio::test]
async fn a_server_makes_a_checked_backup_at_once_and_removes_only_its_own_oldest() {
    let (mut app, directory) = installed(|setup| setup.env("PX_BACKUP_KEEP", "2")).await;
    for name in [
        "pyxis-20200101T000000Z.db",
        "pyxis-20200102T000000Z.db",
        // What killed backups left.
        "pyxis-20200103T000000Z.db.partial",
        "pyxis-20200103T000000Z.db.partial-journal",
        "pyxis-20200104T000000Z.db.partial-journal",
        "by-hand",
    ] {
        let file = fs::File::create(directory.join(name)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    app.serve();
    let left = until("a backup", async || {
        let names = backups(&directory);
        (names.len() == 3 && !names.contains(&"pyxis-20200101T000000Z.db".to_owned())).then_some(names)
    })
    .await;
    assert_eq!((left[0].as_str(), left[1].as_str()), ("by-hand", "pyxis-20200102T000000Z.db"));
    until("its time", async || age(&app).await.filter(|age| age.parse::<f64>().unwrap() > 1.7e9)).await;

    let copy = App::empty(Setup::new());
    fs::create_dir(copy.data()).unwrap();
    fs::copy(app.data().join("master.key"), copy.data().join("master.key")).unwrap();
    copy.cli(&["restore", directory.join(&left[2]).to_str().unwrap()]).await.expect(0);
    assert_eq!(copy.cli_json(&["audit", "verify"]).await["ok"], true);

    // The next one is due in a day, also after a restart, which still knows the time of the last one.
    app.restart().await;
    until("its time", async || age(&app).await).await;
    assert_eq!(backups(&directory), left);
}

#[tokio::test]
async fn a_backup_of_a_damaged_database_is_not_made_and_the_earlier_ones_stay() {
    let (mut app, directory) = installed(|setup| setup.env("PX_BACKUP_KEEP", "1")).await;
    let old = fs::File::create(directory.join("pyxis-20200101T000000Z.db")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH).unwrap();
    app.sql("UPDATE audit_records SET actor_name = 'no one' WHERE seq = 2");
    app.serve();
    until("a refusal in the log", async || {
        app.logs().contains("the audit trail is damaged at record 2").then_some(())
    })
    .await;
    assert_eq!(backups(&directory), ["pyxis-20200101T000000Z.db"]);
}

/// Panics unless the request is signed with the configured keys.
fn check_signature(upstream: &Upstream, sent: &Received) {
    let header = |name| sent.header(name).unwrap();
    let (hash, date) = (header("x-amz-content-sha256"), header("x-amz-date"));
    assert_eq!(hash, sigv4::payload_hash(&sent.body));
    let target = Target::parse(&upstream.url(&sent.target)).unwrap();
    let headers = [("host", target.authority()), ("x-amz-content-sha256", hash), ("x-amz-date", date)];
    let request = sigv4::Request {
        method: sent.method.as_str(),
        target: &target,
        headers: &headers,
        payload_hash: hash,
    };
    let keys = Keys {
        access_key_id: "AKID".to_owned(),
        secret_access_key: SecretString::new(SECRET_KEY.to_owned()),
    };
    let scope = SigningScope { region: "eu-central-1", service: "s3" };
    assert_eq!(header("authorization"), sigv4::authorization(&keys, scope, date, &request));
}

#[tokio::test]
async fn every_backup_is_also_put_into_object_storage_and_tried_again_until_it_is() {
    let upstream = Upstream::http().await;
    upstream.reply(Reply::new(403).body("<Error><Code>AccessDenied</Code></Error>"));
    let bucket = upstream.url("/bucket/daily");
    let (mut app, directory) = installed(|setup| {
        setup
            .env("PX_BACKUP_S3_URL", &bucket)
            .env("PX_BACKUP_S3_REGION", "eu-central-1")
            .env("PX_BACKUP_S3_ACCESS_KEY_ID", "AKID")
            .env("PX_BACKUP_S3_SECRET_ACCESS_KEY", SECRET_KEY)
    })
    .await;
    app.serve();
    upstream.received(1).await;
    until("a refusal in the log", async || app.logs().contains("AccessDenied").then_some(())).await;
    assert_eq!(age(&app).await, None, "a backup that is not in the storage is no success");

    upstream.reply(Reply::ok(""));
    app.restart().await;
    let sent = upstream.received(2).await;
    until("a success", async || age(&app).await).await;
    let [name] = &backups(&directory)[..] else { panic!("one backup, uploaded twice") };
    for sent in &sent {
        assert_eq!((sent.method.as_str(), sent.target.clone()), ("PUT", format!("/bucket/daily/{name}")));
        assert_eq!(sent.header("content-length"), Some(sent.body.len().to_string().as_str()));
        check_signature(&upstream, sent);
    }
    assert!(sent[1].body == fs::read(directory.join(name)).unwrap());
    assert!(!app.logs().contains(SECRET_KEY));
}

/// An answer of a storage that takes uploads in parts, up to part `last`.
fn storage(sent: &Received, last: u32) -> Reply {
    let query = sent.target.split_once('?').map_or("", |(_, query)| query);
    let part = query.strip_prefix("partNumber=").and_then(|rest| rest.split_once('&'));
    match (sent.method.as_str(), part) {
        ("POST", _) if query == "uploads=" => Reply::ok("<R><UploadId>id/1+x</UploadId></R>"),
        ("PUT", Some((number, "uploadId=id%2F1%2Bx"))) if number.parse::<u32>().unwrap() <= last => {
            Reply::ok("").header("etag", &format!("\"tag-{number}\""))
        }
        ("PUT", Some(_)) => Reply::new(503).body("<Error><Code>SlowDown</Code></Error>"),
        ("POST", _) if query == "uploadId=id%2F1%2Bx" => {
            Reply::ok("<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
        }
        ("DELETE", _) if query == "uploadId=id%2F1%2Bx" => Reply::new(204),
        other => panic!("{other:?} {}", sent.target),
    }
}

/// An installation with a database of more than two parts, whose backups go to `upstream`.
async fn large(upstream: &Upstream) -> (App, PathBuf) {
    let bucket = upstream.url("/bucket");
    let (app, directory) = installed(|setup| {
        let setup = setup.env("PX_BACKUP_S3_URL", &bucket).env("PX_BACKUP_S3_REGION", "eu-central-1");
        let setup = setup.env("PX_BACKUP_S3_ACCESS_KEY_ID", "AKID").env("PX_BACKUP_S3_PART_BYTES", "5242880");
        setup.env("PX_BACKUP_S3_SECRET_ACCESS_KEY", SECRET_KEY)
    })
    .await;
    app.sql("INSERT INTO meta (key, value) VALUES ('filler', printf('%.*c', 11000000, 'x'))");
    (app, directory)
}

#[tokio::test]
async fn a_large_backup_is_uploaded_in_parts_that_are_joined() {
    let upstream = Upstream::http().await;
    upstream.reply_with(|sent| storage(sent, 10_000));
    let (mut app, directory) = large(&upstream).await;
    app.serve();
    until("a success", async || age(&app).await).await;
    let [name] = &backups(&directory)[..] else { panic!("one backup") };
    let content = fs::read(directory.join(name)).unwrap();
    let sent = upstream.requests();
    for sent in &sent {
        check_signature(&upstream, sent);
    }
    let parts = content.chunks(5 << 20);
    assert_eq!((sent.len(), parts.len() > 2), (parts.len() + 2, true));
    let list: Vec<String> = (1..=parts.len())
        .map(|number| {
            format!("<Part><PartNumber>{number}</PartNumber><ETag>&quot;tag-{number}&quot;</ETag></Part>")
        })
        .collect();
    let list = format!("<CompleteMultipartUpload>{}</CompleteMultipartUpload>", list.concat());
    for ((number, part), sent) in (1..).zip(parts).zip(&sent[1..]) {
        assert!(sent.target.starts_with(&format!("/bucket/{name}?partNumber={number}&")), "{}", sent.target);
        assert!(sent.body == part, "part {number} differs");
    }
    assert_eq!(sent.last().unwrap().text(), list);
}

#[tokio::test]
async fn an_upload_in_parts_that_fails_is_aborted_and_no_success() {
    let upstream = Upstream::http().await;
    upstream.reply_with(|sent| storage(sent, 1));
    let (mut app, _directory) = large(&upstream).await;
    app.serve();
    until("a refusal in the log", async || {
        app.logs().contains("503 Service Unavailable SlowDown").then_some(())
    })
    .await;
    let sent = upstream.requests();
    let methods: Vec<_> = sent.iter().map(|sent| sent.method.as_str()).collect();
    assert_eq!(methods, ["POST", "PUT", "PUT", "PUT", "PUT", "DELETE"], "a part has three attempts");
    assert_eq!(age(&app).await, None);
}

#[tokio::test]
async fn the_egress_guard_applies_to_object_storage() {
    let upstream = Upstream::http().await;
    let bucket = upstream.url("/bucket");
    let (mut app, _directory) = installed(|setup| {
        let setup = setup.without("PX_EGRESS_ALLOW").env("PX_BACKUP_S3_URL", &bucket);
        setup.env("PX_BACKUP_S3_ACCESS_KEY_ID", "AKID").env("PX_BACKUP_S3_SECRET_ACCESS_KEY", SECRET_KEY)
    })
    .await;
    app.serve();
    until("a refusal in the log", async || app.logs().contains("cannot upload").then_some(())).await;
    assert_eq!(upstream.connections(), 0);
}

#[tokio::test]
async fn settings_that_cannot_work_refuse_the_start() {
    let app = App::bootstrapped(Setup::new().env("PX_BACKUP_DIR", "nowhere")).await;
    let ran = app.cli(&["serve", "--listen", "127.0.0.1:0"]).await.expect(1);
    assert!(ran.stderr.contains("PX_BACKUP_DIR: nowhere is not a directory"), "{ran:?}");
}

#[tokio::test]
async fn a_backup_directory_refuses_the_start_on_postgres() {
    let postgres = Setup::on(Database::migrated("scheduled backups").await).env("PX_BACKUP_DIR", "/");
    let ran = App::bootstrapped(postgres).await.cli(&["serve", "--listen", "127.0.0.1:0"]).await.expect(1);
    assert!(ran.stderr.contains("PX_BACKUP_DIR is for SQLite"), "{ran:?}");
}
