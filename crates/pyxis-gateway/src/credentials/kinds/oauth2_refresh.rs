//! OAuth 2.0 with a refresh token.

use pyxis_core::auth::Connected;

use super::parts::required_part;
use super::{Behavior, Fetching};
use crate::credentials::token_endpoint::{self, TokenClient};
use crate::error::Result;
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

impl Behavior for Connected {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        required_part(secret, "client_id").map(drop)
    }

    fn fetch<'a>(&'a self, state: &'a State, secret: &'a SecretValue, refresh: &'a str) -> Fetching<'a> {
        Box::pin(token_endpoint::refresh(TokenClient::from_state(state), self, secret, refresh))
    }
}
