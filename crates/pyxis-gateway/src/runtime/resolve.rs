//! Resolves an agent key and a credential name to everything that a decision needs.
//!
//! Parsed configuration is cached under the store's generation number, which every configuration change raises in its
//! own transaction. No response is sent before that number was compared with the store's. A change therefore applies to
//! every request that starts after it, whichever process made it. Cached secrets stay sealed and are opened only while
//! requests use them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::auth::{Auth, Connector};
use pyxis_core::hex;
use pyxis_core::hosts::AllowedHosts;
use pyxis_core::id::{AgentId, WorkspaceId};
use pyxis_core::policy::{CompiledPolicy, Policy};
use pyxis_store::agents::{self, AgentRow};
use pyxis_store::cipher::Keyring;
use pyxis_store::credentials::{self, CredentialRow};
use pyxis_store::workspaces::{self, WorkspaceRow};
use pyxis_store::{Store, StoreError, generations, policies};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::error::{Error, Result};
use crate::runtime::secret_cache::{DecryptedSecret, SharedSecret};
use crate::runtime::secret_value::SecretValue;

/// Maximum cache entries before the whole snapshot is dropped. Limits memory used by hostile names.
const MAX_ENTRIES: usize = 10_000;
/// Maximum length of a credential name, in bytes.
pub(crate) const MAX_NAME: usize = 64;

/// SHA-256 of an agent key.
pub(crate) type KeyHash = [u8; 32];

/// Digest under which a key or token is stored.
pub(crate) fn key_hash(key: &str) -> KeyHash {
    Sha256::digest(key.as_bytes()).into()
}

/// Rarely needed options of a credential.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CredentialOptions {
    /// Let the target's `Set-Cookie` through to the agent.
    #[schema(default = false)]
    pub allow_set_cookie: bool,
    /// Pass `traceparent` and `tracestate` upstream.
    #[schema(default = false)]
    pub pass_traceparent: bool,
    /// URL of the MCP server whose tools agents call with this credential. The credential is then used for nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://mcp.example.com/mcp")]
    pub mcp_url: Option<String>,
}

/// A policy in original and compiled form.
#[derive(Debug)]
pub(crate) struct ActivePolicy {
    /// As written.
    pub policy: Policy,
    /// As evaluated. Shared with the threads that read long bodies.
    pub compiled: Arc<CompiledPolicy>,
}

/// A credential with parsed configuration.
#[derive(Debug)]
pub(crate) struct ResolvedCredential {
    /// The stored row.
    pub row: CredentialRow,
    /// Authentication method; `None` for a sidecar.
    pub auth: Option<Auth>,
    /// Hosts that it may be sent to.
    pub hosts: AllowedHosts,
    /// Further options.
    pub options: CredentialOptions,
    /// Policy, if any.
    pub policy: Option<ActivePolicy>,
    /// Mode of the workspace, which applies without a policy.
    pub mode: ApprovalMode,
    /// The secret, while requests use it.
    opened: SharedSecret,
}

impl ResolvedCredential {
    /// Parses a stored row.
    pub(crate) fn parse(row: CredentialRow, policy: Option<&str>, mode: ApprovalMode) -> Result<Self> {
        let corrupt = |column| corrupt("credentials", column, row.id.to_string());
        let auth = match (row.connector, row.auth.as_deref()) {
            (Connector::Direct, Some(text)) => Some(serde_json::from_str(text).map_err(|_| corrupt("auth"))?),
            (Connector::Direct, None) => return Err(corrupt("auth")),
            (Connector::Sidecar, _) => None,
        };
        let list: Vec<String> =
            serde_json::from_str(&row.allowed_hosts).map_err(|_| corrupt("allowed_hosts"))?;
        let hosts = AllowedHosts::parse(&list).map_err(|_| corrupt("allowed_hosts"))?;
        let options = serde_json::from_str(&row.options).map_err(|_| corrupt("options"))?;
        let policy = policy.map(ActivePolicy::parse).transpose()?;
        Ok(Self { row, auth, hosts, options, policy, mode, opened: SharedSecret::default() })
    }

    /// Opens the secret; `None` for a sidecar that needs none.
    pub(crate) fn open(&self, keyring: &Keyring) -> Result<Option<Arc<DecryptedSecret>>> {
        let row = &self.row;
        let Some(sealed) = &row.sealed_secret else {
            return if self.auth.is_none() { Ok(None) } else { Err(missing()) };
        };
        let opened = self.opened.or_open(|| {
            let aad = credentials::secret_aad(row.workspace_id, row.id);
            let bytes = keyring.open(&aad, sealed).map_err(|error| Error::Internal(Box::new(error)))?;
            SecretValue::from_bytes(&bytes)
        });
        opened.map(Some)
    }

    /// Opens the secret of a credential that requires one.
    pub(crate) fn open_needed(&self, keyring: &Keyring) -> Result<Arc<DecryptedSecret>> {
        self.open(keyring)?.ok_or_else(missing)
    }
}

fn missing() -> Error {
    Error::NoLongerAllowed("the credential has no secret")
}

impl ActivePolicy {
    /// Parses a stored policy document.
    pub(crate) fn parse(document: &str) -> Result<Self> {
        let policy = Policy::from_json(document.as_bytes())
            .map_err(|_| corrupt("policies", "document", String::new()))?;
        let compiled = Arc::new(policy.compile());
        Ok(Self { policy, compiled })
    }
}

fn corrupt(table: &'static str, column: &'static str, row: String) -> Error {
    Error::Internal(Box::new(StoreError::Corrupt { table, column, row }))
}

