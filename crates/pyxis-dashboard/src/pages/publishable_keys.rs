//! New publishable keys: keys that stand in pages with the widget.

use axum::response::Response;
use pyxis_core::id::ScorerId;
use pyxis_scoring::service::Error as Service;
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};

use super::agents::unprocessable;
use super::publishable_key_form as form;
use super::scoring::problem;
use crate::Error;
use crate::error::html;
use crate::form::{Page, SubmittedForm};
use crate::session::ScoringManager;
use crate::view::api_keys::{ApiKeyShownPage, NewPublishableKeyPage};

pub(crate) async fn new(
    Page { state, who: ScoringManager(who, scoring), .. }: Page<ScoringManager>,
) -> Result<Response, Error> {
    let form = form::blank(&scoring.store, scoring.now(), &who).await?;
    html(&NewPublishableKeyPage { shell: who.shell(&state).await?, form })
}

pub(crate) async fn add(
    SubmittedForm { state, who: ScoringManager(who, scoring), fields }: SubmittedForm<ScoringManager>,
) -> Result<Response, Error> {
    let problems = match form::read(&fields) {
        Err(problems) => problems,
        Ok(wanted) => {
            let created = match wanted.scorer.parse::<ScorerId>() {
                Ok(scorer) => {
                    let input = ApiKeyInput::publishable(wanted.name, scorer, wanted.origins);
                    let input = ApiKeyInput { stamps: wanted.stamps, ..input };
                    api_keys::create(&scoring, &who.person.actor(), input).await
                }
                Err(_) => Err(Service::field("scorer_id", "choose a scorer")),
            };
            match created {
                Ok((row, key)) => {
                    return html(&ApiKeyShownPage {
                        shell: who.shell(&state).await?,
                        id: row.id.to_string(),
                        name: row.name.clone(),
                        key: key.expose().clone(),
                        can_read: false,
                        ask: String::new(),
                        embed: Some(form::embed(&state.gateway.config, &wanted.scorer, key.expose())),
                    });
                }
                Err(error) => problem(error, form::field)?,
            }
        }
    };
    let form = form::typed(&scoring.store, scoring.now(), &who, &fields, problems).await?;
    Ok(unprocessable(html(&NewPublishableKeyPage { shell: who.shell(&state).await?, form })?))
}
