//! Pages for a person who is not signed in.

use askama::Template;

/// `GET /sign-in` and its answer when it failed. Posts to `/sign-in`: `csrf`, `email`, `password`,
/// `next` (a path of this site to go on to; may be empty). With a passkey to `/sign-in/passkey`: `csrf`,
/// `next`, `ceremony`, `credential`, after `/sign-in/passkey/begin` gave the challenge.
#[derive(Clone, Debug, Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage {
    /// Token of the visit (there is no session yet).
    pub csrf: String,
    /// What was typed before.
    pub email: String,
    /// Where to go after; a path of this site, already validated.
    pub next: String,
    /// What the person came for: `Sign in to decide a request.`
    pub purpose: Option<String>,
    /// The last try.
    pub state: SignInState,
}

/// What the last try came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInState {
    /// No try yet.
    Fresh,
    /// E-mail or password wrong; never says which.
    Wrong,
    /// Too many tries.
    Locked {
        /// `12 minutes`.
        wait: String,
    },
    /// Address and password fit people of several workspaces.
    Ambiguous,
    /// A passkey was refused.
    PasskeyRefused,
    /// The session ended or the form was stale.
    Ended,
}

/// `GET /link/{token}`: a one-time link. Opening it decides nothing; the button does. Posts to
/// `/link/{token}`: `csrf`, `password` and `password_again` (both may be empty without
/// `set_password`: the present password stays).
#[derive(Clone, Debug, Template)]
#[template(path = "link.html")]
pub struct LinkPage {
    /// Token of the visit.
    pub csrf: String,
    /// The link's own token.
    pub token: String,
    /// Who it signs in.
    pub email: String,
    /// Into which workspace.
    pub workspace: String,
    /// True if a password must be set; else one may be.
    pub set_password: bool,
    /// What was wrong with the password.
    pub problem: Option<String>,
}

/// Minimum length of a password, in characters.
pub const PASSWORD_MIN: usize = *pyxis_gateway::admin::sessions::PASSWORD.start();
