//! OAuth 2.0 client credentials.

use pyxis_core::auth::TokenSource;

use super::parts::required_part;
use super::{Behavior, Fetching};
use crate::credentials::token_endpoint::{self, TokenClient};
use crate::error::Result;
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

impl Behavior for TokenSource {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        required_part(secret, "client_id")?;
        required_part(secret, "client_secret").map(drop)
    }

    fn fetch<'a>(&'a self, state: &'a State, secret: &'a SecretValue, _refresh: &'a str) -> Fetching<'a> {
        Box::pin(token_endpoint::client_credentials(TokenClient::from_state(state), self, secret))
    }
}
