//! Input of a request: a page with its query, the name in its path, and a posted form. A form is read only after it is
//! proved to come from our own page.
//!
//! Pages and forms get the state together with the person, so that no handler works for anyone who was not authorized.

use axum::body::Body;
use axum::extract::rejection::FormRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use http::StatusCode;
use http::request::Parts;
use pyxis_core::secret::SecretString;
use pyxis_http::body::announces_more_than;
use serde::de::DeserializeOwned;

use crate::session::HasCsrf;
use crate::{Error, State, csrf};

/// Largest form, in bytes. A policy with its longest lists fits.
pub(crate) const MAX_FORM: usize = 1024 * 1024;

/// The fields of a form, in order. Any of them may be a secret.
#[derive(Debug)]
pub(crate) struct Fields(Vec<(String, SecretString)>);

impl Fields {
    /// The first value of a field; empty if there is none.
    pub(crate) fn get<'a>(&'a self, name: &str) -> &'a str {
        self.all(name).next().unwrap_or("")
    }

    /// The first value without blanks around it.
    pub(crate) fn trimmed(&self, name: &str) -> String {
        self.get(name).trim().to_owned()
    }

    /// Every value of a field.
    pub(crate) fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.expose().as_str())
    }

    /// The fields whose names start with `with`: the rest of the name, and the value.
    pub(crate) fn beginning<'a>(&'a self, with: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let found = self.0.iter().map(move |(field, value)| Some((field.strip_prefix(with)?, value)));
        found.flatten().map(|(rest, value)| (rest, value.expose().as_str()))
    }

    /// True if a checkbox is ticked.
    pub(crate) fn is_checked(&self, name: &str) -> bool {
        !self.get(name).is_empty()
    }

    /// A secret without the line end that pasting adds.
    pub(crate) fn secret(&self, name: &str) -> SecretString {
        SecretString::new(self.get(name).trim_end_matches(['\r', '\n']).to_owned())
    }

    /// The lines of a text area that are not blank.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        self.get(name).lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// A text area as typed, with plain line ends.
    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).replace("\r\n", "\n")
    }
}

/// A page that `W` may see: [`SignedIn`](crate::session::SignedIn) for everyone with an account, or a type that
/// requires more. `Q` is its query; one that cannot be read counts as empty.
pub(crate) struct Page<W, Q = ()> {
    pub(crate) state: State,
    pub(crate) who: W,
    pub(crate) query: Q,
}

impl<W, Q> FromRequestParts<State> for Page<W, Q>
where
    W: FromRequestParts<State, Rejection = Error> + Send,
    Q: DeserializeOwned + Default + Send,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Error> {
        let who = W::from_request_parts(parts, state).await?;
        let QueryParams(query) = QueryParams::from_request_parts(parts, state).await?;
        Ok(Self { state: state.clone(), who, query })
    }
}

/// The one variable segment of a path. One that is not text names nothing.
pub(crate) struct PathId(pub(crate) String);

impl FromRequestParts<State> for PathId {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Error> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        path.map(|Path(text)| Self(text)).map_err(|_| Error::NotFound)
    }
}

/// A second query of a page, such as that of its lists. One that cannot be read counts as empty.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequestParts<State> for QueryParams<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &State) -> Result<Self, Error> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        Ok(Self(query.map(|Query(asked)| asked).unwrap_or_default()))
    }
}

/// Refuses a body that announces more than a form may have, before reading any of it.
pub(crate) fn unannounced(body: &Body) -> Result<(), Error> {
    if announces_more_than(body, MAX_FORM) {
        return Err(Error::BadForm(StatusCode::PAYLOAD_TOO_LARGE));
    }
    Ok(())
}

/// A form and the person or visit that posted it.
pub(crate) struct SubmittedForm<W> {
    pub(crate) state: State,
    pub(crate) who: W,
    pub(crate) fields: Fields,
}

impl<W> FromRequest<State> for SubmittedForm<W>
where
    W: FromRequestParts<State, Rejection = Error> + HasCsrf + Send,
{
    type Rejection = Error;

    async fn from_request(request: Request, state: &State) -> Result<Self, Error> {
        if !csrf::same_origin(request.headers(), &state.gateway.config.base_url) {
            return Err(Error::StaleForm);
        }
        let (mut parts, body) = request.into_parts();
        unannounced(&body)?;
        let who = W::from_request_parts(&mut parts, state).await?;
        let request = Request::from_parts(parts, body);
        let fields = axum::Form::<Vec<(String, SecretString)>>::from_request(request, state).await;
        let fields = Fields(fields.map_err(|error: FormRejection| Error::BadForm(error.status()))?.0);
        if !csrf::matches(who.csrf(), fields.get("csrf")) {
            return Err(Error::StaleForm);
        }
        Ok(Self { state: state.clone(), who, fields })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    #[test]
    fn only_pages_for_everyone_take_the_state_without_a_person() {
        let mut found = BTreeMap::new();
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/pages")).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            found.insert(name, text.matches("Extract<State>").count() + text.matches("State<State>").count());
        }
        found.retain(|_, count| *count > 0);
        // The logo in notifications; an upload that finds out its person before it reads a file; the page on which the
        // scored check their score; the pages to sign in and to open a link.
        let known = [("brand.rs", 1), ("score_jobs.rs", 1), ("self_check.rs", 1), ("sign_in.rs", 2)];
        assert_eq!(found, known.map(|(name, count)| (name.to_owned(), count)).into());
    }
}
