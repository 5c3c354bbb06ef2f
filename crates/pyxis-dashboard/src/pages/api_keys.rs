//! API keys of the scoring surface, and their access to history.

use axum::response::Response;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, HistoryRequestId};
use pyxis_core::secret::SecretString;
use pyxis_core::window;
use pyxis_scoring::limit_of_stamps;
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_scoring::service::{Error as Service, history_requests, scorers};
use pyxis_store::Store;
use pyxis_store::api_keys::{ApiKeyChange, ApiKeyRow};
use pyxis_store::audit::AuditedStore;
use pyxis_store::history_requests::{HistoryRequestRow, RequestState};
use pyxis_store::lists::{self, ApiKeyItem, HistoryRequestItem, Slice, SortKey};

use super::agents::unprocessable;
use super::api_key_form as form;
use super::key_usage::{self, budget};
use super::list_query::{ListQuery, ListSlot};
use super::publishable_key_form;
use super::scoring::{A_KEY, EXAMPLE_ADDRESS, curl_command, problem};
use super::table::{By, Table};
use crate::cookies::Cookies;
use crate::error::html;
use crate::form::{Fields, Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::{ScoringManager, SignedIn};
use crate::view::api_keys::{
    ApiKeyForm, ApiKeyLine, ApiKeyPage, ApiKeyShownPage, ApiKeysPage, HistoryAccess, HistoryRequest,
    NewApiKeyPage, PublishableSettings,
};
use crate::view::{DecisionBadge, Timestamp};
use crate::{Error, State};

const LIST: &str = "/app/api-keys";

pub(crate) async fn list(
    Page { state, who: ScoringManager(who, scoring), query: wanted }: Page<ScoringManager, ListQuery>,
) -> Result<Response, Error> {
    let (store, now) = (&scoring.store, state.gateway.now());
    let keys = lists::api_keys(who.person.workspace(), window::quarter_start(now));
    let requests = lists::history_requests(who.person.workspace(), None);
    if let Some(file) = KEYS.file(store, &wanted, &keys).or_else(|| REQUESTS.file(store, &wanted, &requests))
    {
        return Ok(file);
    }
    let (keys, search) = KEYS.page(store, LIST, &wanted, &keys).await?;
    let keys = keys.iter().map(|key| line(&key.row, key.used, now)).collect();
    let (requests, request_search) = REQUESTS.page(store, LIST, &wanted, &requests).await?;
    let requests = requests.into_iter().map(|item| history_request(item.row, item.key, now)).collect();
    let scorer = first_scorer(&scoring.store, scoring.now(), &who).await?;
    let ask = curl_command(&state.gateway.config, &scorer, EXAMPLE_ADDRESS, A_KEY);
    let shell = who.shell(&state).await?;
    html(&ApiKeysPage { shell, search, keys, request_search, requests, ask })
}

/// The number of a scorer to try.
async fn first_scorer(store: &Store, now: UnixMillis, who: &SignedIn) -> Result<String, Error> {
    let all = scorers::list(store, who.person.workspace(), now).await?;
    Ok(all.first().map_or_else(|| "1".to_owned(), |row| row.id.to_string()))
}

const KEYS: Table<ApiKeyItem, SortKey<ApiKeyItem>> = Table {
    name: "api-keys",
    place: ListSlot::First,
    columns: &[
        ("name", By::Text(|key| key.row.name.clone()), ApiKeyItem::NAME),
        ("begins_with", By::Text(|key| key.row.key_hint.clone()), ApiKeyItem::HINT),
        (
            "state",
            By::Text(|key| if key.row.revoked_at.is_none() { "live" } else { "revoked" }.to_owned()),
            ApiKeyItem::STATE,
        ),
        ("may", By::Text(|key| may(&key.row)), ApiKeyItem::PERMISSIONS),
        ("budget", By::Number(|key| limit(&key.row)), ApiKeyItem::BUDGET),
        ("used", By::Number(|key| key.used), ApiKeyItem::USED),
        ("last_use", By::Time(|key| key.row.last_used_at), ApiKeyItem::LAST_USED),
        ("created", By::Time(|key| Some(key.row.created_at)), ApiKeyItem::CREATED),
    ],
    usual: "created",
};

const REQUESTS: Table<HistoryRequestItem, SortKey<HistoryRequestItem>> = Table {
    name: "history-requests",
    place: ListSlot::Second,
    columns: &[
        ("key", By::Text(|one| one.key.clone()), HistoryRequestItem::KEY),
        ("use_case", By::Text(|one| one.row.use_case.clone()), HistoryRequestItem::USE_CASE),
        ("asked_by", By::Text(|one| one.row.requested_by.clone()), HistoryRequestItem::REQUESTED_BY),
        ("asked", By::Time(|one| Some(one.row.created_at)), HistoryRequestItem::REQUESTED),
        ("state", By::Text(|one| one.row.state.as_str().to_owned()), HistoryRequestItem::STATE),
        (
            "decided_by",
            By::Text(|one| one.row.decided_by.clone().unwrap_or_default()),
            HistoryRequestItem::DECIDED_BY,
        ),
        ("decided", By::Time(|one| one.row.decided_at), HistoryRequestItem::DECIDED),
    ],
    usual: "-asked",
};

/// Requests to the Stamps endpoints that a window admits.
fn limit(row: &ApiKeyRow) -> i64 {
    limit_of_stamps(row.stamps_tier, row.stamps_limit)
}

/// `reads, writes, history`, `nothing`.
fn may(row: &ApiKeyRow) -> String {
    if api_keys::is_publishable(row) {
        return "widget in pages".to_owned();
    }
    let may = [(row.can_read, "reads"), (row.can_write, "writes"), (row.can_read_history, "history")];
    let may: Vec<&str> = may.into_iter().filter_map(|(may, word)| may.then_some(word)).collect();
    if may.is_empty() { "nothing".to_owned() } else { may.join(", ") }
}

fn line(row: &ApiKeyRow, used: i64, now: UnixMillis) -> ApiKeyLine {
    let limit = limit(row);
    ApiKeyLine {
        id: row.id.to_string(),
        name: row.name.clone(),
        hint: format!("{}…", row.key_hint),
        live: row.revoked_at.is_none(),
        tier: budget(row.stamps_tier, limit),
        used: key_usage::part(used, limit),
        permissions: may(row),
        last_used: row.last_used_at.map(|at| Timestamp::new(at, now)),
    }
}

fn history_request(row: HistoryRequestRow, key: String, now: UnixMillis) -> HistoryRequest {
    HistoryRequest {
        id: row.id.to_string(),
        key_id: row.api_key_id.to_string(),
        key,
        use_case: row.use_case,
        by: row.requested_by,
        at: Timestamp::new(row.created_at, now),
        state: match row.state {
            RequestState::Pending => DecisionBadge::Pending,
            RequestState::Approved => DecisionBadge::Approved,
            RequestState::Refused => DecisionBadge::Denied,
        },
        decided: row.decided_by.zip(row.decided_at).map(|(by, at)| (by, Timestamp::new(at, now))),
    }
}

pub(crate) async fn new(
    Page { state, who: ScoringManager(who, _), .. }: Page<ScoringManager>,
) -> Result<Response, Error> {
    html(&NewApiKeyPage { shell: who.shell(&state).await?, form: form::blank() })
}

pub(crate) async fn add(
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let problems = match form::read(&fields) {
        Err(problems) => problems,
        Ok(wanted) => {
            let input = ApiKeyInput {
                name: wanted.name,
                stamps: wanted.stamps,
                models: wanted.models,
                can_read: wanted.can_read,
                can_write: wanted.can_write,
                publishable: None,
            };
            match api_keys::create(&scoring, &who.person.actor(), input).await {
                Ok((row, key)) => return key_page(&state, &scoring, &who, &row, &key).await,
                Err(error) => problem(error, form::field)?,
            }
        }
    };
    let form = form::typed(&fields, problems);
    Ok(unprocessable(html(&NewApiKeyPage { shell: who.shell(&state).await?, form })?))
}

async fn key_page(
    state: &State,
    scoring: &pyxis_scoring::State,
    who: &SignedIn,
    row: &ApiKeyRow,
    key: &SecretString,
) -> Result<Response, Error> {
    let scorer = first_scorer(&scoring.store, scoring.now(), who).await?;
    html(&ApiKeyShownPage {
        shell: who.shell(state).await?,
        id: row.id.to_string(),
        name: row.name.clone(),
        key: key.expose().clone(),
        can_read: row.can_read,
        ask: curl_command(&state.gateway.config, &scorer, EXAMPLE_ADDRESS, key.expose()),
        embed: None,
    })
}

/// Parses an API key id. A malformed one is not found.
fn key_id(text: &str) -> Result<ApiKeyId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

fn path(id: ApiKeyId) -> String {
    format!("{LIST}/{id}")
}

pub(crate) async fn show(
    Page { state, who: ScoringManager(who, scoring), .. }: Page<ScoringManager>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = api_keys::get(&scoring.store, who.person.workspace(), key_id(&id)?).await?;
    page(&state, &scoring, &who, &row, form::from_row(&row), String::new()).await
}

async fn page(
    state: &State,
    scoring: &pyxis_scoring::State,
    who: &SignedIn,
    row: &ApiKeyRow,
    form: ApiKeyForm,
    use_case: String,
) -> Result<Response, Error> {
    let publishable =
        publishable_key_form::settings(&state.gateway.config, &scoring.store, row, None).await?;
    render(state, scoring, who, row, (form, use_case, publishable)).await
}

/// The page of a key, with its forms as they are or as they were typed.
async fn render(
    state: &State,
    scoring: &pyxis_scoring::State,
    who: &SignedIn,
    row: &ApiKeyRow,
    (form, use_case, publishable): (ApiKeyForm, String, Option<PublishableSettings>),
) -> Result<Response, Error> {
    let now = state.gateway.now();
    let used = api_keys::usage(&scoring.store, row.workspace_id, row.id, key_usage::HOURS, now).await?;
    html(&ApiKeyPage {
        shell: who.shell(state).await?,
        key: line(row, key_usage::in_window(&used, now), now),
        created: Timestamp::new(row.created_at, now),
        revoked: row.revoked_at.map(|at| Timestamp::new(at, now)),
        form,
        chart: key_usage::chart(&used),
        history: history(&scoring.store, row, now).await?,
        use_case,
        publishable,
    })
}

async fn history(store: &Store, row: &ApiKeyRow, now: UnixMillis) -> Result<HistoryAccess, Error> {
    if row.can_read_history {
        return Ok(HistoryAccess::Granted);
    }
    let requests = lists::history_requests(row.workspace_id, Some(row.id));
    let last = requests.read(store, &Slice::first(1, &[])).await.map_err(Service::from)?.pop();
    let last = last.map(|item| (item.row.state, history_request(item.row, item.key, now)));
    Ok(match last {
        Some((RequestState::Pending, request)) => HistoryAccess::Pending(request),
        Some((RequestState::Refused, request)) => HistoryAccess::Without { refused: Some(request) },
        Some((RequestState::Approved, _)) | None => HistoryAccess::Without { refused: None },
    })
}

pub(crate) async fn edit(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = key_id(&id)?;
    let row = api_keys::get(&scoring.store, who.person.workspace(), id).await?;
    if api_keys::is_publishable(&row) {
        return edit_publishable(&state, &scoring, &who, &row, &fields).await;
    }
    let problems = match form::read(&fields) {
        Err(problems) => problems,
        Ok(wanted) => {
            let change = ApiKeyChange {
                name: Some(wanted.name),
                stamps: Some(wanted.stamps),
                models: Some(wanted.models),
                can_read: Some(wanted.can_read),
                can_write: Some(wanted.can_write),
                can_read_history: None,
            };
            match api_keys::update(&scoring.audited, &who.person.actor(), id, change, None).await {
                Ok(_) => return Ok(Notice::KeySaved.redirect(state.cookies, &path(id))),
                Err(error) => problem(error, form::field)?,
            }
        }
    };
    let form = form::typed(&fields, problems);
    Ok(unprocessable(page(&state, &scoring, &who, &row, form, String::new()).await?))
}

async fn edit_publishable(
    state: &State,
    scoring: &pyxis_scoring::State,
    who: &SignedIn,
    row: &ApiKeyRow,
    fields: &Fields,
) -> Result<Response, Error> {
    let problems = match publishable_key_form::read(fields) {
        Err(problems) => problems,
        Ok(wanted) => {
            let change = ApiKeyChange {
                name: Some(wanted.name),
                stamps: Some(wanted.stamps),
                ..ApiKeyChange::default()
            };
            let actor = who.person.actor();
            match api_keys::update(&scoring.audited, &actor, row.id, change, Some(wanted.origins)).await {
                Ok(_) => return Ok(Notice::KeySaved.redirect(state.cookies, &path(row.id))),
                Err(error) => problem(error, publishable_key_form::field)?,
            }
        }
    };
    let typed = publishable_key_form::retyped(fields, problems);
    let settings =
        publishable_key_form::settings(&state.gateway.config, &scoring.store, row, Some(typed)).await?;
    let page = render(state, scoring, who, row, (form::from_row(row), String::new(), settings)).await?;
    Ok(unprocessable(page))
}

pub(crate) async fn revoke(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = key_id(&id)?;
    api_keys::revoke(&scoring.audited, &who.person.actor(), id).await?;
    Ok(Notice::KeyRevoked.redirect(state.cookies, &path(id)))
}

/// Asks for access to history.
pub(crate) async fn ask_history(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = key_id(&id)?;
    let use_case = fields.text("use_case").trim().to_owned();
    match history_requests::create(&scoring, &who.person.actor(), id, &use_case).await {
        Ok(_) => Ok(Notice::HistoryAsked.redirect(state.cookies, &path(id))),
        Err(Service::Conflict(_)) => Ok(Notice::HistorySettled.redirect(state.cookies, &path(id))),
        Err(error) => {
            let problems = problem(error, |_| "use_case")?;
            let row = api_keys::get(&scoring.store, who.person.workspace(), id).await?;
            let form = ApiKeyForm { problems, ..form::from_row(&row) };
            Ok(unprocessable(page(&state, &scoring, &who, &row, form, use_case).await?))
        }
    }
}

/// Withdraws access to history.
pub(crate) async fn withdraw_history(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let id = key_id(&id)?;
    let change = ApiKeyChange { can_read_history: Some(false), ..ApiKeyChange::default() };
    match api_keys::update(&scoring.audited, &who.person.actor(), id, change, None).await {
        Ok(_) => Ok(Notice::HistoryWithdrawn.redirect(state.cookies, &path(id))),
        Err(Service::Conflict(_)) => Ok(Notice::HistorySettled.redirect(state.cookies, &path(id))),
        Err(error) => Err(error.into()),
    }
}

pub(crate) async fn approve_history(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    decide(state.cookies, &scoring.audited, &who, &id, true).await
}

pub(crate) async fn refuse_history(
    PathId(id): PathId,
    SubmittedForm { state, who: ScoringManager(who, scoring), .. }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    decide(state.cookies, &scoring.audited, &who, &id, false).await
}

async fn decide(
    cookies: Cookies,
    audited: &AuditedStore,
    who: &SignedIn,
    id: &str,
    approve: bool,
) -> Result<Response, Error> {
    let id: HistoryRequestId = id.parse().map_err(|_| Error::NotFound)?;
    let notice = match history_requests::decide(audited, &who.person.actor(), id, approve).await {
        Ok(_) if approve => Notice::HistoryApproved,
        Ok(_) => Notice::HistoryRefused,
        Err(Service::Conflict(_)) => Notice::HistorySettled,
        Err(error) => return Err(error.into()),
    };
    Ok(notice.redirect(cookies, LIST))
}
