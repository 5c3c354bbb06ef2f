//! The person's own account: passkeys, personal access tokens and quiet hours.

use axum::response::Response;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AccessTokenId, PasskeyId};
use pyxis_core::quiet_hours::QuietHours;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::tokens::{self, Scopes};
use pyxis_gateway::admin::{passkeys, quiet_hours};
use pyxis_store::access_tokens::AccessTokenRow;
use pyxis_store::lists::{self, RightItem};

use super::agents::unprocessable;
use super::ceremony::{answer, challenge};
use super::list_query::{ListQuery, ListSlot, read};
use super::problem;
use crate::error::html;
use crate::form::{Fields, Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::SignedIn;
use crate::view::account::{AccountPage, Passkey, QuietHoursForm, Token, TokenForm, TokenShownPage};
use crate::view::{Choice, Problems, Timestamp};
use crate::{Error, State};

pub(super) const HERE: &str = "/app/account";

/// Forms of the page as they were typed.
pub(super) struct AccountForms {
    pub(super) token: TokenForm,
    pub(super) password_problems: Problems,
    /// `None` for the stored ones.
    pub(super) quiet_hours: Option<QuietHoursForm>,
}

impl AccountForms {
    pub(super) fn new(token: TokenForm) -> Self {
        Self { token, password_problems: Problems::default(), quiet_hours: None }
    }
}

pub(crate) async fn page(
    Page { state, who, query: asked }: Page<SignedIn, ListQuery>,
) -> Result<Response, Error> {
    let form = token_form(&who, None, Problems::default());
    show(&state, &who, &asked, AccountForms::new(form)).await
}

pub(super) async fn show(
    state: &State,
    who: &SignedIn,
    asked: &ListQuery,
    forms: AccountForms,
) -> Result<Response, Error> {
    let now = state.gateway.now();
    let quiet_hours = if let Some(typed) = forms.quiet_hours {
        typed
    } else {
        quiet_hours_form(quiet_hours::get(&state.gateway.store, &who.person.user).await?.as_ref())
    };
    let mut mine = passkeys::list(&state.gateway.store, &who.person.user).await?;
    let tokens = tokens::list(&state.gateway.store, who.person.workspace(), Some(who.person.user.id)).await?;
    let mut tokens: Vec<Token> = tokens.into_iter().map(|row| token(state.gateway.now(), row)).collect();
    mine.retain(|row| asked.fits([row.name.as_str()]));
    tokens.retain(|line| asked.fits([line.name.as_str(), &line.hint, &line.scopes]));
    let list = lists::rights(who.person.workspace(), who.person.user.id);
    let (rights, search) = read(&state.gateway.store, ListSlot::First, HERE, asked, &list, &[]).await?;
    html(&AccountPage {
        shell: who.shell(state).await?,
        search,
        passkeys: mine
            .into_iter()
            .map(|row| Passkey {
                id: row.id.to_string(),
                name: row.name,
                added: Timestamp::new(row.created_at, now),
                used: row.last_used_at.map(|at| Timestamp::new(at, now)),
            })
            .collect(),
        tokens,
        grants: rights.iter().map(right).collect(),
        token_form: forms.token,
        quiet_hours,
        has_password: who.person.user.password_hash.is_some(),
        password_problems: forms.password_problems,
    })
}

fn quiet_hours_form(stored: Option<&QuietHours>) -> QuietHoursForm {
    stored.map_or_else(QuietHoursForm::default, |hours| QuietHoursForm {
        is_set: true,
        time_zone: hours.zone().to_owned(),
        from: hours.from_text(),
        to: hours.to_text(),
        problems: Problems::default(),
    })
}

fn token(now: UnixMillis, row: AccessTokenRow) -> Token {
    Token {
        id: row.id.to_string(),
        scopes: tokens::scopes(&row).names().join(", "),
        name: row.name,
        hint: format!("{}…", row.hint),
        used: row.last_used_at.map(|at| Timestamp::new(at, now)),
        expires: row.expires_at.map(|at| Timestamp::new(at, now)),
        over: row.expires_at.is_some_and(|at| at <= now),
    }
}

/// A member's rights on a credential, in words.
fn right(item: &RightItem) -> String {
    let verbs = match (item.can_approve, item.can_edit_policy) {
        (true, true) => "decide requests and propose policies",
        (true, false) => "decide requests",
        _ => "propose policies",
    };
    format!("{}: {verbs}", item.credential)
}

pub(super) fn token_form(who: &SignedIn, typed: Option<&Fields>, problems: Problems) -> TokenForm {
    let ticked = |name: &str| typed.is_some_and(|fields| fields.all("scope").any(|scope| scope == name));
    let scope = |name: &str, label: &str| Choice {
        value: name.to_owned(),
        label: format!("{name}: {label}"),
        chosen: ticked(name),
    };
    let mut scopes = vec![scope(Scopes::APPROVE, "read and decide approval requests")];
    if who.person.user.role.is_manager() {
        scopes.push(scope(Scopes::ADMIN, "manage agents, credentials, policies, people and scoring"));
    }
    let days = typed.map_or("90", |fields| fields.get("expires_in_days"));
    let lifetime = |value: &str, label: &str| Choice {
        value: value.to_owned(),
        label: label.to_owned(),
        chosen: value == days,
    };
    TokenForm {
        name: typed.map(|fields| fields.trimmed("name")).unwrap_or_default(),
        scopes,
        lifetimes: vec![
            lifetime("30", "30 days"),
            lifetime("90", "90 days"),
            lifetime("365", "1 year"),
            lifetime("", "Until revoked"),
        ],
        problems,
    }
}

pub(crate) async fn add_token(
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    match make_token(&state.gateway, &who, &fields).await {
        Ok((row, token)) => {
            let curl = format!(
                "curl {}/approvals -H 'Authorization: Bearer {token}'",
                state.gateway.config.base_url
            );
            html(&TokenShownPage { shell: who.shell(&state).await?, name: row.name, token, curl })
        }
        Err(error) => {
            let field = |name: &str| match name {
                "scopes" => "scopes",
                "expires_in_days" => "expires_in_days",
                _ => "name",
            };
            let problems = problem(error, "name", field)?;
            let form = token_form(&who, Some(&fields), problems);
            Ok(unprocessable(show(&state, &who, &ListQuery::default(), AccountForms::new(form)).await?))
        }
    }
}

async fn make_token(
    gateway: &pyxis_gateway::State,
    who: &SignedIn,
    fields: &Fields,
) -> Result<(AccessTokenRow, String), Service> {
    let scopes = Scopes::parse(fields.all("scope"))?;
    let days = match fields.get("expires_in_days") {
        "" => None,
        text => Some(
            text.parse().map_err(|_| Service::field("expires_in_days", "choose one of the listed values"))?,
        ),
    };
    let name = fields.trimmed("name");
    let (row, token) = tokens::create(gateway, &who.person, &name, scopes, days).await?;
    Ok((row, token.expose().clone()))
}

pub(crate) async fn revoke_token(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let id: AccessTokenId = id.parse().map_err(|_| Error::NotFound)?;
    tokens::revoke(&state.gateway.audited, &who.person, id).await?;
    Ok(Notice::TokenRevoked.redirect(state.cookies, HERE))
}

/// The challenge for a new passkey.
pub(crate) async fn begin_passkey(
    SubmittedForm { state, who, .. }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    challenge(passkeys::begin_register(&state.gateway, &who.person).await)
}

pub(crate) async fn add_passkey(
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let Some(given) = answer(&fields) else {
        return Ok(Notice::PasskeyFailed.redirect(state.cookies, HERE));
    };
    let name = fields.trimmed("name");
    let notice = match passkeys::register(&state.gateway, &who.person, &name, &given).await {
        Ok(_) => Notice::PasskeyAdded,
        Err(Service::PasskeyRefused(_) | Service::InvalidField { .. } | Service::Conflict(_)) => {
            Notice::PasskeyFailed
        }
        Err(error) => return Err(error.into()),
    };
    Ok(notice.redirect(state.cookies, HERE))
}

fn passkey_id(text: &str) -> Result<PasskeyId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

pub(crate) async fn rename_passkey(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    passkeys::rename(&state.gateway.audited, &who.person, passkey_id(&id)?, &fields.trimmed("name")).await?;
    Ok(Notice::PasskeyRenamed.redirect(state.cookies, HERE))
}

pub(crate) async fn remove_passkey(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    passkeys::remove(&state.gateway.audited, &who.person, passkey_id(&id)?).await?;
    Ok(Notice::PasskeyRemoved.redirect(state.cookies, HERE))
}
