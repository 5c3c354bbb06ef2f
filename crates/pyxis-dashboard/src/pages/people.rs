//! People: owners, admins and members, their invitations, and members' grants.

use axum::response::Response;
use pyxis_core::approval_mode::Role;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::UserId;
use pyxis_core::secret::SecretString;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::rights::{self, Right};
use pyxis_gateway::admin::{credentials, people};
use pyxis_store::Store;
use pyxis_store::lists::{self, CredentialItem, Direction, PersonItem, SortKey};
use pyxis_store::users::UserRow;

use super::agents::unprocessable;
use super::labels::enabled;
use super::list_query::{ListQuery, ListSlot, read};
use super::problem;
use super::table::{By, Table};
use crate::cookies::Cookies;
use crate::error::html;
use crate::form::{Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::{Manager, SignedIn, role_word};
use crate::view::people::{GrantRow, MemberPage, NewPersonPage, PeoplePage, Person, PersonLinkPage};
use crate::view::{Choice, Problems, Timestamp};
use crate::{Error, State, text};

pub(crate) async fn list(
    Page { state, who, query: asked }: Page<Manager, ListQuery>,
) -> Result<Response, Error> {
    let store = &state.gateway.store;
    let list = lists::people(who.person.workspace());
    if let Some(file) = TABLE.file(store, &asked, &list) {
        return Ok(file);
    }
    let (found, search) = TABLE.page(store, "/app/people", &asked, &list).await?;
    let alone = list.count(store, "").await.map_err(Service::from)? < 2;
    let people = found.iter().map(|item| line(state.gateway.now(), &who, item)).collect();
    html(&PeoplePage { shell: who.shell(&state).await?, alone, search, people })
}

const TABLE: Table<PersonItem, SortKey<PersonItem>> = Table {
    name: "people",
    place: ListSlot::First,
    columns: &[
        ("email", By::Text(|item| item.row.email.clone()), PersonItem::EMAIL),
        ("role", By::Text(|item| role_word(item.row.role).to_owned()), PersonItem::ROLE),
        ("state", By::Text(|item| enabled(item.row.disabled_at).to_owned()), PersonItem::STATE),
        ("may_decide", By::Text(may_decide), PersonItem::RIGHTS),
        ("last_sign_in", By::Time(|item| item.row.last_sign_in_at), PersonItem::LAST_SIGN_IN),
        ("added", By::Time(|item| Some(item.row.created_at)), PersonItem::CREATED),
    ],
    usual: "email",
};

/// `everything`, `3 credentials`, `nothing yet`.
fn may_decide(item: &PersonItem) -> String {
    match item.rights {
        _ if item.row.role != Role::Member => "everything".to_owned(),
        0 => "nothing yet".to_owned(),
        count => text::count_noun(u64::try_from(count).unwrap_or(0), "credential"),
    }
}

fn line(now: UnixMillis, who: &SignedIn, item: &PersonItem) -> Person {
    let user = &item.row;
    let you = user.id == who.person.user.id;
    let changeable = !you && may_change(who, user.role);
    Person {
        id: user.id.to_string(),
        email: user.email.clone(),
        role: role_word(user.role).to_owned(),
        roles: if changeable { roles(who, user.role) } else { Vec::new() },
        enabled: user.disabled_at.is_none(),
        you,
        last_seen: user.last_sign_in_at.map(|at| Timestamp::new(at, now)),
        changeable,
        grants: may_decide(item),
        grants_page: (changeable && user.role == Role::Member).then(|| format!("/app/people/{}", user.id)),
    }
}

/// Only an owner changes owners. The same holds for sign-in links, which let anyone become that person.
fn may_change(who: &SignedIn, role: Role) -> bool {
    role != Role::Owner || who.person.is_owner()
}

/// The roles that the viewer may give: only an owner makes owners.
fn roles(who: &SignedIn, chosen: Role) -> Vec<Choice> {
    let owner = who.person.is_owner().then_some(Role::Owner);
    let all = [Some(Role::Member), Some(Role::Admin), owner];
    all.into_iter()
        .flatten()
        .map(|role| Choice {
            value: role.as_str().to_owned(),
            label: role_word(role).to_owned(),
            chosen: role == chosen,
        })
        .collect()
}

pub(crate) async fn new(Page { state, who, .. }: Page<Manager>) -> Result<Response, Error> {
    html(&NewPersonPage {
        shell: who.shell(&state).await?,
        email: String::new(),
        roles: roles(&who, Role::Admin),
        problems: Problems::default(),
    })
}

pub(crate) async fn add(
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let email = fields.trimmed("email");
    let role = Role::from_name(fields.get("role"));
    let problems = match role.filter(|role| may_change(&who, *role)) {
        None => {
            let mut problems = Problems::default();
            problems.add("role", "You cannot assign this role.");
            problems
        }
        Some(role) => match people::add(&state.gateway, &who.person.actor(), &email, role).await {
            Ok((user, link)) => return link_page(&state, &who, &user, &link).await,
            Err(error) => problem(error, "email", |name| if name == "role" { "role" } else { "email" })?,
        },
    };
    let roles = roles(&who, role.unwrap_or(Role::Admin));
    Ok(unprocessable(html(&NewPersonPage { shell: who.shell(&state).await?, email, roles, problems })?))
}

async fn link_page(
    state: &State,
    who: &SignedIn,
    user: &UserRow,
    link: &SecretString,
) -> Result<Response, Error> {
    html(&PersonLinkPage {
        shell: who.shell(state).await?,
        email: user.email.clone(),
        link: link.expose().clone(),
        valid: text::duration(people::LINK_LIFETIME.as_secs()),
    })
}

/// The person to change, if the viewer may change them and it is not the viewer.
async fn other(store: &Store, who: &SignedIn, id: &str) -> Result<Option<UserRow>, Error> {
    let id: UserId = id.parse().map_err(|_| Error::NotFound)?;
    let user = people::get(store, who.person.workspace(), id).await?;
    Ok((user.id != who.person.user.id && may_change(who, user.role)).then_some(user))
}

pub(crate) async fn link(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let Some(user) = other(&state.gateway.store, &who, &id).await? else {
        return Ok(Notice::OwnersOnly.redirect(state.cookies, "/app/people"));
    };
    let link = people::link(&state.gateway, &who.person.actor(), user.id).await?;
    link_page(&state, &who, &user, &link).await
}

pub(crate) async fn disable(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    set_enabled(&state, &who, &id, false).await
}

pub(crate) async fn enable(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    set_enabled(&state, &who, &id, true).await
}

async fn set_enabled(state: &State, who: &SignedIn, id: &str, enabled: bool) -> Result<Response, Error> {
    let Some(user) = other(&state.gateway.store, who, id).await? else {
        return Ok(Notice::OwnersOnly.redirect(state.cookies, "/app/people"));
    };
    let done = people::set_enabled(&state.gateway.audited, &who.person.actor(), user.id, enabled).await;
    respond(state.cookies, done, if enabled { Notice::PersonEnabled } else { Notice::PersonDisabled })
}

pub(crate) async fn role(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let wanted = Role::from_name(fields.get("role")).filter(|role| may_change(&who, *role));
    let (Some(user), Some(wanted)) = (other(&state.gateway.store, &who, &id).await?, wanted) else {
        return Ok(Notice::OwnersOnly.redirect(state.cookies, "/app/people"));
    };
    let done = people::set_role(&state.gateway.audited, &who.person.actor(), user.id, wanted).await;
    respond(state.cookies, done, Notice::RoleChanged)
}

/// A member's grants, credential by credential.
pub(crate) async fn show(
    Page { state, who, query: asked }: Page<Manager, ListQuery>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let Some(user) = other(&state.gateway.store, &who, &id).await?.filter(|user| user.role == Role::Member)
    else {
        return Ok(Notice::MembersOnly.redirect(state.cookies, "/app/people"));
    };
    let rights = rights::load(&state.gateway.store, &user).await?;
    let list = lists::credentials(state.gateway.store.engine(), who.person.workspace(), None);
    let (path, order) = (format!("/app/people/{}", user.id), [(CredentialItem::NAME, Direction::Ascending)]);
    let (all, search) = read(&state.gateway.store, ListSlot::First, &path, &asked, &list, &order).await?;
    let rows = all
        .into_iter()
        .map(|CredentialItem { row, .. }| {
            let right = rights.on(row.id);
            GrantRow { name: row.name, approve: right.approve, policy: right.policy }
        })
        .collect();
    html(&MemberPage {
        shell: who.shell(&state).await?,
        id: user.id.to_string(),
        email: user.email,
        search,
        rows,
    })
}

/// Sets every credential of the form to the ticked rights. A credential that the form did not have stays as it is.
pub(crate) async fn grant(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let Some(user) = other(&state.gateway.store, &who, &id).await?.filter(|user| user.role == Role::Member)
    else {
        return Ok(Notice::MembersOnly.redirect(state.cookies, "/app/people"));
    };
    let before = rights::load(&state.gateway.store, &user).await?;
    for name in fields.all("credential") {
        let ticked = |field: &str| fields.all(field).any(|ticked| ticked == name);
        let wanted = Right { approve: ticked("approve"), policy: ticked("policy") };
        let row = match credentials::get(&state.gateway.store, who.person.workspace(), name).await {
            Err(Service::NotFound(_)) => continue,
            found => found?,
        };
        if before.on(row.id) != wanted {
            rights::set(&state.gateway.audited, &who.person.actor(), user.id, name, wanted).await?;
        }
    }
    Ok(Notice::RightsSaved.redirect(state.cookies, &format!("/app/people/{}", user.id)))
}

pub(crate) async fn withdraw(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let Some(user) = other(&state.gateway.store, &who, &id).await? else {
        return Ok(Notice::OwnersOnly.redirect(state.cookies, "/app/people"));
    };
    let notice = match people::withdraw_invitation(&state.gateway.audited, &who.person.actor(), user.id).await
    {
        Ok(()) => Notice::InvitationWithdrawn,
        Err(Service::Conflict(_)) => Notice::SignedInAlready,
        Err(error) => return Err(error.into()),
    };
    Ok(notice.redirect(state.cookies, "/app/people"))
}

fn respond(cookies: Cookies, done: Result<UserRow, Service>, good: Notice) -> Result<Response, Error> {
    match done {
        Ok(_) => Ok(good.redirect(cookies, "/app/people")),
        Err(Service::Conflict(_)) => Ok(Notice::LastOwner.redirect(cookies, "/app/people")),
        Err(error) => Err(error.into()),
    }
}
