//! A separate database for each test, and initial rows.

mod scoring;

use std::future::Future;

use pyxis_core::approval_mode::{Channel, Role};
use pyxis_core::auth::Connector;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::{OsEntropy, token};
use pyxis_core::id::{AgentId, CredentialId, NodeId, TxnId, UserId, WorkspaceId};
use pyxis_core::policy::{Method, Rule};
use pyxis_store::approvals::{ApprovalKind, NewApproval};
use pyxis_store::{agents, approvals, credentials, users};
pub(crate) use pyxis_testkit::installation::{START as NOW, Workspace};
use pyxis_testkit::postgres::Database;
pub(crate) use scoring::*;

pub(crate) fn at(millis: i64) -> UnixMillis {
    UnixMillis(NOW.0 + millis)
}

/// The PostgreSQL database of an installation.
pub(crate) fn postgres(main: &Workspace) -> &Database {
    main.database.as_postgres().expect("an installation on PostgreSQL")
}

/// Runs `count` copies of a task concurrently and collects their results.
pub(crate) async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    count: usize,
    task: impl Fn(usize) -> F,
) -> Vec<T> {
    let running: Vec<_> = (0..count).map(|number| tokio::spawn(task(number))).collect();
    let mut results = Vec::with_capacity(count);
    for task in running {
        results.push(task.await.unwrap());
    }
    results
}

/// True if exactly one of them is.
pub(crate) fn exactly_one(outcomes: impl IntoIterator<Item = bool>) -> bool {
    outcomes.into_iter().filter(|outcome| *outcome).count() == 1
}

/// Changes rows behind the store's back.
pub(crate) async fn tamper(main: &Workspace, statement: &str) {
    drop(query_strings(main, statement).await);
}

/// First column of the results of a custom statement.
pub(crate) async fn query_strings(main: &Workspace, statement: &str) -> Vec<String> {
    main.database.run(statement).await
}

pub(crate) async fn add_user(main: &Workspace, email: &str) -> UserId {
    let id = UserId::new(NOW, &OsEntropy);
    let new = users::NewUser {
        id,
        workspace_id: main.id,
        email: email.to_owned(),
        role: Role::Owner,
        password_hash: None,
        created_at: NOW,
    };
    users::insert(&main.store, &new).await.unwrap();
    id
}

pub(crate) fn new_agent(ws: WorkspaceId, name: &str) -> agents::NewAgent {
    agents::NewAgent {
        id: AgentId::new(NOW, &OsEntropy),
        workspace_id: ws,
        name: name.to_owned(),
        key_hash: token::<32>(&OsEntropy, ""),
        key_hint: "px_1234".to_owned(),
        max_pending: 100,
        rate_limit_per_hour: Some(10),
        all_credentials: false,
        created_at: NOW,
    }
}

pub(crate) async fn add_agent(main: &Workspace, name: &str, credentials: &[CredentialId]) -> AgentId {
    let new = new_agent(main.id, name);
    let mut tx = main.store.begin().await.unwrap();
    agents::insert(&mut tx, &new, credentials).await.unwrap();
    tx.commit().await.unwrap();
    new.id
}

pub(crate) fn new_credential(main: &Workspace, name: &str) -> credentials::NewCredential {
    let id = CredentialId::new(NOW, &OsEntropy);
    let aad = credentials::secret_aad(main.id, id);
    credentials::NewCredential {
        id,
        workspace_id: main.id,
        name: name.to_owned(),
        description: "a test".to_owned(),
        connector: Connector::Direct,
        api_base: None,
        auth: Some(r#"{"kind":"bearer"}"#.to_owned()),
        allowed_hosts: r#"["api.example.com"]"#.to_owned(),
        allow_http: false,
        options: "{}".to_owned(),
        sealed_secret: Some(main.keyring.seal(&OsEntropy, &aad, b"s3cret")),
        created_at: NOW,
    }
}

pub(crate) async fn add_credential(main: &Workspace, name: &str) -> CredentialId {
    let new = new_credential(main, name);
    credentials::insert(&main.store, &new).await.unwrap();
    new.id
}

pub(crate) fn new_approval(main: &Workspace, dedupe: &str) -> NewApproval {
    let txn_id = TxnId::new(&OsEntropy);
    let target = approvals::target_aad(main.id, txn_id);
    NewApproval {
        txn_id,
        workspace_id: main.id,
        agent_id: AgentId::new(NOW, &OsEntropy),
        agent_name: "default-agent".to_owned(),
        credential_id: CredentialId::new(NOW, &OsEntropy),
        credential_name: "api".to_owned(),
        credential_version: 1,
        kind: ApprovalKind::Forward,
        method: Method::Post,
        target_host: "api.example.com".to_owned(),
        sealed_target: main.keyring.seal(&OsEntropy, &target, b"https://api.example.com/v1"),
        rule: Rule::Default,
        pattern: None,
        reason: Some("because".to_owned()),
        digest: "d1".to_owned(),
        dedupe: dedupe.to_owned(),
        body_bytes: 2,
        content_type: Some("application/json".to_owned()),
        min_approvals: 1,
        passkey_required: false,
        channel: Channel::Dashboard,
        created_at: NOW,
        expires_at: at(3_600_000),
    }
}

pub(crate) async fn add_approval(main: &Workspace, dedupe: &str) -> NewApproval {
    let new = new_approval(main, dedupe);
    insert_approval(main, &new).await;
    new
}

pub(crate) async fn insert_approval(main: &Workspace, new: &NewApproval) {
    let aad = approvals::request_aad(main.id, new.txn_id);
    let mut tx = main.store.begin().await.unwrap();
    approvals::insert(&mut tx, new, main.keyring.seal(&OsEntropy, &aad, b"{}")).await.unwrap();
    tx.commit().await.unwrap();
}

pub(crate) fn node() -> NodeId {
    NodeId::new(NOW, &OsEntropy)
}
