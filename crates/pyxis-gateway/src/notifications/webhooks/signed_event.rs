//! The signed request that carries an event (`docs/reference/webhooks.md#request`).

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, USER_AGENT};
use http::{HeaderValue, Method, Request, Uri};
use pyxis_core::clock::UnixMillis;
use pyxis_core::secret::SecretString;
use pyxis_core::webhook::signature;

const PX_EVENT: HeaderName = HeaderName::from_static("px-event");
const PX_DELIVERY: HeaderName = HeaderName::from_static("px-delivery");
const PX_SIGNATURE: HeaderName = HeaderName::from_static("px-signature");
/// Has no version, which would tell receivers which vulnerabilities this server has.
const AGENT: HeaderValue = HeaderValue::from_static("Pyxis");

/// Event and delivery of a request.
pub(crate) struct SignedEvent<'a> {
    /// Name of the event.
    pub(crate) event: &'static str,
    /// Constant across attempts.
    pub(crate) delivery: &'a str,
}

impl SignedEvent<'_> {
    /// The request with this JSON body, signed with each secret.
    pub(crate) fn request(
        &self,
        now: UnixMillis,
        uri: &Uri,
        secrets: &[SecretString],
        body: Bytes,
    ) -> Request<pyxis_net::Body> {
        let signature = signature(secrets, now, &body);
        let mut request = Request::new(pyxis_net::body::full(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, AGENT);
        headers.insert(PX_EVENT, HeaderValue::from_static(self.event));
        for (name, value) in [(PX_DELIVERY, self.delivery), (PX_SIGNATURE, signature.as_str())] {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
        request
    }
}
