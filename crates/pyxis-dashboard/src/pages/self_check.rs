//! The self-check page of a scorer, for the people who are scored. Its data comes by `pyxis_scoring::widget`'s routes
//! after a sign-in with the wallet, so this page needs no session and sets no cookie.

use axum::extract::State as Extract;
use axum::response::Response;
use pyxis_scoring::service::self_check::{self, WeighedStamp};

use crate::error::html;
use crate::form::PathId;
use crate::view::self_check::{SelfCheckPage, WeighedRow};
use crate::{Error, State, text};

pub(crate) async fn page(Extract(state): Extract<State>, PathId(scorer): PathId) -> Result<Response, Error> {
    let scoring = state.scoring.as_ref().ok_or(Error::NotFound)?;
    let id = scorer.parse().map_err(|_| Error::NotFound)?;
    let open = self_check::open_page(scoring, id).await?.ok_or(Error::NotFound)?;
    html(&SelfCheckPage {
        url: format!("{}/check/{id}", open.origin),
        origin: open.origin,
        scorer,
        name: open.name,
        threshold: text::plain(open.threshold),
        stamps: open.stamps.into_iter().map(row).collect(),
    })
}

fn row(stamp: WeighedStamp) -> WeighedRow {
    WeighedRow {
        name: stamp.name.to_string(),
        description: stamp.description,
        platform: stamp.platform,
        url: stamp.url,
        points: text::plain(stamp.weight),
    }
}
