//! Upload to S3-compatible object storage, signed with AWS Signature Version 4, through the egress guard.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context as Poller, Poll, ready};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::{Method, Request};
use http_body::{Body, Frame, SizeHint};
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::target::Target;
use pyxis_net::{Client, body};
use pyxis_signing::sigv4::{self, SigningScope};
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncRead, ReadBuf};

use crate::config::backups::Storage;

/// Maximum time of one upload.
const LIMIT: Duration = Duration::from_hours(1);
/// Maximum wait for the response after the last byte.
const ANSWER: Duration = Duration::from_mins(1);
/// Maximum size that the service takes in one request, in bytes.
const MAX_BYTES: u64 = 5 << 30;
/// Bytes read from the file at once.
const PIECE: usize = 64 * 1024;
/// Maximum bytes of an error that are read.
const MAX_ERROR: usize = 64 * 1024;

/// Stores the file as an object of the same name. The service compares the content with its signed hash.
pub(super) async fn upload(net: &Client, storage: &Storage, path: &Path, now: UnixMillis) -> Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).context("the backup has no name")?;
    let url = format!("{}{name}", storage.url);
    let sending = async {
        let request = signed(storage, &url, path, now).await?;
        let answer = net.send(request, ANSWER).await.with_context(|| format!("cannot upload to {url}"))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let text = body::read_capped(answer.into_body(), MAX_ERROR).await.unwrap_or_default();
        bail!("cannot upload to {url}: HTTP {status} {}", code(&text).unwrap_or_default())
    };
    let sent = tokio::time::timeout(LIMIT, sending).await;
    sent.with_context(|| format!("cannot upload to {url} within {} minutes", LIMIT.as_secs() / 60))?
}

async fn signed(storage: &Storage, url: &str, path: &Path, now: UnixMillis) -> Result<Request<FileBody>> {
    let file = path.to_owned();
    let hash = tokio::task::spawn_blocking(move || hash(&file)).await??;
    let file = File::open(path).await?;
    let left = file.metadata().await?.len();
    if left > MAX_BYTES {
        bail!("{} is larger than 5 GiB, the limit of one upload; copy it with another tool", path.display());
    }
    let target = Target::parse(url).map_err(|error| anyhow::anyhow!("{url}: {error}"))?;
    let date = sigv4::date(now);
    let host = target.authority();
    let headers =
        [("host", host.as_str()), ("x-amz-content-sha256", hash.as_str()), ("x-amz-date", date.as_str())];
    let scope = SigningScope { region: &storage.region, service: "s3" };
    let unsigned = sigv4::Request { method: "PUT", target: &target, headers: &headers, payload_hash: &hash };
    let authorization = sigv4::authorization(&storage.keys, scope, &date, &unsigned);
    let request = Request::builder()
        .method(Method::PUT)
        .uri(url)
        .header("x-amz-content-sha256", &hash)
        .header("x-amz-date", &date)
        .header(http::header::AUTHORIZATION, authorization)
        .header(http::header::CONTENT_TYPE, "application/vnd.sqlite3");
    Ok(request.body(FileBody { file, left, piece: vec![0; PIECE] })?)
}

/// SHA-256 of a file, hex.
fn hash(path: &Path) -> Result<String> {
    let mut file = std::fs::File::open(path)?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(hex::encode(&hash.finalize())),
            Ok(read) => hash.update(&piece[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }
}

/// The error code in an XML response, such as `AccessDenied`. Its other text is not repeated.
fn code(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let (code, _) = text.split_once("<Code>")?.1.split_once("</Code>")?;
    code.bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| code.to_owned())
}

/// A file as a request body of known length.
struct FileBody {
    file: File,
    /// Bytes not yet sent.
    left: u64,
    piece: Vec<u8>,
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let most = usize::try_from(this.left).unwrap_or(PIECE).min(PIECE);
        let mut read = ReadBuf::new(&mut this.piece[..most]);
        ready!(Pin::new(&mut this.file).poll_read(cx, &mut read))?;
        let data = Bytes::copy_from_slice(read.filled());
        if data.is_empty() {
            return Poll::Ready(Some(Err(ErrorKind::UnexpectedEof.into())));
        }
        this.left -= data.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
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
