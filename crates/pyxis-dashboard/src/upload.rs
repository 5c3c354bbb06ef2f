//! A form with a file in it, read only after it is proved to come from our own page.

use axum::extract::{FromRequest, FromRequestParts, Multipart, Request};
use http::StatusCode;
use http::request::Parts;

use crate::session::HasCsrf;
use crate::{Error, State, csrf, form};

/// Largest file, in bytes. A larger one is not read to its end.
const MAX_FILE: usize = 512 * 1024;

/// One file and the person who posted it.
pub(crate) struct Upload<W> {
    pub(crate) state: State,
    pub(crate) who: W,
    /// The bytes of the file.
    pub(crate) file: Vec<u8>,
}

impl<W> FromRequest<State> for Upload<W>
where
    W: FromRequestParts<State, Rejection = Error> + HasCsrf + Send,
{
    type Rejection = Error;

    /// The token must come before the file, as it does in our forms.
    async fn from_request(request: Request, state: &State) -> Result<Self, Error> {
        if !csrf::same_origin(request.headers(), &state.gateway.config.base_url) {
            return Err(Error::StaleForm);
        }
        let (mut parts, body): (Parts, _) = request.into_parts();
        form::unannounced(&body)?;
        let who = W::from_request_parts(&mut parts, state).await?;
        let bad = |_| Error::BadForm(StatusCode::BAD_REQUEST);
        let request = Request::from_parts(parts, body);
        let mut fields =
            Multipart::from_request(request, state).await.map_err(|error| Error::BadForm(error.status()))?;
        let token = fields.next_field().await.map_err(bad)?.ok_or(Error::StaleForm)?;
        if token.name() != Some("csrf") || !csrf::matches(who.csrf(), &token.text().await.map_err(bad)?) {
            return Err(Error::StaleForm);
        }
        let mut field =
            fields.next_field().await.map_err(bad)?.ok_or(Error::BadForm(StatusCode::BAD_REQUEST))?;
        let mut file = Vec::new();
        while let Some(chunk) = field.chunk().await.map_err(bad)? {
            file.extend_from_slice(&chunk);
            if file.len() > MAX_FILE {
                return Err(Error::BadForm(StatusCode::PAYLOAD_TOO_LARGE));
            }
        }
        Ok(Self { state: state.clone(), who, file })
    }
}
