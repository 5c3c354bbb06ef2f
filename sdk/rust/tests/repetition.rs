//! Repetitions and responses that a client must not trust, with prepared responses on loopback.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use pyxis_client::agent::{Agent, Forward, Forwarded};
use pyxis_client::model::wallet::Model;
use pyxis_client::{ApiErrorKind, Client, Error, Options, Pace, RetryPolicy};
use rust_decimal::Decimal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const ADDRESS: &str = "0x52908400098527886E0F7030069857D2E4169EE7";
const RECORD: &str = r#"{"address":"0x1","score":"35.76600","passing_score":true,"threshold":"20.00000",
    "last_score_timestamp":"2026-01-31T09:05:00.250000+00:00","expiration_timestamp":null,"error":null,"stamps":{},
    "new":{"member":1}}"#;

/// A pace that notes pauses instead of waiting.
#[derive(Default)]
struct Notes(Mutex<Vec<Duration>>);

impl Pace for Notes {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.0.lock().unwrap().push(duration);
        Box::pin(ready(()))
    }

    fn jitter(&self) -> f64 {
        0.0
    }

    fn now(&self) -> Timestamp {
        "2026-01-31T09:05:00Z".parse().unwrap()
    }

    fn new_key(&self) -> String {
        "new-key".to_owned()
    }
}

/// A server that gives these answers in turn, each on a connection of its own. An empty one ends the connection.
struct Script {
    base_url: String,
    requests: Arc<Mutex<Vec<String>>>,
    notes: Arc<Notes>,
}

