//! Queries of the dashboard's home page. Each one reads a bounded part of an index, however much is stored.

use std::borrow::Cow;
use std::time::Duration;

use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, UserId, WebhookId, WorkspaceId};

use crate::audit::RecordedEvent;
use crate::credentials::{CredentialRow, credential_columns};
use crate::db::{SqlQuery, sql};
use crate::{Executor, Store, StoreError, StoredName, audit, meta};

/// Most records that [`decisions`] looks at, newest first.
pub const COUNTED: u32 = 100_000;
/// Most set-up steps of one person that are read.
const MAX_STEPS: u32 = 50;
/// Possible difference between the clocks of two nodes that append records.
const SKEW: Duration = Duration::from_mins(10);

/// Records with the same event and decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decisions {
    pub event: RecordedEvent,
    pub decision: Option<StoredName<AuditDecision>>,
    /// True if the request was sent and no response arrived.
    pub failed: bool,
    /// Number of records.
    pub count: i64,
}

/// Number of the newest record that is certainly older than `since`, by binary search. Records have no gaps.
async fn seq_before(store: &Store, since: UnixMillis) -> Result<i64, StoreError> {
    let since = since.minus(SKEW);
    let (mut low, mut high) = (0, audit::head_seq(store).await?);
    while low < high {
        let middle = low + (high - low + 1) / 2;
        let found: Option<(UnixMillis,)> = store.optional(record_time(middle)).await?;
        if found.is_some_and(|(at,)| at >= since) {
            high = middle - 1;
        } else {
            low = middle;
        }
    }
    Ok(low)
}

fn record_time(seq: i64) -> SqlQuery {
    sql("SELECT at FROM audit_records WHERE seq = $1").bind(seq)
}

/// Records of a workspace since a time, by event and decision: at most [`COUNTED`] of the newest.
pub async fn decisions(
    store: &Store,
    workspace: WorkspaceId,
    since: UnixMillis,
) -> Result<Vec<Decisions>, StoreError> {
    let after = seq_before(store, since).await?;
    count_after(store, workspace, after, since).await
}

pub(crate) async fn count_after(
    executor: impl Executor,
    workspace: WorkspaceId,
    after: i64,
    since: UnixMillis,
) -> Result<Vec<Decisions>, StoreError> {
    let query = sql("SELECT kind, decision, failed, count(*) FROM (SELECT r.kind, r.decision, \
         CASE WHEN o.seq IS NOT NULL AND o.status IS NULL THEN 1 ELSE 0 END AS failed \
         FROM (SELECT seq, at, kind, decision FROM audit_records WHERE workspace_id = $1 \
         AND kind <> 'outcome' AND seq > $2 ORDER BY seq DESC LIMIT $3) AS r \
         LEFT JOIN audit_records AS o ON o.ref_seq = r.seq AND o.kind = 'outcome' WHERE r.at >= $4) AS counted \
         GROUP BY kind, decision, failed ORDER BY kind, decision, failed");
    let query = query.bind(workspace).bind(after).bind(i64::from(COUNTED)).bind(since);
    let found: Vec<(String, Option<StoredName<AuditDecision>>, i64, i64)> = executor.all(query).await?;
    let decisions = |(kind, decision, failed, count)| {
        let event = RecordedEvent::read(Cow::Owned(kind));
        Decisions { event, decision, failed: failed == 1, count }
    };
    Ok(found.into_iter().map(decisions).collect())
}

/// A credential whose requests an API refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCredential {
    pub name: String,
    /// Number of responses with status 401 or 403.
    pub count: i64,
}

/// Stored credentials with responses 401 or 403 since a time, most refused first. Looks at [`COUNTED`] records at most.
pub async fn refused_credentials(
    store: &Store,
    workspace: WorkspaceId,
    since: UnixMillis,
    limit: u32,
) -> Result<Vec<RefusedCredential>, StoreError> {
    let after = seq_before(store, since).await?;
    refused_after(store, workspace, after, since, limit).await
}

