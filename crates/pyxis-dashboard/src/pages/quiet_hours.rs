//! Form for a person's quiet hours on the account page.

use axum::response::Response;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::quiet_hours;

use super::account::{self, AccountForms, HERE};
use super::agents::unprocessable;
use super::list_query::ListQuery;
use super::problem;
use crate::form::{Fields, SubmittedForm};
use crate::notice::Notice;
use crate::session::SignedIn;
use crate::view::Problems;
use crate::view::account::QuietHoursForm;
use crate::{Error, State};

fn typed(fields: &Fields, is_set: bool, problems: Problems) -> QuietHoursForm {
    QuietHoursForm {
        is_set,
        time_zone: fields.trimmed("time_zone"),
        from: fields.trimmed("from"),
        to: fields.trimmed("to"),
        problems,
    }
}

pub(crate) async fn set(
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let db = &state.gateway.audited;
    let (zone, from, to) = (fields.trimmed("time_zone"), fields.trimmed("from"), fields.trimmed("to"));
    match quiet_hours::set(db, &who.person, &zone, &from, &to).await {
        Ok(_) => Ok(Notice::Saved.redirect(state.cookies, HERE)),
        Err(error) => refused(&state, &who, &fields, error).await,
    }
}

async fn refused(state: &State, who: &SignedIn, fields: &Fields, error: Service) -> Result<Response, Error> {
    let field = |name: &str| match name {
        "from" => "from",
        "to" => "to",
        _ => "time_zone",
    };
    let problems = problem(error, "time_zone", field)?;
    let is_set = quiet_hours::get(&state.gateway.store, &who.person.user).await?.is_some();
    let forms = AccountForms {
        quiet_hours: Some(typed(fields, is_set, problems)),
        ..AccountForms::new(account::token_form(who, None, Problems::default()))
    };
    Ok(unprocessable(account::show(state, who, &ListQuery::default(), forms).await?))
}

pub(crate) async fn remove(
    SubmittedForm { state, who, .. }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    match quiet_hours::remove(&state.gateway.audited, &who.person).await {
        // Another window may have removed them.
        Ok(()) | Err(Service::NotFound(_)) => Ok(Notice::Saved.redirect(state.cookies, HERE)),
        Err(error) => Err(error.into()),
    }
}
