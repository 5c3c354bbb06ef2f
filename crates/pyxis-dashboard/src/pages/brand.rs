//! Appearance of notifications.

use axum::extract::{Path, State as Extract};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use pyxis_core::brand::{Accent, DEFAULT_ACCENT, DEFAULT_NAME};
use pyxis_core::id::WorkspaceId;
use pyxis_gateway::channels::PLATFORMS;
use pyxis_gateway::notifications::brand;
use serde::Deserialize;

use super::agents::unprocessable;
use super::problem;
use crate::error::html;
use crate::form::{Page, SubmittedForm};
use crate::notice::Notice;
use crate::session::{Manager, SignedIn};
use crate::upload::Upload;
use crate::view::Problems;
use crate::view::brand::{BrandPage, ChatBrand};
use crate::{Error, State};

const HERE: &str = "/app/brand";

/// The color to preview.
#[derive(Default, Deserialize)]
pub(crate) struct BrandForm {
    #[serde(default)]
    accent: String,
}

pub(crate) async fn page(Page { state, who, .. }: Page<Manager>) -> Result<Response, Error> {
    let saved = brand::get(&state.gateway.store, who.person.workspace()).await?;
    let (name, accent) = (saved.display_name.unwrap_or_default(), saved.accent.unwrap_or_default());
    show(&state, &who, name, accent, false, Problems::default()).await
}

async fn show(
    state: &State,
    who: &SignedIn,
    display_name: String,
    accent: String,
    draft: bool,
    problems: Problems,
) -> Result<Response, Error> {
    let workspace = who.person.workspace();
    let has_logo = brand::get(&state.gateway.store, workspace).await?.has_logo;
    let named = display_name.trim();
    let shown_accent =
        Accent::parse(accent.trim()).map_or_else(|| DEFAULT_ACCENT.to_owned(), |a| a.to_string());
    html(&BrandPage {
        shell: who.shell(state).await?,
        shown_name: if named.is_empty() { DEFAULT_NAME.to_owned() } else { named.to_owned() },
        shown_accent: shown_accent.trim_start_matches('#').to_owned(),
        display_name,
        accent,
        draft,
        logo: has_logo.then(|| format!("/brand/{workspace}/logo.png")),
        public_logo: has_logo && brand::is_public(&state.gateway.config),
        chats: PLATFORMS.iter().map(ChatBrand::from).collect(),
        problems,
    })
}

fn field(name: &str) -> &'static str {
    match name {
        "accent" => "accent",
        "logo" => "logo",
        _ => "display_name",
    }
}

pub(crate) async fn save(
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let (name, accent) = (fields.trimmed("display_name"), fields.trimmed("accent"));
    let looking = fields.is_checked("preview");
    let outcome = if looking {
        brand::check(&name, &accent)
    } else {
        brand::put(&state.gateway.audited, &who.person.actor(), &name, &accent).await
    };
    match outcome {
        Ok(_) if looking => show(&state, &who, name, accent, true, Problems::default()).await,
        Ok(_) => Ok(Notice::Saved.redirect(state.cookies, HERE)),
        Err(error) => {
            let problems = problem(error, "display_name", field)?;
            Ok(unprocessable(show(&state, &who, name, accent, true, problems).await?))
        }
    }
}

pub(crate) async fn set_logo(Upload { state, who, file }: Upload<Manager>) -> Result<Response, Error> {
    match brand::set_logo(&state.gateway.audited, &who.person.actor(), Some(file)).await {
        Ok(()) => Ok(Notice::LogoSet.redirect(state.cookies, HERE)),
        Err(error) => {
            let problems = problem(error, "logo", field)?;
            let saved = brand::get(&state.gateway.store, who.person.workspace()).await?;
            let (name, accent) = (saved.display_name.unwrap_or_default(), saved.accent.unwrap_or_default());
            Ok(unprocessable(show(&state, &who, name, accent, false, problems).await?))
        }
    }
}

pub(crate) async fn remove_logo(
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    brand::set_logo(&state.gateway.audited, &who.person.actor(), None).await?;
    Ok(Notice::LogoRemoved.redirect(state.cookies, HERE))
}

/// The colors of a preview. Contains only values that parsed as a color.
pub(crate) async fn stylesheet(Page { query: wanted, .. }: Page<Manager, BrandForm>) -> Response {
    let accent = Accent::parse(&format!("#{}", wanted.accent)).or_else(|| Accent::parse(DEFAULT_ACCENT));
    let Some(accent) = accent else { return Error::NotFound.into_response() };
    let css = format!(".brand-strip, .brand-tile {{ background: {accent}; color: {}; }}\n", accent.text_on());
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], css).into_response()
}

/// The logo in notifications; public.
pub(crate) async fn logo(
    Extract(state): Extract<State>,
    Path(workspace): Path<String>,
) -> Result<Response, Error> {
    let workspace: WorkspaceId = workspace.parse().map_err(|_| Error::NotFound)?;
    let (bytes, kind) = brand::icon(&state.gateway.store, workspace).await?.ok_or(Error::NotFound)?;
    Ok(([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store".to_owned())], bytes).into_response())
}