pub(crate) async fn refused_after(
    executor: impl Executor,
    workspace: WorkspaceId,
    after: i64,
    since: UnixMillis,
    limit: u32,
) -> Result<Vec<RefusedCredential>, StoreError> {
    let query = sql("SELECT c.name, counted.refused FROM (SELECT r.credential, count(*) AS refused \
         FROM (SELECT seq, at, credential FROM audit_records WHERE workspace_id = $1 \
         AND kind <> 'outcome' AND seq > $2 ORDER BY seq DESC LIMIT $3) AS r \
         JOIN audit_records AS o ON o.ref_seq = r.seq AND o.kind = 'outcome' \
         WHERE r.at >= $4 AND r.credential IS NOT NULL AND o.status IN (401, 403) \
         GROUP BY r.credential) AS counted \
         JOIN credentials AS c ON c.workspace_id = $5 AND c.name_folded = lower(counted.credential) \
         ORDER BY counted.refused DESC, c.name_folded");
    let query = query.bind(workspace).bind(after).bind(i64::from(COUNTED)).bind(since).bind(workspace);
    let found: Vec<(String, i64)> = executor.all(query.limit(limit)).await?;
    Ok(found.into_iter().map(|(name, count)| RefusedCredential { name, count }).collect())
}

async fn exists(executor: impl Executor, query: SqlQuery) -> Result<bool, StoreError> {
    Ok(executor.optional::<(i64,)>(query).await?.is_some())
}

/// True if the workspace stores a credential.
pub async fn has_credential(executor: impl Executor, workspace: WorkspaceId) -> Result<bool, StoreError> {
    let query = sql("SELECT CAST(1 AS BIGINT) FROM credentials WHERE workspace_id = $1 LIMIT 1");
    exists(executor, query.bind(workspace)).await
}

/// True if an agent of the workspace has sent a request.
pub async fn has_agent_request(executor: impl Executor, workspace: WorkspaceId) -> Result<bool, StoreError> {
    let query = sql("SELECT CAST(1 AS BIGINT) FROM agents WHERE workspace_id = $1 \
         AND last_used_at IS NOT NULL LIMIT 1");
    exists(executor, query.bind(workspace)).await
}

/// True if two people who have signed in may approve requests.
pub async fn has_second_approver(
    executor: impl Executor,
    workspace: WorkspaceId,
) -> Result<bool, StoreError> {
    let query = sql("SELECT CAST(1 AS BIGINT) FROM users WHERE workspace_id = $1 AND disabled_at IS NULL \
         AND last_sign_in_at IS NOT NULL AND (role <> 'member' OR EXISTS (SELECT 1 FROM member_rights \
         WHERE member_rights.user_id = users.id AND can_approve)) ORDER BY id LIMIT 1 OFFSET 1");
    exists(executor, query.bind(workspace)).await
}

