//! The agent that a request comes from.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request;
use pyxis_core::hex;

use crate::credentials::requests::control;
use crate::error::{Error, Result};
use crate::runtime::resolve::{KeyHash, ResolvedAgent, key_hash};
use crate::runtime::state::State;

/// The key of an agent, as its digest. In the extensions of a request made inside this process, it stands for the
/// header; no request from outside can carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerKey(pub(crate) KeyHash);

impl CallerKey {
    /// The digest of a key's text.
    pub(crate) fn digest(key: &str) -> Self {
        Self(key_hash(key))
    }

    /// The key whose digest is stored as `text`.
    pub(crate) fn of_digest(text: &str) -> Result<Self> {
        let digest = hex::decode(text).and_then(|bytes| bytes.try_into().ok());
        digest.map(Self).ok_or(Error::InvalidKey)
    }

    /// The key of a request, before any other check.
    pub(crate) fn read(head: &request::Parts) -> Result<Self> {
        match head.extensions.get() {
            Some(key) => Ok(*key),
            None => control::key(&head.headers).map(Self::digest),
        }
    }
}

impl From<CallerKey> for KeyHash {
    fn from(CallerKey(hash): CallerKey) -> Self {
        hash
    }
}

impl<S: Sync> FromRequestParts<S> for CallerKey {
    type Rejection = Error;

    async fn from_request_parts(head: &mut request::Parts, _state: &S) -> Result<Self> {
        Self::read(head)
    }
}

/// The agent of a request, for handlers that also read a body: who has no key is refused before the body is read.
pub(crate) struct CallingAgent(pub(crate) Arc<ResolvedAgent>);

impl FromRequestParts<State> for CallingAgent {
    type Rejection = Error;

    async fn from_request_parts(head: &mut request::Parts, state: &State) -> Result<Self> {
        Ok(Self(state.config_cache.agent_now(&state.store, CallerKey::read(head)?).await?))
    }
}