/// An agent with its workspace and credentials.
#[derive(Debug)]
pub(crate) struct ResolvedAgent {
    /// The stored row.
    pub row: AgentRow,
    /// Workspace of the agent.
    pub workspace: WorkspaceRow,
    credentials: RwLock<HashMap<String, Option<Arc<ResolvedCredential>>>>,
}

impl ResolvedAgent {
    pub(crate) fn id(&self) -> AgentId {
        self.row.id
    }

    pub(crate) fn workspace_id(&self) -> WorkspaceId {
        self.row.workspace_id
    }
}

/// Parsed configuration of the last seen generation.
///
/// Entries may be stale. They are trusted only after a check against the store. For an allowed request, that check is
/// in the transaction that records it ([`pyxis_store::audit::Appender::append_under`]). For every other response it is
/// [`ConfigCache::is_current`].
#[derive(Default)]
pub(crate) struct ConfigCache(RwLock<Snapshot>);

#[derive(Default)]
struct Snapshot {
    generation: i64,
    agents: HashMap<KeyHash, Arc<ResolvedAgent>>,
}

impl ConfigCache {
    /// The enabled agent with `key`, and the generation that it was read under.
    pub(crate) async fn agent(
        &self,
        store: &Store,
        key: impl Into<KeyHash>,
    ) -> Result<(Arc<ResolvedAgent>, i64)> {
        let hash = key.into();
        if let Some(found) = self.cached(&hash) {
            return Ok(found);
        }
        let generation = self.refresh(store).await?;
        let row = agents::find_by_key_hash(store, &hex::encode(&hash)).await?;
        let row = row.filter(|row| row.disabled_at.is_none()).ok_or(Error::InvalidKey)?;
        let workspace = workspaces::find(store, row.workspace_id).await?.ok_or(Error::InvalidKey)?;
        let agent = Arc::new(ResolvedAgent { row, workspace, credentials: RwLock::default() });
        self.insert_if_current(generation, hash, &agent);
        Ok((agent, generation))
    }

    /// The enabled agent with `key`, checked against the store now.
    pub(crate) async fn agent_now(
        &self,
        store: &Store,
        key: impl Into<KeyHash>,
    ) -> Result<Arc<ResolvedAgent>> {
        self.refresh(store).await?;
        Ok(self.agent(store, key).await?.0)
    }

    /// True if `generation` is still current. If not, the cache is cleared.
    pub(crate) async fn is_current(&self, store: &Store, generation: i64) -> Result<bool> {
        Ok(self.refresh(store).await? == generation)
    }

    /// Reads the store's generation and drops entries of other generations.
    async fn refresh(&self, store: &Store) -> Result<i64> {
        let generation = generations::read(store).await?;
        if self.0.read().unwrap_or_else(PoisonError::into_inner).generation != generation {
            let mut snapshot = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if snapshot.generation < generation {
                *snapshot = Snapshot { generation, agents: HashMap::new() };
            }
        }
        Ok(generation)
    }

    /// The agent with `key`, if it is cached. It may be stale.
    pub(crate) fn cached_agent(&self, key: impl Into<KeyHash>) -> Option<Arc<ResolvedAgent>> {
        self.cached(&key.into()).map(|(agent, _)| agent)
    }

    fn cached(&self, hash: &KeyHash) -> Option<(Arc<ResolvedAgent>, i64)> {
        let snapshot = self.0.read().unwrap_or_else(PoisonError::into_inner);
        snapshot.agents.get(hash).map(|agent| (Arc::clone(agent), snapshot.generation))
    }

    /// Caches data loaded after `generation` was read. A newer snapshot stays unchanged, because the data may be older
    /// than it.
    fn insert_if_current(&self, generation: i64, hash: KeyHash, agent: &Arc<ResolvedAgent>) {
        let mut snapshot = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if snapshot.generation != generation {
            return;
        }
        if snapshot.agents.len() >= MAX_ENTRIES {
            snapshot.agents.clear();
        }
        snapshot.agents.insert(hash, Arc::clone(agent));
    }
}

impl ResolvedAgent {
    /// The credential called `name`, ignoring case, if this agent may use it. Unknown and unassigned credentials give
    /// the same error.
    pub(crate) async fn credential(&self, store: &Store, name: &str) -> Result<Arc<ResolvedCredential>> {
        if let Some(found) = self.get_credential(name) {
            return found.ok_or(Error::CredentialNotFound);
        }
        // No credential has such a name, and misses are cached.
        if name.len() > MAX_NAME {
            return Err(Error::CredentialNotFound);
        }
        let found = self.load(store, name).await?;
        let mut known = self.credentials.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_ENTRIES {
            known.clear();
        }
        known.insert(name.to_owned(), found.clone());
        found.ok_or(Error::CredentialNotFound)
    }

    fn get_credential(&self, name: &str) -> Option<Option<Arc<ResolvedCredential>>> {
        self.credentials.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    async fn load(&self, store: &Store, name: &str) -> Result<Option<Arc<ResolvedCredential>>> {
        let workspace = self.workspace_id();
        let Some(row) = credentials::find_by_name(store, workspace, name).await? else { return Ok(None) };
        if !self.may_use(store, &row).await? {
            return Ok(None);
        }
        let policy = policies::find(store, workspace, row.id).await?;
        let document = policy.as_ref().map(|policy| policy.document.as_str());
        ResolvedCredential::parse(row, document, self.workspace.mode)
            .map(|credential| Some(Arc::new(credential)))
    }

    async fn may_use(&self, store: &Store, credential: &CredentialRow) -> Result<bool> {
        if self.row.all_credentials {
            return Ok(true);
        }
        Ok(agents::may_use(store, self.workspace_id(), self.id(), credential.id).await?)
    }
}
