//! Client ID Metadata Documents: the client's id is the https URL of a document that describes it.

use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use pyxis_core::clock::UnixMillis;
use pyxis_core::redirect_uri::RedirectUri;
use pyxis_core::target::Target;
use serde::Deserialize;
use url::Url;

use super::client_refusal::{ClientRefusal, program_name};
use crate::credentials::requests::authorize;
use crate::runtime::client_documents::{ClientDocument, ClientDocuments};

/// Largest document, in bytes.
const MAX_DOCUMENT: usize = 16 * 1024;
/// Time for the whole fetch.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Longest URL, in bytes.
const MAX_URL: usize = 1024;
/// Redirect URIs of one client.
pub(super) const MAX_REDIRECT_URIS: usize = 20;

/// True if a client id is meant as the URL of a document.
pub(super) fn is_url(client_id: &str) -> bool {
    client_id.contains("://")
}

/// The host of a document's URL, which is the one thing about such a client that is verified.
pub(super) fn host(client_id: &str) -> Result<String, ClientRefusal> {
    let refuse = || ClientRefusal::new("its client_id is not a usable https URL with a path");
    let url = Url::parse(client_id).map_err(|_| refuse())?;
    let is_plain = client_id.len() <= MAX_URL
        // The text is compared with the document's, so it must be the form that is fetched.
        && url.as_str() == client_id
        && url.scheme() == "https"
        && url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none()
        && url.path() != "/";
    let host = url.host_str().filter(|_| is_plain).ok_or_else(refuse)?;
    Ok(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// The document of a client, fetched through the egress guard unless a recent one is at hand.
pub(super) async fn find(
    net: &pyxis_net::Client,
    client_documents: &ClientDocuments,
    now: UnixMillis,
    client_id: &str,
) -> Result<ClientDocument, ClientRefusal> {
    let host = host(client_id)?;
    if let Some(document) = client_documents.get(client_id, now) {
        return Ok(document);
    }
    let fetched = tokio::time::timeout(MAX_TIME, fetch(net, client_id)).await;
    let bytes =
        fetched.map_err(|_| ClientRefusal::new("its metadata document took longer than 10 seconds"))??;
    let document = read(client_id, &host, &bytes)?;
    client_documents.put(client_id, document.clone(), now);
    Ok(document)
}

async fn fetch(net: &pyxis_net::Client, url: &str) -> Result<Vec<u8>, ClientRefusal> {
    // Nothing about the address is told: the answer must not map the networks behind this server.
    let unreachable = |_| ClientRefusal::new("its metadata document cannot be reached from this server");
    let target = Target::parse(url).map_err(|_| ClientRefusal::new("its client_id is not a URL to fetch"))?;
    net.check(&authorize::host_port(&target)).await.map_err(unreachable)?;
    let mut request = Request::new(pyxis_net::body::empty());
    *request.method_mut() = Method::GET;
    *request.uri_mut() =
        target.to_string().parse().map_err(|_| ClientRefusal::new("its client_id is not a URL to fetch"))?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    let answer = net.fresh().send(request, MAX_TIME).await.map_err(unreachable)?;
    if answer.status() != StatusCode::OK || !is_json(answer.headers()) {
        return Err(ClientRefusal::new("its client_id did not answer with status 200 and JSON"));
    }
    let body = pyxis_net::body::IdleTimeout::new(answer.into_body(), MAX_TIME);
    let bytes = pyxis_net::body::read_capped(body, MAX_DOCUMENT).await;
    Ok(bytes
        .map_err(|_| ClientRefusal::new("its metadata document is broken or longer than 16 KiB"))?
        .to_vec())
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media_type == "application/json"
        || media_type.starts_with("application/") && media_type.ends_with("+json")
}

/// Members that matter here; others are ignored.
#[derive(Deserialize)]
struct Document {
    client_id: String,
    client_name: Option<String>,
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: Option<String>,
}

fn read(client_id: &str, host: &str, bytes: &[u8]) -> Result<ClientDocument, ClientRefusal> {
    let document: Document = serde_json::from_slice(bytes)
        .map_err(|_| ClientRefusal::new("its metadata document lacks client_id or redirect_uris"))?;
    if document.client_id != client_id {
        return Err(ClientRefusal::new("its metadata document names another client_id"));
    }
    if document.token_endpoint_auth_method.is_some_and(|method| method != "none") {
        return Err(ClientRefusal::new(
            "its metadata document asks for a token_endpoint_auth_method other than none, which is not supported",
        ));
    }
    if document.redirect_uris.is_empty() || document.redirect_uris.len() > MAX_REDIRECT_URIS {
        return Err(ClientRefusal::new("its metadata document must list 1 to 20 redirect_uris"));
    }
    // A program may list URIs for systems that are not supported here. Those are never matched.
    let uris = document.redirect_uris.iter().filter_map(|uri| RedirectUri::parse(uri).ok());
    Ok(ClientDocument {
        name: program_name(document.client_name.as_deref()).unwrap_or_else(|| host.to_owned()),
        redirect_uris: uris.collect(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "https://client.example/oauth/client.json";

    fn document_of(document: &Value) -> Result<ClientDocument, ClientRefusal> {
        read(ID, "client.example", document.to_string().as_bytes())
    }

    #[test]
    fn only_plain_https_urls_with_a_path_name_a_document() {
        assert_eq!(host(ID).as_deref(), Ok("client.example"));
        assert_eq!(host("https://client.example:8443/c").as_deref(), Ok("client.example:8443"));
        for bad in [
            "http://client.example/c",
            "https://client.example",
            "https://client.example/",
            "https://user@client.example/c",
            "https://client.example/c#x",
            "https://client.example/a/../c",
            "https://CLIENT.example/c",
            "https://client.example:443/c",
            "ftp://client.example/c",
            "://",
        ] {
            assert!(host(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_document_must_name_its_own_url_and_a_public_client() {
        let good =
            json!({"client_id": ID, "client_name": "Claude", "redirect_uris": ["https://a.example/cb"]});
        assert_eq!(document_of(&good).unwrap().name, "Claude");
        for (member, value) in [
            ("client_id", json!("https://client.example/other.json")),
            ("client_id", json!(null)),
            ("redirect_uris", json!([])),
            ("redirect_uris", json!(vec!["https://a.example/cb"; 21])),
            ("token_endpoint_auth_method", json!("private_key_jwt")),
            ("token_endpoint_auth_method", json!("client_secret_post")),
        ] {
            let mut bad = good.clone();
            bad[member] = value;
            assert!(document_of(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn redirect_uris_that_are_not_accepted_are_left_out() {
        let document =
            json!({"client_id": ID, "redirect_uris": ["javascript:alert(1)", "https://a.example/cb"]});
        let document = document_of(&document).unwrap();
        assert_eq!((document.name.as_str(), document.redirect_uris.len()), ("client.example", 1));
    }
}
