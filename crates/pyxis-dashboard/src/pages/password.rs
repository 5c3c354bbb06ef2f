//! Changing the person's own password.

use axum::response::Response;
use pyxis_core::secret::SecretString;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::sessions;

use super::account::{self, AccountForms, HERE};
use super::agents::unprocessable;
use super::list_query::ListQuery;
use super::sentence;
use crate::form::{Fields, SubmittedForm};
use crate::notice::Notice;
use crate::session::SignedIn;
use crate::view::Problems;
use crate::{Error, text};

pub(crate) async fn change(
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let mut problems = Problems::default();
    match set(&state.gateway, &who, &fields).await {
        Ok(()) => return Ok(Notice::PasswordChanged.redirect(state.cookies, HERE)),
        Err(Service::WrongPassword) => {
            problems.add("password", "The current password is wrong. Nothing was changed.");
        }
        Err(Service::Locked { until, .. }) => {
            let seconds = until.since(state.gateway.now()).as_secs();
            let left = text::duration(seconds.div_ceil(60) * 60);
            problems.add("password", format!("Too many wrong passwords. Try again in {left}."));
        }
        Err(Service::InvalidField { field, detail }) => {
            problems.add(if field == AGAIN { AGAIN } else { "new_password" }, sentence(&detail));
        }
        Err(error) => return Err(error.into()),
    }
    let form = account::token_form(&who, None, Problems::default());
    let forms = AccountForms { password_problems: problems, ..AccountForms::new(form) };
    Ok(unprocessable(account::show(&state, &who, &ListQuery::default(), forms).await?))
}

const AGAIN: &str = "new_password_again";

async fn set(gateway: &pyxis_gateway::State, who: &SignedIn, fields: &Fields) -> Result<(), Service> {
    let differ = fields.get("new_password") != fields.get(AGAIN);
    if differ {
        return Err(Service::field(AGAIN, "the passwords differ; enter the same password twice"));
    }
    let typed = |name: &str| SecretString::new(fields.get(name).to_owned());
    sessions::change_password(gateway, &who.person, &typed("password"), &typed("new_password")).await
}
