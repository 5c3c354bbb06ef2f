//! One's own account: passkeys, tokens, and what one may do.

use askama::Template;

use super::{Choice, Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/account`. Posts: `/app/account/passkeys` (`name`, `ceremony`, `credential`, after
/// `/app/account/passkeys/begin`), `/app/account/passkeys/{id}/rename` (`name`) and `/remove`;
/// `/app/account/password` (`password`, `new_password`, `new_password_again`);
/// `/app/account/tokens` (`name`, `scope` each, `expires_in_days`), `/app/account/tokens/{id}/revoke`.
#[derive(Clone, Debug, Template)]
#[template(path = "account.html")]
pub struct AccountPage {
    /// The frame.
    pub shell: Layout,
    /// The search field, and the pages of what was granted; passkeys and tokens are few.
    pub search: Search,
    /// Registered passkeys.
    pub passkeys: Vec<Passkey>,
    /// Tokens, newest first.
    pub tokens: Vec<Token>,
    /// What a member was granted: `billing: approve, policy`.
    pub grants: Vec<String>,
    /// The form for a new token.
    pub token_form: TokenForm,
    /// True if there is a password to be asked for before it is changed.
    pub has_password: bool,
    /// What is wrong with the form for another password.
    pub password_problems: Problems,
}

/// A passkey.
#[derive(Clone, Debug)]
pub struct Passkey {
    /// Its id.
    pub id: String,
    /// What the person calls it.
    pub name: String,
    /// Registration.
    pub added: Timestamp,
    /// Last ceremony.
    pub used: Option<Timestamp>,
}

/// A personal access token.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its id.
    pub id: String,
    /// What the person calls it.
    pub name: String,
    /// Its first characters.
    pub hint: String,
    /// `px:approve, px:admin`.
    pub scopes: String,
    /// Last use.
    pub used: Option<Timestamp>,
    /// When it ends; `None` is never.
    pub expires: Option<Timestamp>,
    /// True if it is over.
    pub over: bool,
}

/// A token in the making.
#[derive(Clone, Debug)]
pub struct TokenForm {
    /// As typed.
    pub name: String,
    /// The scopes this person may give.
    pub scopes: Vec<Choice>,
    /// Lifetimes.
    pub lifetimes: Vec<Choice>,
    /// What is wrong.
    pub problems: Problems,
}

/// The answer to making a token: the token, this once. Never cached.
#[derive(Clone, Template)]
#[template(path = "token_shown.html")]
pub struct TokenShownPage {
    /// The frame.
    pub shell: Layout,
    /// Its name.
    pub name: String,
    /// The token.
    pub token: String,
    /// A `curl` that uses it.
    pub curl: String,
}

impl std::fmt::Debug for TokenShownPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenShownPage").field("name", &self.name).finish_non_exhaustive()
    }
}

in_section!(AccountPage => Account, TokenShownPage => Account);
