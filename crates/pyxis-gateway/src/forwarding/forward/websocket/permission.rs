//! Permission of an open WebSocket, checked again whenever the configuration changes.

use http::HeaderMap;
use pyxis_core::clock::UnixMillis;
use pyxis_core::policy::{Method, PolicyVerdict};
use pyxis_core::target::Target;
use pyxis_store::Store;

use crate::credentials::requests::caller::CallerKey;
use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::credentials::requests::{authorize, content};
use crate::error::{Error, Result};
use crate::identity::connections::run_tokens;
use crate::runtime::resolve::{ConfigCache, ResolvedCredential};

/// The request that opened a WebSocket, as far as its permission depends on it.
pub(super) struct Permission {
    key: CallerKey,
    credential: String,
    /// Version of the credential's secret.
    version: i64,
    target: Target,
    /// Generation of the configuration of the last check.
    generation: i64,
    /// True if a person approved it, now or by a grant.
    is_approved: bool,
    /// Digest of the token of a run, if it was opened with one.
    run_token: Option<String>,
}

impl Permission {
    /// The permission of a request that is about to be sent.
    pub(super) fn from_request(asked: &ValidatedRequest<'_>, is_approved: bool) -> Result<Self> {
        Ok(Self {
            key: CallerKey::of_digest(&asked.agent.row.key_hash)?,
            credential: asked.credential.row.name.clone(),
            version: asked.credential.row.version,
            target: asked.target.clone(),
            generation: asked.generation,
            is_approved,
            run_token: run_tokens::of_request(asked.head),
        })
    }

    /// True if the WebSocket may stay open. Reads one number unless the configuration has changed, and the token of a
    /// run.
    pub(super) async fn holds(
        &mut self,
        store: &Store,
        config_cache: &ConfigCache,
        now: UnixMillis,
    ) -> Result<bool> {
        if let Some(token) = &self.run_token
            && !run_tokens::is_live(store, now, token).await?
        {
            return Ok(false);
        }
        if config_cache.is_current(store, self.generation).await? {
            return Ok(true);
        }
        let agent = match config_cache.agent(store, self.key).await {
            Ok((agent, generation)) => {
                self.generation = generation;
                agent
            }
            Err(error) => return refused_or(error),
        };
        match agent.credential(store, &self.credential).await {
            Ok(credential) => Ok(self.is_allowed(&credential)),
            Err(error) => refused_or(error),
        }
    }

    fn is_allowed(&self, credential: &ResolvedCredential) -> bool {
        if credential.row.version != self.version
            || authorize::check_allowed_hosts(credential, &self.target).is_err()
        {
            return false;
        }
        let decision = authorize::decide(credential, Method::WebSocket, &self.target);
        let headers = HeaderMap::new();
        let unread = content::build(&headers, &self.target, &[]);
        let found = content::finding(credential, &decision, Method::WebSocket, &self.target, &unread);
        let verdict = found.map_or(decision.verdict, |found| found.verdict);
        match verdict {
            PolicyVerdict::AutoApprove => true,
            PolicyVerdict::RequireApproval => self.is_approved,
            PolicyVerdict::Deny => false,
        }
    }
}

/// An error of the store is passed on; every other one is a refusal.
fn refused_or(error: Error) -> Result<bool> {
    if matches!(error, Error::Unavailable(_)) { Err(error) } else { Ok(false) }
}
