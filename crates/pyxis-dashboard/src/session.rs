//! Authentication by the session cookie.

use axum::extract::FromRequestParts;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, Method};
use pyxis_core::approval_mode::Role;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::CredentialId;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::rights::{self, Rights};
use pyxis_gateway::admin::sessions::{self, Person, SESSION_LIFETIME};
use pyxis_gateway::admin::workspaces;
use pyxis_gateway::approvals::view;
use pyxis_gateway::approvals::viewer_status::NOT_YOURS;
use pyxis_store::Store;
use pyxis_store::sessions::SessionKind;

use crate::cookies::{Cookie, Cookies, append};
use crate::notice::Notice;
use crate::view::{Flash, Layout};
use crate::{Error, State, csrf};

/// A person or visit that can post forms.
pub(crate) trait HasCsrf {
    /// The token that their forms repeat.
    fn csrf(&self) -> &str;
}

/// A signed-in person.
pub(crate) struct SignedIn {
    pub(crate) person: Person,
    pub(crate) rights: Rights,
    flash: Option<Flash>,
}

/// A signed-in owner or admin.
pub(crate) struct Manager(pub(crate) SignedIn);

/// A signed-in owner or admin, and the scoring that they manage. Without scoring, its pages do not exist.
pub(crate) struct ScoringManager(pub(crate) Manager, pub(crate) pyxis_scoring::State);

/// A browser that is not signed in, or whose session does not matter here.
pub(crate) struct AnonymousVisit {
    token: String,
}

impl SignedIn {
    /// The frame of the person's page.
    pub(crate) async fn shell(&self, state: &State) -> Result<Layout, Error> {
        let workspace = workspaces::get(&state.gateway.store, self.person.workspace()).await?;
        let user = &self.person.user;
        Ok(Layout {
            csrf: self.person.session.csrf.clone(),
            user: user.email.clone(),
            role: role_word(user.role).to_owned(),
            workspace: workspace.name,
            manager: user.role.is_manager(),
            scoring: state.scoring.is_some(),
            verification: state.verify.get().is_some(),
            pending: self.pending(&state.gateway.store, state.gateway.now()).await?,
            flash: self.flash.clone(),
        })
    }
}

impl SignedIn {
    /// Refuses anyone who may not see this credential's requests.
    pub(crate) fn require_approve(&self, credential: CredentialId) -> Result<(), Error> {
        if self.rights.may_approve(credential) { Ok(()) } else { Err(Service::NotEligible(NOT_YOURS).into()) }
    }

    /// Refuses anyone who may not change this credential's policy.
    pub(crate) fn require_policy(&self, credential: CredentialId) -> Result<(), Error> {
        let why = "this credential was not assigned to you with the Policy grant";
        if self.rights.may_edit(credential) { Ok(()) } else { Err(Service::Forbidden(why).into()) }
    }

    async fn pending(&self, store: &Store, now: UnixMillis) -> Result<u64, Error> {
        let among = self.rights.approvable();
        Ok(view::pending(store, now, self.person.workspace(), among.as_deref()).await?)
    }
}

impl std::ops::Deref for Manager {
    type Target = SignedIn;

    fn deref(&self) -> &SignedIn {
        &self.0
    }
}

impl HasCsrf for SignedIn {
    fn csrf(&self) -> &str {
        &self.person.session.csrf
    }
}

impl HasCsrf for Manager {
    fn csrf(&self) -> &str {
        self.0.csrf()
    }
}

impl HasCsrf for ScoringManager {
    fn csrf(&self) -> &str {
        self.0.csrf()
    }
}

impl HasCsrf for AnonymousVisit {
    fn csrf(&self) -> &str {
        &self.token
    }
}

