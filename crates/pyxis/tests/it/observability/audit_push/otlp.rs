use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use prost::Message;
use pyxis_testkit::upstream::{Received, Reply, Upstream};

use super::{Messages, whole_trail_arrives};
use crate::support::metrics::{page, value};
use crate::support::{Setup, Site, until};

fn attribute(log: &LogRecord, key: &str) -> Option<Any> {
    log.attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?.value.clone()
}

fn message(log: &LogRecord) -> (i64, String, serde_json::Value) {
    let Some(Any::IntValue(seq)) = attribute(log, "pyxis.audit.seq") else { panic!("{log:?}") };
    let Some(Any::StringValue(mac)) = attribute(log, "pyxis.audit.mac") else { panic!("{log:?}") };
    let Some(Any::StringValue(body)) = log.body.as_ref().and_then(|body| body.value.clone()) else {
        panic!("{log:?}")
    };
    (seq, mac, serde_json::from_str(&body).unwrap())
}

/// Messages that the receiver has acknowledged or not.
pub(super) fn messages(exports: &[Received]) -> Messages {
    let complete = exports.iter().filter(|export| export.complete);
    let requests = complete.map(|export| {
        assert_eq!(export.target, "/v1/logs");
        ExportLogsServiceRequest::decode(export.body.clone()).unwrap()
    });
    let scopes = requests.flat_map(|request| request.resource_logs).flat_map(|logs| logs.scope_logs);
    scopes.flat_map(|scope| scope.log_records).map(|log| message(&log)).collect()
}

#[tokio::test]
async fn an_otlp_receiver_gets_the_trail_despite_its_failures_and_our_crash() {
    let receiver = Upstream::http().await;
    receiver.reply(Reply::new(503));
    let mut site = Site::new_with_env("PX_AUDIT_PUSH", &format!("otlp+{}", receiver.url(""))).await;
    site.forward("GET", "/one").send().await.forwarded(200);
    // The failed batch comes again.
    receiver.received(2).await;
    receiver.reply(Reply::ok(""));
    whole_trail_arrives(&site, async || messages(&receiver.requests())).await;
    site.app.kill().await;
    site.app.serve();
    site.forward("GET", "/two").send().await.forwarded(200);
    whole_trail_arrives(&site, async || messages(&receiver.requests())).await;
}

#[tokio::test]
async fn a_receiver_that_refuses_long_batches_gets_the_trail_in_short_ones() {
    let receiver = Upstream::http().await;
    receiver.reply_with(|request| {
        let records = messages(std::slice::from_ref(request)).len();
        Reply::new(if records > 3 { 413 } else { 200 })
    });
    let site = Site::new_with_env("PX_AUDIT_PUSH", &format!("otlp+{}", receiver.url(""))).await;
    site.forward("GET", "/one").send().await.forwarded(200);
    let accepted = async || {
        let exports = receiver.requests().into_iter().map(|export| messages(&[export]));
        exports.filter(|records| records.len() <= 3).flatten().collect()
    };
    whole_trail_arrives(&site, accepted).await;
}

#[tokio::test]
async fn a_cursor_that_was_changed_in_the_database_does_not_end_the_push() {
    let receiver = Upstream::http().await;
    receiver.reply(Reply::ok(""));
    let mut site = Site::new_with_env("PX_AUDIT_PUSH", &format!("otlp+{}", receiver.url(""))).await;
    site.forward("GET", "/one").send().await.forwarded(200);
    whole_trail_arrives(&site, async || messages(&receiver.requests())).await;
    site.app.stop().await;
    site.app.sql("UPDATE meta SET value = '999999999' WHERE key = 'audit_push_seq'");
    site.app.serve();
    site.forward("GET", "/two").send().await.forwarded(200);
    whole_trail_arrives(&site, async || messages(&receiver.requests())).await;
    assert!(site.app.logs().contains("was changed outside Pyxis"), "{}", site.app.logs());
}

const SECRET: &str = "canary-collector-token";

#[tokio::test]
async fn an_otlp_receiver_with_authentication_gets_the_trail_and_no_one_sees_the_headers() {
    let receiver = Upstream::http().await;
    receiver.reply_with(|request| {
        let is_allowed = request.header("authorization") == Some(format!("Bearer {SECRET}").as_str())
            && request.header("x-tenant") == Some("a,b");
        Reply::new(if is_allowed { 200 } else { 401 })
    });
    let setup = Setup::new().env("PX_AUDIT_PUSH", &format!("otlp+{}", receiver.url("")));
    let mut site = Site::with(setup.env("PX_LOG", "trace")).await;
    until("a refusal in the log", async || {
        site.app.logs().contains("401 Unauthorized: check PX_AUDIT_PUSH_HEADERS").then_some(())
    })
    .await;
    let refused = receiver.received(1).await.len();

    let file = site.app.directory().join("headers");
    std::fs::write(&file, format!("Authorization=Bearer%20{SECRET},x-tenant=a%2Cb\n")).unwrap();
    let file = file.to_str().unwrap().to_owned();
    site.app.change(|setup| setup.env("PX_AUDIT_PUSH_HEADERS_FILE", &file));
    site.app.restart().await;
    let accepted = async || {
        let requests = receiver.requests();
        let allowed =
            requests.into_iter().skip(refused).filter(|request| request.header("x-tenant").is_some());
        messages(&allowed.collect::<Vec<_>>())
    };
    site.forward("GET", "/one").send().await.forwarded(200);
    whole_trail_arrives(&site, accepted).await;
    assert!(!site.app.logs().contains(SECRET));
}

#[tokio::test]
async fn the_lag_rises_while_the_receiver_does_not_answer_and_falls_to_nothing_afterwards() {
    let receiver = Upstream::http().await;
    let (reply, release) = Reply::ok("").hold();
    receiver.reply(reply);
    let setup = Setup::new().env("PX_AUDIT_PUSH", &format!("otlp+{}", receiver.url("")));
    let site = Site::with(setup.env("PX_METRICS_LISTEN", "127.0.0.1:0")).await;
    receiver.received(1).await;
    let lag = async || {
        let page = page(&site.app).await;
        let value = |name: &str| value(&page, &format!("pyxis_audit_push_lag_{name}")).unwrap();
        (value("records"), value("seconds"))
    };
    let (records, seconds) = lag().await;
    assert!(records >= 1.0, "{records}");
    site.forward("GET", "/one").send().await.forwarded(200);
    let rising = async || {
        let (now, age) = lag().await;
        (now > records && age > seconds).then_some(())
    };
    until("more records that wait longer", rising).await;
    release.send();
    until("no lag", async || (lag().await == (0.0, 0.0)).then_some(())).await;
    let pushed = value(&page(&site.app).await, "pyxis_audit_pushed_total").unwrap();
    assert!(pushed > records, "{pushed}");
}