impl Script {
    async fn start(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answers): (_, Vec<_>) =
            (requests.clone(), answers.iter().map(|&it| it.to_owned()).collect());
        tokio::spawn(async move {
            for number in 0.. {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = vec![0; 65536];
                let length = stream.read(&mut request).await.unwrap();
                seen.lock().unwrap().push(String::from_utf8_lossy(&request[..length]).into_owned());
                let answer = &answers[usize::min(number, answers.len() - 1)];
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { base_url, requests, notes: Arc::new(Notes::default()) }
    }

    fn options(&self) -> Options {
        Options::default().pace(self.notes.clone())
    }

    fn client(&self) -> Client {
        Client::with_options(&self.base_url, Some("px_api_secret"), self.options()).unwrap()
    }

    fn agent(&self) -> Agent {
        Agent::with_options(&self.base_url, "px_agent_secret", self.options()).unwrap()
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    fn pauses(&self) -> Vec<u128> {
        self.notes.0.lock().unwrap().iter().map(Duration::as_millis).collect()
    }
}

fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

#[tokio::test]
async fn a_client_waits_and_succeeds() {
    let limited = answer(429, "retry-after: 9\r\n", r#"{"detail":"You have been rate limited!"}"#);
    let script = Script::start(&["", &answer(504, "", ""), &limited, &answer(200, "", RECORD)]).await;
    let score = script.client().score(1, ADDRESS).await.unwrap();
    assert_eq!(score.score, "35.766".parse::<Decimal>().unwrap());
    assert_eq!(script.pauses(), [500, 1000, 9000]);
    assert!(script.requests().iter().all(|request| request.contains("x-api-key: px_api_secret")));
}

#[tokio::test]
async fn a_client_gives_up_and_says_after_how_many_attempts() {
    let script = Script::start(&[&answer(503, "", r#"{"detail":"Later."}"#)]).await;
    let error = script.client().score(1, ADDRESS).await.unwrap_err();
    assert_eq!(error.to_string(), "given up after 5 attempts: 503: Later.");
    assert_eq!((script.requests().len(), error.api().unwrap().kind), (5, ApiErrorKind::Unavailable));
}

#[tokio::test]
async fn a_long_retry_after_is_returned_at_once_unless_allowed() {
    let answers = [&*answer(429, "retry-after: 840\r\n", "{}"), &answer(200, "", RECORD)];
    let script = Script::start(&answers).await;
    let error = script.client().score(1, ADDRESS).await.unwrap_err();
    assert_eq!(error.api().unwrap().retry_after, Some(Duration::from_mins(14)));
    assert!(script.pauses().is_empty());
    let script = Script::start(&answers).await;
    let retry = RetryPolicy { max_retry_after: Duration::from_mins(15), ..RetryPolicy::default() };
    let patient = Client::with_options(&script.base_url, None, script.options().retry(retry)).unwrap();
    patient.score(1, ADDRESS).await.unwrap();
    assert_eq!(script.pauses(), [840_000]);
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_what_is_not_json_is_refused() {
    let elsewhere = answer(302, "location: http://127.0.0.1:1/\r\n", "");
    let wrong = RECORD.replace(r#""35.76600""#, "35.766");
    for body in [elsewhere, answer(200, "", "<html>"), answer(200, "", &wrong)] {
        let script = Script::start(&[&body]).await;
        let error = script.client().score(1, ADDRESS).await.unwrap_err();
        assert!(matches!(error, Error::InvalidResponse(_)), "{error:?}");
        assert_eq!(script.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_response_for_other_addresses_or_the_same_page_again_is_refused() {
    let script = Script::start(&[&answer(200, "", r#"{"items":[]}"#)]).await;
    let error = script.client().scores(1, &[ADDRESS]).await.unwrap_err();
    assert_eq!(error.to_string(), "0 scores for 1 addresses");
    let script = Script::start(&[&answer(200, "", r#"{"next":"a","prev":null,"items":[]}"#)]).await;
    let error = script.client().stamps(ADDRESS).collect().await.unwrap_err();
    assert_eq!(error.to_string(), "the next page of Stamps is the same page");
}

#[tokio::test]
async fn a_model_score_is_decimal() {
    let body = r#"{"address":"0x1","details":{"models":{"nft":{"score":97.13}}}}"#;
    let script = Script::start(&[&answer(200, "", body)]).await;
    let found = script.client().model_score(ADDRESS, Model::Nft).await.unwrap();
    assert_eq!(found.score.unwrap().to_string(), "97.13");
}

#[tokio::test]
async fn text_of_a_server_cannot_forge_lines_of_a_log() {
    let body = r#"{"detail":"no\r\n2026 root logged in\u001b[2J"}"#;
    let script = Script::start(&[&answer(403, "", body)]).await;
    let error = script.client().score(1, ADDRESS).await.unwrap_err();
    assert!(!error.to_string().contains(char::is_control));
}

#[tokio::test]
async fn a_change_keeps_its_idempotency_key_when_it_is_sent_again() {
    let busy = answer(409, "px-error: idempotency_in_progress\r\n", "{}");
    let script = Script::start(&["", &busy, &answer(200, "", "done")]).await;
    let change = Forward::new("demo", "https://api.example.org/").method("POST").body("x");
    let Forwarded::Response(response) = script.agent().forward(&change).await.unwrap() else { panic!() };
    assert_eq!((response.status, &*response.body), (200, &b"done"[..]));
    let requests = script.requests();
    assert_eq!(requests.iter().filter(|request| request.contains("idempotency-key: new-key")).count(), 3);
}

#[tokio::test]
async fn what_the_upstream_answered_or_may_have_executed_is_not_sent_again() {
    let script = Script::start(&[&answer(503, "retry-after: 1\r\n", "down")]).await;
    let change = Forward::new("demo", "https://api.example.org/").method("POST");
    let Forwarded::Response(response) = script.agent().forward(&change).await.unwrap() else { panic!() };
    assert_eq!((response.status, script.requests().len()), (503, 1));
    let unknown =
        answer(502, "px-error: outcome_unknown\r\n", r#"{"code":"outcome_unknown","detail":"no response"}"#);
    let script = Script::start(&[&unknown]).await;
    let error = script.agent().forward(&change).await.unwrap_err();
    assert_eq!((error.api().unwrap().kind, script.requests().len()), (ApiErrorKind::OutcomeUnknown, 1));
    let script = Script::start(&[""]).await;
    let error = script.agent().withdraw("00000000-0000-4000-8000-000000000000").await.unwrap_err();
    assert!(matches!(error, Error::Transport { may_have_arrived: true, attempts: 1, .. }), "{error:?}");
}

#[tokio::test]
async fn a_decision_while_the_request_is_held_is_the_same_error() {
    let body = r#"{"code":"approval_denied","detail":"denied","txn_id":"t","reason":"no"}"#;
    let script = Script::start(&[&answer(403, "px-error: approval_denied\r\n", body)]).await;
    let held = Forward::new("demo", "https://api.example.org/").wait(Duration::from_mins(1));
    let error = script.agent().forward(&held).await.unwrap_err();
    assert_eq!(error.to_string(), "a person denied the request: no");
    assert!(script.requests()[0].contains("prefer: wait=60"));
}

#[tokio::test]
async fn a_connection_that_is_refused_did_not_arrive() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let once = RetryPolicy { attempts: 1, ..RetryPolicy::default() };
    let client = Client::with_options(&base_url, None, Options::default().retry(once)).unwrap();
    let error = client.score(1, ADDRESS).await.unwrap_err();
    assert!(matches!(error, Error::Transport { may_have_arrived: false, .. }), "{error:?}");
}

#[tokio::test]
async fn keys_are_refused_where_they_could_be_read_and_are_never_shown() {
    for key in ["", "a b", "key\n", "schlüssel"] {
        let error = Client::new("https://pyxis.example.org", Some(key)).unwrap_err();
        assert!(key.is_empty() || !error.to_string().contains(key));
    }
    let error = Agent::new("http://pyxis.example.org", "px_agent_secret").unwrap_err();
    assert!(error.to_string().contains("would be sent unencrypted"));
    let script = Script::start(&[""]).await;
    let shown = format!("{:?} {:?} {:?}", script.client(), script.agent(), script.options());
    assert!(!shown.contains("secret"), "{shown}");
}