/// True if the person has a passkey.
pub async fn has_passkey(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<bool, StoreError> {
    let query =
        sql("SELECT CAST(1 AS BIGINT) FROM passkeys WHERE workspace_id = $1 AND user_id = $2 LIMIT 1");
    exists(executor, query.bind(workspace).bind(user)).await
}

/// True if the person is notified in a linked chat or a browser.
pub async fn is_notified(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<bool, StoreError> {
    let query = sql("SELECT CAST(1 AS BIGINT) FROM users WHERE workspace_id = $1 AND id = $2 AND (EXISTS \
         (SELECT 1 FROM chat_identities AS c WHERE c.workspace_id = users.workspace_id AND c.user_id = users.id) \
         OR EXISTS (SELECT 1 FROM push_subscriptions AS p WHERE p.workspace_id = users.workspace_id \
         AND p.user_id = users.id)) LIMIT 1");
    exists(executor, query.bind(workspace).bind(user)).await
}

/// True if the whole workspace is notified in a chat or by an enabled webhook.
pub async fn is_workspace_notified(
    executor: impl Executor,
    workspace: WorkspaceId,
) -> Result<bool, StoreError> {
    let query = sql("SELECT CAST(1 AS BIGINT) FROM workspaces WHERE id = $1 AND (EXISTS \
         (SELECT 1 FROM chat_defaults AS c WHERE c.workspace_id = workspaces.id) OR EXISTS \
         (SELECT 1 FROM webhooks AS w WHERE w.workspace_id = workspaces.id AND w.disabled_at IS NULL)) LIMIT 1");
    exists(executor, query.bind(workspace)).await
}

/// Set-up steps that the person skipped.
pub async fn skipped_steps(
    executor: impl Executor,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<String>, StoreError> {
    let query =
        sql("SELECT step FROM setup_dismissals WHERE workspace_id = $1 AND user_id = $2 ORDER BY step");
    let found: Vec<(String,)> = executor.all(query.bind(workspace).bind(user).limit(MAX_STEPS)).await?;
    Ok(found.into_iter().map(|(step,)| step).collect())
}

/// Skips a set-up step for one person. Skipping it again changes nothing.
pub async fn skip_step(
    executor: impl Executor,
    (workspace, user): (WorkspaceId, UserId),
    step: &str,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("INSERT INTO setup_dismissals (workspace_id, user_id, step, dismissed_at) \
         VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING");
    executor.execute(query.bind(workspace).bind(user).bind(step).bind(now)).await.map(drop)
}

/// First enabled agent by name, for the link that connects it.
pub async fn first_agent(
    executor: impl Executor,
    workspace: WorkspaceId,
) -> Result<Option<AgentId>, StoreError> {
    let query =
        sql("SELECT id FROM agents WHERE workspace_id = $1 AND disabled_at IS NULL ORDER BY name_folded");
    let found: Option<(AgentId,)> = executor.optional(query.bind(workspace).limit(1)).await?;
    Ok(found.map(|(id,)| id))
}

/// Names of credentials that exist since `before` and were not used since then, by name.
pub async fn idle_credentials(
    executor: impl Executor,
    workspace: WorkspaceId,
    before: UnixMillis,
    limit: u32,
) -> Result<Vec<String>, StoreError> {
    let query = sql("SELECT name FROM credentials WHERE workspace_id = $1 \
         AND coalesce(last_used_at, created_at) < $2 ORDER BY name_folded");
    let found: Vec<(String,)> = executor.all(query.bind(workspace).bind(before).limit(limit)).await?;
    Ok(found.into_iter().map(|(name,)| name).collect())
}

/// Names of credentials whose tokens could not be refreshed.
pub async fn disconnected_credentials(
    executor: impl Executor,
    workspace: WorkspaceId,
    limit: u32,
) -> Result<Vec<String>, StoreError> {
    let query = sql("SELECT c.name FROM oauth_tokens AS t JOIN credentials AS c ON c.id = t.credential_id \
         AND c.version = t.credential_version WHERE t.workspace_id = $1 AND t.problem IS NOT NULL");
    let found: Vec<(String,)> = executor.all(query.bind(workspace).limit(limit)).await?;
    Ok(found.into_iter().map(|(name,)| name).collect())
}

/// Credentials whose latest check an API refused: names and response statuses, by name.
pub async fn failed_checks(
    executor: impl Executor,
    workspace: WorkspaceId,
    limit: u32,
) -> Result<Vec<(String, i64)>, StoreError> {
    let query = sql("SELECT name, verified_status FROM credentials WHERE workspace_id = $1 \
         AND verified_status IN (401, 403) ORDER BY name_folded");
    executor.all(query.bind(workspace).limit(limit)).await
}

/// Enabled webhooks whose latest attempt did not succeed: ids and URLs. Looks at 10 deliveries of each.
pub async fn failing_webhooks(
    executor: impl Executor,
    workspace: WorkspaceId,
    limit: u32,
) -> Result<Vec<(WebhookId, String)>, StoreError> {
    let query =
        sql("SELECT w.id, w.url FROM webhooks AS w WHERE w.workspace_id = $1 AND w.disabled_at IS NULL \
         AND (SELECT r.status FROM (SELECT d.status, d.last_attempt_at FROM deliveries AS d \
         WHERE d.workspace_id = w.workspace_id AND d.webhook_id = w.id ORDER BY d.id DESC LIMIT 10) AS r \
         WHERE r.last_attempt_at IS NOT NULL ORDER BY r.last_attempt_at DESC LIMIT 1) <> 'delivered' \
         ORDER BY w.id");
    executor.all(query.bind(workspace).limit(limit)).await
}

/// Enabled agents that exist since `before` and sent no request since then, by name.
pub async fn idle_agents(
    executor: impl Executor,
    workspace: WorkspaceId,
    before: UnixMillis,
    limit: u32,
) -> Result<Vec<(AgentId, String)>, StoreError> {
    let query = sql("SELECT id, name FROM agents WHERE workspace_id = $1 AND disabled_at IS NULL \
         AND coalesce(last_used_at, created_at) < $2 ORDER BY name_folded");
    executor.all(query.bind(workspace).bind(before).limit(limit)).await
}

/// The person's own access tokens that expire in `now..before`: names and times.
pub async fn expiring_tokens(
    executor: impl Executor,
    (workspace, user): (WorkspaceId, UserId),
    now: UnixMillis,
    before: UnixMillis,
    limit: u32,
) -> Result<Vec<(String, UnixMillis)>, StoreError> {
    let query = sql("SELECT name, expires_at FROM access_tokens WHERE workspace_id = $1 AND user_id = $2 \
         AND expires_at >= $3 AND expires_at < $4 ORDER BY expires_at");
    executor.all(query.bind(workspace).bind(user).bind(now).bind(before).limit(limit)).await
}

/// Credentials that present a client certificate, by name.
pub async fn client_certificates(
    executor: impl Executor,
    workspace: WorkspaceId,
    limit: u32,
) -> Result<Vec<CredentialRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        credential_columns!(),
        " FROM credentials WHERE workspace_id = $1 AND auth LIKE '%\"mtls\"%' ORDER BY name_folded"
    ));
    executor.all(query.bind(workspace).limit(limit)).await
}

