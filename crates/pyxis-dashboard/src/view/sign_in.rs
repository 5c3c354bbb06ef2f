//! Pages for people who are not signed in.

use askama::Template;

/// `GET /sign-in`, and the response to a failed attempt. Posts to `/sign-in`: `csrf`, `email`, `password`, `next` (a
/// path of this site to go on to; may be empty). With a passkey, posts to `/sign-in/passkey`: `csrf`, `next`,
/// `ceremony`, `credential`, after `/sign-in/passkey/begin` returned the challenge.
#[derive(Clone, Debug, Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage {
    /// CSRF token of the visit (there is no session yet).
    pub csrf: String,
    /// E-mail address as typed.
    pub email: String,
    /// Path to go on to; on this site, already validated.
    pub next: String,
    /// Purpose of signing in: `Sign in to decide a request.`
    pub purpose: Option<String>,
    /// Result of the last attempt.
    pub state: SignInState,
}

/// Result of the last attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInState {
    /// No attempt yet.
    Fresh,
    /// E-mail or password wrong; never says which.
    Wrong,
    /// Too many attempts.
    Locked {
        /// `12 minutes`.
        wait: String,
    },
    /// E-mail address and password match people of several workspaces.
    Ambiguous,
    /// A passkey was refused.
    PasskeyRefused,
    /// The session ended or the form was stale.
    Ended,
}

/// `GET /link/{token}`: a one-time link. Opening it changes nothing; the button does. Posts to `/link/{token}`: `csrf`,
/// `password` and `password_again`. Without `set_password` both may be empty, which keeps the current password.
#[derive(Clone, Debug, Template)]
#[template(path = "link.html")]
pub struct LinkPage {
    /// CSRF token of the visit.
    pub csrf: String,
    /// The link's own token.
    pub token: String,
    /// Person whom it signs in.
    pub email: String,
    /// Their workspace.
    pub workspace: String,
    /// True if a password must be set; otherwise it is optional.
    pub set_password: bool,
    /// Problem with the password.
    pub problem: Option<String>,
}

/// Minimum length of a password, in characters.
pub const PASSWORD_MIN: usize = *pyxis_gateway::admin::sessions::PASSWORD.start();