/// The person behind the session cookie. A bearer token in a cookie authenticates no one.
pub(crate) async fn person(state: &State, headers: &HeaderMap) -> Result<Option<Person>, Error> {
    let Some(token) = state.cookies.read(headers, Cookie::Session) else { return Ok(None) };
    match sessions::find(&state.gateway.store, token, state.gateway.now()).await {
        Ok(person) if person.session.kind == SessionKind::Browser => Ok(Some(person)),
        Ok(_) | Err(pyxis_gateway::Error::Unauthenticated) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl FromRequestParts<State> for SignedIn {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Error> {
        match person(state, &parts.headers).await? {
            Some(person) => {
                let code = state.cookies.read(&parts.headers, Cookie::Notice);
                let rights = rights::load(&state.gateway.store, &person.user).await?;
                Ok(Self { person, rights, flash: code.and_then(Notice::from_code).map(Notice::flash) })
            }
            None if parts.method == Method::GET => {
                let here = parts.uri.path_and_query().map_or("", |path| path.as_str());
                Err(Error::SignedOut { next: local_path(here).map(str::to_owned) })
            }
            None => Err(Error::Ended),
        }
    }
}

impl FromRequestParts<State> for Manager {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Error> {
        let who = SignedIn::from_request_parts(parts, state).await?;
        who.person.require_manager()?;
        Ok(Self(who))
    }
}

impl FromRequestParts<State> for ScoringManager {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Error> {
        let scoring = state.scoring.clone().ok_or(Error::NotFound)?;
        Ok(Self(Manager::from_request_parts(parts, state).await?, scoring))
    }
}

impl FromRequestParts<State> for AnonymousVisit {
    type Rejection = Error;

    /// For a form, the token must match the cookie's: without a cookie there is nothing to compare with.
    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Error> {
        let cookie = state.cookies.read(&parts.headers, Cookie::Visit);
        if parts.method != Method::GET && cookie.is_none() {
            return Err(Error::StaleForm);
        }
        Ok(Self { token: csrf::visit_token(cookie, &*state.gateway.entropy) })
    }
}

impl AnonymousVisit {
    /// Stores the visit in the browser.
    pub(crate) fn set_cookie(&self, cookies: Cookies, mut response: Response) -> Response {
        append(&mut response, cookies.set(Cookie::Visit, &self.token, SESSION_LIFETIME));
        response
    }
}

/// Stores the session in the browser, replacing the visit.
pub(crate) fn begin(cookies: Cookies, opened: &sessions::OpenedSession, mut response: Response) -> Response {
    append(&mut response, cookies.set(Cookie::Session, opened.token.expose(), SESSION_LIFETIME));
    append(&mut response, cookies.clear(Cookie::Visit));
    response
}

/// Removes the session from the browser.
pub(crate) fn end(cookies: Cookies, mut response: Response) -> Response {
    append(&mut response, cookies.clear(Cookie::Session));
    response
}

/// `Owner`, `Admin`, `Member`.
pub(crate) fn role_word(role: Role) -> &'static str {
    match role {
        Role::Owner => "Owner",
        Role::Admin => "Admin",
        Role::Member => "Member",
    }
}

/// Longest path to return to after sign-in. The consent page has a client's whole request in its query.
const MAX_NEXT: usize = 4096;

/// `text` if it is one of our pages to go on to after signing in; nothing that a browser could read as another site.
pub(crate) fn local_path(text: &str) -> Option<&str> {
    let ours = text.starts_with("/app/") || text.starts_with("/approve/");
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') && !text.contains("//");
    let page = !text.starts_with("/app/events")
        && !text.starts_with("/app/audit/export")
        && !text.contains("export=");
    (ours && plain && page && text.len() <= MAX_NEXT).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_ours_are_gone_on_to() {
        for good in ["/app/inbox", "/app/audit?q=a%20b", "/approve/3f2b8c1e-55d0-4a6e-9b1f-7a0c2d9e4f10"] {
            assert_eq!(local_path(good), Some(good));
        }
        for bad in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example/app/",
            "/app//evil.example",
            "/app/\\evil",
            "/app/a\nb",
            "/sign-in",
            "/app/events",
            "/app/audit/export.csv",
            "/app/agents?q=bot&export=agents",
            "/forward",
        ] {
            assert_eq!(local_path(bad), None, "{bad}");
        }
    }
}
