//! The person's own account: passkeys, tokens and rights.

use askama::Template;

use super::{Choice, Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/account`. Posts: `/app/account/passkeys` (`name`, `ceremony`, `credential`, after
/// `/app/account/passkeys/begin`), `/app/account/passkeys/{id}/rename` (`name`) and `/remove`;
/// `/app/account/password` (`password`, `new_password`, `new_password_again`). More posts:
/// `/app/account/quiet-hours` (`time_zone`, `from`, `to`) and `/app/account/quiet-hours/remove`;
/// `/app/account/tokens` (`name`, `scope` each, `expires_in_days`), `/app/account/tokens/{id}/revoke`.
#[derive(Clone, Debug, Template)]
#[template(path = "account.html")]
pub struct AccountPage {
    pub shell: Layout,
    /// The search field, and the pages of rights; passkeys and tokens are few.
    pub search: Search,
    pub passkeys: Vec<Passkey>,
    /// Tokens, newest first.
    pub tokens: Vec<Token>,
    /// Rights of a member: `billing: approve, policy`.
    pub grants: Vec<String>,
    /// The form for a new token.
    pub token_form: TokenForm,
    /// Hours in which messages to the person wait.
    pub quiet_hours: QuietHoursForm,
    /// True if there is a password, which is then required to change it.
    pub has_password: bool,
    /// Problems with the form for a new password.
    pub password_problems: Problems,
}

#[derive(Clone, Debug)]
pub struct Passkey {
    pub id: String,
    /// Name chosen by the person.
    pub name: String,
    /// Registration.
    pub added: Timestamp,
    /// Last ceremony.
    pub used: Option<Timestamp>,
}

/// A personal access token.
#[derive(Clone, Debug)]
pub struct Token {
    pub id: String,
    /// Name chosen by the person.
    pub name: String,
    /// Its first characters.
    pub hint: String,
    /// `px:approve, px:admin`.
    pub scopes: String,
    pub used: Option<Timestamp>,
    /// Expiry; `None` means never.
    pub expires: Option<Timestamp>,
    /// True if it has expired.
    pub over: bool,
}

#[derive(Clone, Debug, Default)]
pub struct QuietHoursForm {
    /// True if quiet hours are set, so that they can be removed.
    pub is_set: bool,
    /// IANA name.
    pub time_zone: String,
    /// `22:00`.
    pub from: String,
    /// `07:00`.
    pub to: String,
    pub problems: Problems,
}

/// The form for a new token.
#[derive(Clone, Debug)]
pub struct TokenForm {
    /// As typed.
    pub name: String,
    /// The scopes this person may give.
    pub scopes: Vec<Choice>,
    pub lifetimes: Vec<Choice>,
    pub problems: Problems,
}

/// Response to adding a token: shows the token once. Never cached.
#[derive(Clone, Template)]
#[template(path = "token_shown.html")]
pub struct TokenShownPage {
    pub shell: Layout,
    pub name: String,
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
