//! Multipart uploads, for files larger than one request may be.
//!
//! The object appears once every part is there. An upload that fails is aborted, so that its parts take no room.

use std::fmt::Write;

use anyhow::{Context, Result, bail};
use http::Method;
use http::header::ETAG;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::file_part::FilePart;
use super::{S3Bucket, element};

/// Maximum number of parts of an object.
const MAX_PARTS: u64 = 10_000;
/// Attempts for each part.
const ATTEMPTS: usize = 3;

/// Uploads the file in parts of about `part` bytes.
pub(super) async fn upload(bucket: &S3Bucket<'_>, url: &str, file: FilePart<'_>, part: u64) -> Result<()> {
    let begun = bucket.request(Method::POST, &format!("{url}?uploads="), &[]).await?;
    let id = element(&begun.body, "UploadId").filter(|id| is_plain(id));
    let id = id.with_context(|| format!("cannot upload to {url}: the storage named no upload id"))?;
    let id = utf8_percent_encode(id, NON_ALPHANUMERIC).to_string();
    let outcome = parts(bucket, url, &id, file, part).await;
    if outcome.is_err() {
        let aborted = bucket.request(Method::DELETE, &format!("{url}?uploadId={id}"), &[]).await;
        if let Err(error) = aborted {
            tracing::warn!(
                error = format!("{error:#}"),
                "cannot abort an upload; a lifecycle rule of the bucket can remove incomplete uploads"
            );
        }
    }
    outcome
}

async fn parts(bucket: &S3Bucket<'_>, url: &str, id: &str, file: FilePart<'_>, part: u64) -> Result<()> {
    let part = part.max(file.length.div_ceil(MAX_PARTS));
    let mut list = "<CompleteMultipartUpload>".to_owned();
    let starts = (0..file.length).step_by(usize::try_from(part)?);
    for (number, offset) in (1..).zip(starts) {
        let piece = FilePart { offset, length: part.min(file.length - offset), ..file };
        let tag = put(bucket, &format!("{url}?partNumber={number}&uploadId={id}"), piece).await?;
        write!(list, "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>")?;
    }
    list.push_str("</CompleteMultipartUpload>");
    let end = bucket.request(Method::POST, &format!("{url}?uploadId={id}"), list.as_bytes()).await?;
    // The status is sent before the parts are joined, so a failure may follow it.
    if element(&end.body, "Code").is_some() || !contains(&end.body, "CompleteMultipartUploadResult") {
        let code = super::code(&end.body).unwrap_or_default();
        bail!("cannot upload to {url}: the storage did not join the parts {code}");
    }
    Ok(())
}

/// Puts a part. Returns its tag, for XML.
async fn put(bucket: &S3Bucket<'_>, url: &str, piece: FilePart<'_>) -> Result<String> {
    let mut attempt = 1;
    let answer = loop {
        match bucket.put(url, piece).await {
            Ok(answer) => break answer,
            Err(error) if attempt == ATTEMPTS => return Err(error),
            Err(error) => tracing::debug!(error = format!("{error:#}"), attempt, "will put the part again"),
        }
        attempt += 1;
    };
    let tag = answer.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
    let tag = tag.map(|tag| tag.trim_matches('"')).filter(|tag| is_plain(tag));
    let tag =
        tag.with_context(|| format!("cannot upload to {url}: the storage named no ETag of the part"))?;
    Ok(format!("&quot;{tag}&quot;"))
}

/// True for text that means the same in XML and outside of it.
fn is_plain(text: &str) -> bool {
    (1..=1024).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"&<>\"'".contains(&byte))
}

fn contains(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|window| window == word.as_bytes())
}
