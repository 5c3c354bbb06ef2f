//! Tools of MCP servers behind a credential: their newest definition, and what a person allowed.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, WorkspaceId};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError, Tx};

stored_enum! {
    /// Permission of a tool.
    pub ToolMode {
        /// Calls are sent at once, as long as the definition is the one that a person read.
        Pass = "pass",
        /// A person approves every call.
        Ask = "ask",
        /// Calls are refused, and the tool is not listed.
        Deny = "deny",
    }
}

row! {
    /// A tool of an MCP server.
    pub McpToolRow: "mcp_tools", mcp_tool_columns {
        /// Workspace of the credential.
        workspace_id: WorkspaceId,
        /// Credential of the server.
        credential_id: CredentialId,
        /// Name on its server.
        name: String,
        /// Permission.
        mode: ToolMode,
        /// Fingerprint of the newest definition.
        seen_fingerprint: String,
        /// Newest definition, as canonical JSON.
        seen_definition: String,
        /// Time of the newest definition.
        seen_at: UnixMillis,
        /// True if the server's newest list has it.
        offered: bool,
        /// Fingerprint of the definition that the permission was given for.
        allowed_fingerprint: Option<String>,
        /// That definition, as canonical JSON.
        allowed_definition: Option<String>,
    }
}

impl McpToolRow {
    /// True if the definition changed since a person allowed the tool.
    pub fn has_changed(&self) -> bool {
        self.allowed_fingerprint.as_ref().is_some_and(|allowed| *allowed != self.seen_fingerprint)
    }
}

/// Tools of a credential, by name.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
) -> Result<Vec<McpToolRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        mcp_tool_columns!(),
        " FROM mcp_tools WHERE workspace_id = $1 AND credential_id = $2 ORDER BY name"
    ));
    executor.all(query.bind(workspace).bind(credential)).await
}

/// The tool with this name.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
    name: &str,
) -> Result<Option<McpToolRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        mcp_tool_columns!(),
        " FROM mcp_tools WHERE workspace_id = $1 AND credential_id = $2 AND name = $3"
    ));
    executor.optional(query.bind(workspace).bind(credential).bind(name)).await
}

/// Records a definition that the server offers. A new tool asks.
pub async fn see(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
    tool: (&str, &str, &str),
    now: UnixMillis,
) -> Result<(), StoreError> {
    let (name, fingerprint, definition) = tool;
    let query = sql("INSERT INTO mcp_tools (workspace_id, credential_id, name, mode, seen_fingerprint, \
         seen_definition, seen_at, offered) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (workspace_id, credential_id, name) DO UPDATE SET \
         seen_fingerprint = EXCLUDED.seen_fingerprint, seen_definition = EXCLUDED.seen_definition, \
         seen_at = EXCLUDED.seen_at, offered = EXCLUDED.offered")
    .bind(workspace)
    .bind(credential)
    .bind(name)
    .bind(ToolMode::Ask)
    .bind(fingerprint)
    .bind(definition)
    .bind(now)
    .bind(true);
    executor.execute(query).await?;
    Ok(())
}

/// Notes that the server no longer offers a tool. If a person decided about it, its permission stays, and so does what
/// was read. Otherwise the tool is deleted, because a server can offer new names without end.
pub async fn miss(
    tx: &mut Tx,
    workspace: WorkspaceId,
    credential: CredentialId,
    name: &str,
) -> Result<(), StoreError> {
    let undecided =
        sql("DELETE FROM mcp_tools WHERE workspace_id = $1 AND credential_id = $2 AND name = $3 \
         AND allowed_fingerprint IS NULL");
    if (&mut *tx).execute(undecided.bind(workspace).bind(credential).bind(name)).await? == 1 {
        return Ok(());
    }
    let decided =
        sql("UPDATE mcp_tools SET offered = $1 WHERE workspace_id = $2 AND credential_id = $3 AND name = $4");
    tx.execute(decided.bind(false).bind(workspace).bind(credential).bind(name)).await?;
    Ok(())
}

/// Deletes every tool of a credential, because it now names another server.
pub async fn clear(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
) -> Result<(), StoreError> {
    let query = sql("DELETE FROM mcp_tools WHERE workspace_id = $1 AND credential_id = $2");
    executor.execute(query.bind(workspace).bind(credential)).await?;
    Ok(())
}

/// Sets the permission of a tool if `fingerprint` is still that of its newest definition. Returns true if it was.
pub async fn set_mode(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: CredentialId,
    name: &str,
    fingerprint: &str,
    mode: ToolMode,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE mcp_tools SET mode = $1, allowed_fingerprint = seen_fingerprint, \
         allowed_definition = seen_definition WHERE workspace_id = $2 AND credential_id = $3 AND name = $4 \
         AND seen_fingerprint = $5")
    .bind(mode)
    .bind(workspace)
    .bind(credential)
    .bind(name)
    .bind(fingerprint);
    Ok(executor.execute(query).await? == 1)
}
