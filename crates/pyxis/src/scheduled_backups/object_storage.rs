//! Upload to S3-compatible object storage, signed with AWS Signature Version 4, through the egress guard.

mod file_part;
mod multipart;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use pyxis_core::clock::Clock;
use pyxis_core::target::Target;
use pyxis_net::{Client, body};
use pyxis_signing::sigv4::{self, SigningScope};

use self::file_part::FilePart;
use crate::config::backups::Storage;

/// Maximum time of one request.
const LIMIT: Duration = Duration::from_hours(1);
/// Maximum wait for the response after the last byte.
const ANSWER: Duration = Duration::from_mins(1);
/// Maximum bytes of a response that are read.
const MAX_RESPONSE: usize = 64 * 1024;

/// The configured bucket.
pub(super) struct S3Bucket<'a> {
    pub(super) net: &'a Client,
    pub(super) storage: &'a Storage,
    /// Requests are signed with the current time: a long upload outlasts a signature.
    pub(super) clock: &'a dyn Clock,
}

/// A response of the storage with a status of success.
struct StorageResponse {
    headers: HeaderMap,
    body: Bytes,
}

impl S3Bucket<'_> {
    /// Stores the file as an object of the same name. The service compares the content with its signed hash.
    pub(super) async fn upload(&self, path: &Path) -> Result<()> {
        let name = path.file_name().and_then(|name| name.to_str()).context("the backup has no name")?;
        let url = format!("{}{name}", self.storage.url);
        let length = tokio::fs::metadata(path).await?.len();
        let file = FilePart { path, offset: 0, length };
        if length > self.storage.part_bytes {
            return multipart::upload(self, &url, file, self.storage.part_bytes).await;
        }
        self.put(&url, file).await.map(drop)
    }

    async fn put(&self, url: &str, part: FilePart<'_>) -> Result<StorageResponse> {
        let request = self.signed(Method::PUT, url, &part.hash().await?)?;
        let content_type = (http::header::CONTENT_TYPE, "application/vnd.sqlite3");
        let request = request.header(content_type.0, content_type.1).body(part.body().await?)?;
        self.send(url, request).await
    }

    async fn request(&self, method: Method, url: &str, content: &[u8]) -> Result<StorageResponse> {
        let request = self.signed(method, url, &sigv4::payload_hash(content))?;
        self.send(url, request.body(body::full(content.to_vec()))?).await
    }

    fn signed(&self, method: Method, url: &str, hash: &str) -> Result<http::request::Builder> {
        let target = Target::parse(url).map_err(|error| anyhow::anyhow!("{url}: {error}"))?;
        let date = sigv4::date(self.clock.now());
        let headers =
            [("host", target.authority()), ("x-amz-content-sha256", hash), ("x-amz-date", date.as_str())];
        let scope = SigningScope { region: &self.storage.region, service: "s3" };
        let unsigned = sigv4::Request {
            method: method.as_str(),
            target: &target,
            headers: &headers,
            payload_hash: hash,
        };
        let authorization = sigv4::authorization(&self.storage.keys, scope, &date, &unsigned);
        let request = Request::builder().method(method).uri(url).header("x-amz-content-sha256", hash);
        Ok(request.header("x-amz-date", &date).header(http::header::AUTHORIZATION, authorization))
    }

    async fn send<B>(&self, url: &str, request: Request<B>) -> Result<StorageResponse>
    where
        B: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
            + Unpin
            + Send
            + 'static,
    {
        // The query names an upload, which says nothing to a person.
        let url = url.split('?').next().unwrap_or(url);
        let sending = async {
            let sent = self.net.send(request, ANSWER).await;
            let (head, body) = sent.with_context(|| format!("cannot upload to {url}"))?.into_parts();
            let body = body::read_capped(body, MAX_RESPONSE).await;
            if head.status.is_success() {
                let body = body.with_context(|| format!("cannot upload to {url}"))?;
                return Ok(StorageResponse { headers: head.headers, body });
            }
            let code = body.ok().and_then(|text| code(&text)).unwrap_or_default();
            bail!("cannot upload to {url}: HTTP {} {code}", head.status)
        };
        let sent = tokio::time::timeout(LIMIT, sending).await;
        sent.with_context(|| format!("cannot upload to {url} within {} minutes", LIMIT.as_secs() / 60))?
    }
}

/// Content of the first element of this name in an XML response.
fn element<'t>(text: &'t [u8], name: &str) -> Option<&'t str> {
    let text = std::str::from_utf8(text).ok()?;
    Some(text.split_once(&format!("<{name}>"))?.1.split_once(&format!("</{name}>"))?.0)
}

/// The error code in an XML response, such as `AccessDenied`. Its other text is not repeated.
fn code(text: &[u8]) -> Option<String> {
    let code = element(text, "Code")?;
    code.bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| code.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_code_of_a_refusal_is_repeated() {
        let text = b"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>x</Message></Error>";
        assert_eq!(code(text).as_deref(), Some("AccessDenied"));
        assert_eq!(code(b"<Code>a b\n</Code>"), None);
        assert_eq!(code(b"nothing"), None);
    }
}