/// Requests of the workspace's API keys since a time: admitted and refused ones.
pub async fn scores_served(
    executor: impl Executor,
    workspace: WorkspaceId,
    since: UnixMillis,
) -> Result<(i64, i64), StoreError> {
    let query =
        sql("SELECT CAST(coalesce(sum(admitted), 0) AS BIGINT), CAST(coalesce(sum(refused), 0) AS BIGINT) \
         FROM usage_windows WHERE api_key_id IN (SELECT id FROM api_keys WHERE workspace_id = $1) \
         AND surface IN ('stamps', 'models') AND window_start_at >= $2");
    Ok(executor.optional(query.bind(workspace).bind(since)).await?.unwrap_or_default())
}

/// Key in `meta` of the time of the last complete backup, in Unix milliseconds.
const LAST_BACKUP: &str = "last_backup_at";

/// Records a complete backup. Only later backups contain the record.
pub async fn record_backup(executor: impl Executor, at: UnixMillis) -> Result<(), StoreError> {
    meta::put(executor, LAST_BACKUP, &at.0.to_string()).await
}

/// Time of the last complete backup that this program made, if any.
pub async fn last_backup(executor: impl Executor) -> Result<Option<UnixMillis>, StoreError> {
    let stored = meta::get(executor, LAST_BACKUP).await?;
    Ok(stored.and_then(|text| text.parse().ok()).map(UnixMillis))
}
