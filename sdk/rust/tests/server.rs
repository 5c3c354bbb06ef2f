//! A real server with sample data: scores, checks and approvals.
//!
//! `PX_TEST_PYXIS` names the built program; `ci/sdk-rust.sh` sets it.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{Timestamp, ToSpan, civil::date};
use pyxis_client::agent::{Agent, Forward, Forwarded, PendingApproval};
use pyxis_client::model::verification::ProofKind;
use pyxis_client::model::wallet::Model;
use pyxis_client::{ApiErrorKind, Client, Eip712Request, Error, JwtRequest, UNIVERSAL_ACTION};
use rust_decimal::Decimal;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

const UNKNOWN: &str = "0x52908400098527886E0F7030069857D2E4169EE7";
const PROVED: &str = "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1";

/// `pyxis quickstart` on a free port of loopback, which ends with the test.
struct Server {
    directory: TempDir,
    child: Child,
    session: String,
    agent_key: String,
    plain_api_key: String,
    sample: Value,
    base_url: String,
}

impl Server {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let bootstrap: Value =
            serde_json::from_str(&run(directory.path(), &["bootstrap", "--json"])).unwrap();
        let mut child = program(directory.path())
            .args(["quickstart", "--json", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut line = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
        let (address, sample) = (line(), line());
        let text = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();
        Self {
            session: text(&bootstrap, "owner_session_token"),
            agent_key: text(&bootstrap, "agent_key"),
            plain_api_key: text(&bootstrap, "api_key"),
            base_url: text(&address, "base_url"),
            sample,
            directory,
            child,
        }
    }

    fn client(&self) -> Client {
        Client::new(&self.base_url, self.sample["api_key"].as_str()).unwrap()
    }

    fn agent(&self) -> Agent {
        Agent::new(&self.base_url, &self.agent_key).unwrap()
    }

    fn target(&self) -> &str {
        self.sample["demo_target"].as_str().unwrap()
    }

    fn allow_history(&self) {
        let keys: Value =
            serde_json::from_str(&run(self.directory.path(), &["api-key", "list", "--json"])).unwrap();
        let key = keys.as_array().unwrap().iter().find(|key| key["name"] == "quickstart").unwrap();
        run(self.directory.path(), &["api-key", "allow-history", key["id"].as_str().unwrap()]);
    }

    /// Decides as the owner.
    fn decide(&self, pending: &PendingApproval, decision: &str, body: &Value) {
        let url = format!("{}/approvals/{}/{decision}", self.base_url, pending.txn_id);
        let host = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
        let body = body.to_string();
        let request = format!(
            "POST {url} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.session,
            body.len(),
        );
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut response = String::new();
        std::io::Read::read_to_string(&mut stream, &mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program(directory: &Path) -> Command {
    let program =
        std::env::var_os("PX_TEST_PYXIS").expect("PX_TEST_PYXIS names the program; run ci/sdk-rust.sh");
    let mut command = Command::new(program);
    let data = directory.join("data");
    command.current_dir(directory).env_clear().env("PX_DATA_DIR", data).env("PX_METRICS_LISTEN", "off");
    command
}

fn run(directory: &Path, arguments: &[&str]) -> String {
    let output = program(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

fn kind(error: &Error) -> ApiErrorKind {
    error.api().unwrap_or_else(|| panic!("{error:?}")).kind
}

/// One server for all of these: starting it takes longer than every question together.
#[tokio::test]
async fn a_client_reads_scores_stamps_and_checks_of_a_server() {
    let server = Server::start();
    let client = server.client();
    scores(&server, &client).await;
    tokens(&client).await;
    typed_data(&client).await;
    batches(&client).await;
    history(&server, &client).await;
    stamps(&client).await;
    checks(&client).await;
    refusals(&server, &client).await;
}

async fn scores(server: &Server, client: &Client) {
    let score = client.score(1, PROVED).await.unwrap();
    assert_eq!((score.score, score.threshold, score.passing_score), (decimal("22.598"), decimal("20"), true));
    assert_eq!(score.stamps["NFTScore#50"].score, decimal("16.246"));
    assert_eq!(score.expiration_timestamp, Some(score.stamps["Discord"].expiration_date));
    assert!(score.explain.is_none());
    let explained = client.explained_score(1, PROVED).await.unwrap().explain.unwrap();
    assert_eq!((explained.margin, &*explained.stamps["Discord"].reason), (decimal("2.598"), "counts"));
    let none = client.score(1, UNKNOWN).await.unwrap();
    assert_eq!((none.score, none.passing_score, none.stamps.len()), (Decimal::ZERO, false, 0));
    let unknown = client.model_score(UNKNOWN, Model::Nft).await.unwrap();
    assert_eq!((unknown.model, unknown.score), (Model::Nft, None));
    assert_eq!(format!("{client:?}"), format!("Client({:?})", server.base_url));
}

/// Claims of a token, unverified.
fn claims(jwt: &str) -> Value {
    let part = jwt.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

async fn tokens(client: &Client) {
    let plain = client.signed_score_jwt(1, PROVED, JwtRequest::default()).await.unwrap();
    assert_eq!(plain.score, client.score(1, PROVED).await.unwrap());
    let keys = client.score_keys().await.unwrap();
    let said = claims(&plain.jwt);
    assert_eq!((&said["iss"], &said["sub"]), (&json!(keys.issuer), &json!(PROVED)));
    assert_eq!((&said["scorer_id"], &said["score"]), (&json!(1), &json!("22.59800")));
    assert!(said["nonce"].is_null() && said["aud"].is_null());
    let kid = keys.keys.iter().find_map(|key| key.kid.as_deref()).unwrap();
    assert!(client.token_keys().await.unwrap().keys.iter().any(|key| key["kid"] == kid));
    let request = JwtRequest::default().challenge("order 7").audience("https://app.example.org");
    let bound = claims(&client.signed_score_jwt(1, PROVED, request).await.unwrap().jwt);
    assert_eq!((&bound["nonce"], &bound["aud"]), (&json!("order 7"), &json!("https://app.example.org")));
    let nobodys = JwtRequest::default().audience("https://app.example.org");
    let error = client.signed_score_jwt(1, PROVED, nobodys).await.unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error:?}");
    let empty = JwtRequest::default().challenge("");
    let error = client.signed_score_jwt(1, PROVED, empty).await.unwrap_err();
    assert_eq!(kind(&error), ApiErrorKind::Unprocessable);
}

async fn typed_data(client: &Client) {
    let contract = "0xc0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0";
    let request = Eip712Request::default().contract(10, contract).challenge("round-2");
    let found = client.signed_score_eip712(1, PROVED, request).await.unwrap();
    let domain = &found.typed_data["domain"];
    assert_eq!(domain["chainId"], 10);
    assert!(domain["verifyingContract"].as_str().unwrap().eq_ignore_ascii_case(contract));
    let message = &found.message;
    assert_eq!((message.scorer, message.score, message.threshold), (1, 2_259_800, 2_000_000));
    assert_eq!((message.passing, &*message.challenge), (true, "round-2"));
    assert!(message.account.eq_ignore_ascii_case(PROVED) && message.expires_at > message.issued_at);
    assert_eq!(found.signature.len(), 132);
    let keys = client.score_keys().await.unwrap().keys;
    assert!(keys.iter().any(|key| key.address.as_deref() == Some(&*found.signer)));
    let unbound = client.signed_score_eip712(1, PROVED, Eip712Request::default()).await.unwrap();
    assert!(unbound.typed_data["domain"]["chainId"].is_null() && unbound.message.challenge.is_empty());
    let wrong = Eip712Request::default().contract(10, "0x12");
    let error = client.signed_score_eip712(1, PROVED, wrong).await.unwrap_err();
    assert_eq!(kind(&error), ApiErrorKind::Unprocessable);
}

async fn batches(client: &Client) {
    let mut addresses: Vec<_> = (1..1500).map(|number| format!("0x{number:040x}")).collect();
    addresses.push(PROVED.to_owned());
    let scores = client.scores(1, &addresses).await.unwrap();
    assert!(scores.iter().map(|score| &score.address).eq(&addresses));
    assert_eq!(scores.last().unwrap().score, decimal("22.598"));
    addresses[1200] = String::from("vitalik.eth");
    let error = client.scores(1, &addresses).await.unwrap_err();
    let invalid = &error.api().unwrap().invalid;
    assert_eq!((invalid.len(), invalid[0].index, &*invalid[0].value), (1, 1200, "vitalik.eth"));
    let entries = client.score_entries(1, &addresses).await.unwrap();
    assert_eq!((entries.len(), entries.iter().filter(|entry| entry.is_err()).count()), (addresses.len(), 1));
    let failed = entries[1200].as_ref().unwrap_err();
    assert_eq!(
        (&*failed.address, failed.error.index, &*failed.error.code),
        ("vitalik.eth", 1200, "invalid_address")
    );
    assert_eq!(entries.last().unwrap().as_ref().unwrap().score, decimal("22.598"));
    assert_eq!(client.scores::<&str>(1, &[]).await.unwrap(), []);
}

async fn history(server: &Server, client: &Client) {
    let tomorrow = Timestamp::now() + 24.hours();
    let plain = Client::new(&server.base_url, Some(&server.plain_api_key)).unwrap();
    let error = plain.history(1, PROVED, tomorrow).await.unwrap_err();
    assert_eq!(kind(&error), ApiErrorKind::PermissionDenied);
    server.allow_history();
    assert_eq!(client.history(1, PROVED, tomorrow).await.unwrap().unwrap().score, decimal("22.598"));
    assert_eq!(client.history(1, PROVED, date(2020, 1, 1)).await.unwrap(), None);
}

async fn stamps(client: &Client) {
    let stamps = client.stamps(PROVED).page_size(2).include_metadata().collect().await.unwrap();
    let providers: std::collections::BTreeSet<_> = stamps
        .iter()
        .map(|stamp| stamp.credential["credentialSubject"]["provider"].as_str().unwrap())
        .collect();
    assert_eq!((stamps.len(), providers.len()), (6, 6));
    assert!(stamps.iter().all(|stamp| stamp.metadata.is_some()));
    let catalogue = client.catalogue().await.unwrap();
    let mut named = catalogue.iter().flat_map(|platform| &platform.groups).flat_map(|group| &group.stamps);
    assert!(named.any(|stamp| stamp.name == "Discord"));
    let credential = Map::from_iter([("type".to_owned(), json!(["VerifiableCredential"]))]);
    let outcomes = client.add_stamps(UNKNOWN, &[credential]).await.unwrap();
    assert_eq!((&*outcomes[0].status, outcomes[0].error.as_ref().unwrap().index), ("rejected", 0));
    assert_eq!(client.remove_stamp(UNKNOWN, "Discord").await.unwrap(), 0);
}

async fn checks(client: &Client) {
    let valid = client.check_unique(PROVED, ProofKind::GovId, "optimism", UNIVERSAL_ACTION).await.unwrap();
    assert!(valid.result && valid.expires_at.unwrap() > Timestamp::now());
    let other = client.check_unique(PROVED, ProofKind::GovId, "optimism", "42").await.unwrap();
    assert_eq!(
        (other.result, other.expires_at, other.reason.as_deref()),
        (false, None, Some("other_action"))
    );
    assert!(!client.check_residence(UNKNOWN, "us", "optimism").await.unwrap().result);
}

async fn refusals(server: &Server, client: &Client) {
    let error = client.score(999, UNKNOWN).await.unwrap_err();
    assert_eq!(kind(&error), ApiErrorKind::NotFound);
    assert_eq!(error.to_string(), "404: No scorer matches the given criteria.");
    for hostile in ["../../admin/agents", "0x1?explain=true", "a/b", "%2e%2e", "a#b"] {
        let error = client.score(1, hostile).await.unwrap_err();
        assert_eq!(error.to_string(), "400: Invalid address.", "{hostile}");
    }
    let stranger = Client::new(&server.base_url, Some("px_api_wrong")).unwrap();
    let error = stranger.catalogue().await.unwrap_err();
    assert_eq!((kind(&error), error.api().unwrap().attempts), (ApiErrorKind::Authentication, 1));
}

#[tokio::test]
async fn an_agent_reads_asks_and_gets_what_a_person_decides() {
    let server = Server::start();
    let agent = server.agent();
    let services = agent.services().await.unwrap();
    assert_eq!((&*services.agent, &*services.services[0].credential), ("default-agent", "demo"));
    let read = agent.forward(&Forward::new("demo", server.target())).await.unwrap();
    let Forwarded::Response(response) = read else { panic!("{read:?}") };
    assert_eq!((response.status, response.header("Content-Type")), (200, Some("application/json")));
    assert!(response.text().contains("Bearer [REDACTED:demo]"));
    approved(&server, &agent).await;
    denied_and_withdrawn(&server, &agent).await;
    let error = agent.forward(&Forward::new("nope", server.target())).await.unwrap_err();
    let api = error.api().unwrap();
    assert_eq!((api.kind, api.code.as_deref()), (ApiErrorKind::NotFound, Some("credential_not_found")));
    assert!(api.request_id.is_some() && api.title.as_deref() == Some("Not Found"));
}

async fn pending(agent: &Agent, forward: &Forward) -> PendingApproval {
    match agent.forward(forward).await.unwrap() {
        Forwarded::Pending(pending) => pending,
        Forwarded::Response(response) => panic!("{response:?}"),
    }
}

async fn approved(server: &Server, agent: &Agent) {
    let change = Forward::new("demo", server.target()).method("POST").json(&json!({"note": 1})).unwrap();
    let change = change.reason("a note").idempotency_key("once");
    let asked = pending(agent, &change).await;
    assert!(asked.agent_hint.contains(&asked.approval_url));
    let error = agent.wait_for_response(&asked.txn_id, Some(Duration::ZERO)).await.unwrap_err();
    assert!(matches!(error, Error::StillPending { .. }), "{error:?}");
    assert_eq!(pending(agent, &change).await.txn_id, asked.txn_id);
    server.decide(&asked, "approve", &json!({}));
    let first = agent.wait_for_response(&asked.txn_id, None).await.unwrap();
    assert_eq!(first.status, 200);
    let Forwarded::Response(again) = agent.forward(&change).await.unwrap() else { panic!("asked again") };
    assert_eq!((again.status, &again.body), (first.status, &first.body));
    let error = agent.forward(&change.body("other")).await.unwrap_err();
    assert_eq!(error.api().unwrap().code.as_deref(), Some("idempotency_key_reused"));
}

async fn denied_and_withdrawn(server: &Server, agent: &Agent) {
    let asked = pending(agent, &Forward::new("demo", server.target()).method("DELETE")).await;
    server.decide(&asked, "deny", &json!({"reason": "not today"}));
    let error = agent.wait_for_response(&asked.txn_id, None).await.unwrap_err();
    assert_eq!(error.to_string(), "a person denied the request: not today");
    let asked = pending(agent, &Forward::new("demo", server.target()).method("PUT").body("x")).await;
    agent.withdraw(&asked.txn_id).await.unwrap();
    let error = agent.wait_for_response(&asked.txn_id, None).await.unwrap_err();
    assert!(matches!(error, Error::ApprovalExpired { .. }), "{error:?}");
    assert_eq!(kind(&agent.withdraw(&asked.txn_id).await.unwrap_err()), ApiErrorKind::Conflict);
}
