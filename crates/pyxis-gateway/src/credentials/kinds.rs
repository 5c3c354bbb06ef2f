//! Behavior of the credential kinds, one module for each: what its secret must have, how it is attached, what of it must
//! not come back. Their settings and descriptions are in [`pyxis_core::auth`].

mod assertion;
mod aws_sigv4;
mod basic;
mod bearer;
mod body;
mod cookie;
mod github_app;
mod header;
mod hmac;
mod jwt_bearer;
mod mtls;
mod oauth1;
mod oauth2_client_credentials;
mod oauth2_refresh;
mod parts;
mod query;
mod signing_key;
mod spellings;
#[cfg(test)]
mod tests;

use std::pin::Pin;

use http::HeaderMap;
use pyxis_core::auth::Auth;
use pyxis_core::headers;
use pyxis_core::policy::Method;
use pyxis_core::target::Target;
use pyxis_net::{Body, Client};
use zeroize::Zeroizing;

use super::search_strings::{SearchStrings, is_long};
use super::token_endpoint::{GrantedToken, TokenError};
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::secret_value::SecretValue;
use crate::runtime::state::State;

pub(crate) use parts::sensitive;

/// Behavior of a kind with its settings. A kind has `put`, `sign` or `fetch`; a signing key has none of them.
pub(crate) trait Behavior: Sync {
    /// Checks when it is written that a secret has what the kind needs and fits where it goes.
    fn check(&self, secret: &SecretValue) -> Result<()>;

    /// Adds what of the stored secret must not come back, in the form in which it goes out.
    fn collect_secrets(
        &self,
        secret: &SecretValue,
        is_secret: fn(&str) -> bool,
        search_strings: &mut SearchStrings,
    ) {
        seek_parts(secret, is_secret, search_strings);
    }

    /// Parts of a secret that are too short to be searched for in responses, as inputs name them.
    fn short_parts(&self, secret: &SecretValue, is_secret: fn(&str) -> bool) -> Vec<String> {
        short(secret.named_parts().filter(|(name, _)| is_secret(name)))
    }

    /// True if this kind sets the header with this name: an edit of a request must not name it. `Authorization` is
    /// refused whatever the kind.
    fn sets_header(&self, _name: &str) -> bool {
        false
    }

    /// True if this kind sets the query parameter with this name.
    fn sets_parameter(&self, _name: &str) -> bool {
        false
    }

    /// Puts the secret into the headers; or into path and query, whose new wire form is then returned.
    fn put(
        &self,
        _secret: &SecretValue,
        _headers: &mut HeaderMap,
        _wire: &str,
    ) -> Result<Option<Zeroizing<String>>> {
        Err(elsewhere())
    }

    /// Attaches what is made for this one request.
    fn sign<'a>(&'a self, _request: Unsigned<'a>, _attached: &'a mut Attached) -> Signing<'a> {
        Box::pin(std::future::ready(Err(elsewhere())))
    }

    /// Fetches an access token. An account that a person connected is asked with its refresh token.
    fn fetch<'a>(&'a self, _state: &'a State, _secret: &'a SecretValue, _refresh: &'a str) -> Fetching<'a> {
        Box::pin(std::future::ready(Err(TokenError::Error(elsewhere()))))
    }
}

/// A signature under way.
pub(crate) type Signing<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;
/// A request for a token under way.
pub(crate) type Fetching<'a> = Pin<Box<dyn Future<Output = Result<GrantedToken, TokenError>> + Send + 'a>>;

/// A request to be signed.
pub(crate) struct Unsigned<'a> {
    pub(crate) state: &'a State,
    pub(crate) credential: &'a ResolvedCredential,
    pub(crate) secret: &'a SecretValue,
    pub(crate) method: Method,
    pub(crate) target: &'a Target,
}

/// Parts of a request that a signature changes.
pub(crate) struct Attached {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    /// Strings that must not come back.
    pub(crate) search_strings: SearchStrings,
    pub(crate) client: Client,
    /// The target without parameters that only a signature may have, if it had any.
    pub(crate) target: Option<Target>,
}

/// The behavior of a configuration's kind.
pub(crate) fn behavior(auth: &Auth) -> &dyn Behavior {
    match auth {
        Auth::Bearer(kind) => kind,
        Auth::Header(kind) => kind,
        Auth::Basic(kind) => kind,
        Auth::Query(kind) => kind,
        Auth::Cookie(kind) => kind,
        Auth::Oauth1(kind) => kind,
        Auth::AwsSigv4(kind) => kind,
        Auth::Hmac(kind) => kind,
        Auth::Mtls(kind) => kind,
        Auth::Oauth2Refresh(kind) => kind,
        Auth::Oauth2ClientCredentials(kind) => kind,
        Auth::JwtBearer(kind) => kind,
        Auth::GithubApp(kind) => kind,
        Auth::SigningKey(kind) => kind,
    }
}

/// True if a credential sets the header with this name, or one that hosts take for it.
pub(crate) fn sets_header(auth: Option<&Auth>, name: &str) -> bool {
    headers::is_same("authorization", name) || auth.is_some_and(|auth| behavior(auth).sets_header(name))
}

/// True if a credential sets the query parameter with this name.
pub(crate) fn sets_parameter(auth: Option<&Auth>, name: &str) -> bool {
    auth.is_some_and(|auth| behavior(auth).sets_parameter(name))
}

/// Collects the strings that follow from the stored secret alone. Without `auth` it is the token of a sidecar.
pub(crate) fn collect_from_secret(auth: Option<&Auth>, secret: &SecretValue) -> SearchStrings {
    let mut search_strings = SearchStrings::default();
    match (auth, secret.text()) {
        (Some(auth), _) => behavior(auth).collect_secrets(secret, auth.kind().is_secret, &mut search_strings),
        (None, Some(token)) => bearer::collect_token(token, &mut search_strings),
        (None, None) => {}
    }
    search_strings
}

fn seek_parts(secret: &SecretValue, is_secret: fn(&str) -> bool, search_strings: &mut SearchStrings) {
    secret.named_parts().filter(|(name, _)| is_secret(name)).for_each(|(_, value)| search_strings.add(value));
}

/// Parts of a secret that are too short to be searched for in responses.
pub(crate) fn short_parts(auth: Option<&Auth>, secret: &SecretValue) -> Vec<String> {
    match auth {
        Some(auth) => behavior(auth).short_parts(secret, auth.kind().is_secret),
        None => short(secret.named_parts()),
    }
}

fn short<'s>(parts: impl Iterator<Item = (&'s str, &'s str)>) -> Vec<String> {
    let short = parts.filter(|(_, value)| !value.is_empty() && !is_long(value));
    short.map(|(name, _)| parts::input(name)).collect()
}

fn elsewhere() -> Error {
    Error::NoLongerAllowed("the credential is attached in another way")
}
