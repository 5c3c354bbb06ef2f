//! An edit applied to a stored request, with the rules for what agents send.

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, HeaderName, HeaderValue};
use pyxis_core::auth::Auth;
use pyxis_core::target::Target;

use super::RequestEdit;
use crate::credentials::kinds;
use crate::credentials::outbound::clean_headers;
use crate::credentials::redaction::Redactor;
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::stored::StoredRequest;

const BODY: &str = "edit.body";
const QUERY: &str = "edit.query";
const HEADERS: &str = "edit.headers";

/// Maximum number of parameters or headers in an edit.
const MAX_PAIRS: usize = 200;
/// Maximum bytes of all headers of an edited request.
const MAX_HEADER_BYTES: usize = 32 * 1024;

/// The request that results from `edit`.
pub(super) fn apply(
    edit: &RequestEdit,
    asked: &StoredRequest,
    credential: &ResolvedCredential,
    redactor: &Redactor,
    body_max: usize,
) -> Result<StoredRequest> {
    let headers = match &edit.headers {
        None => asked.headers.clone(),
        Some(changes) => headers(changes, &asked.headers, credential, redactor)?,
    };
    let target = match &edit.query {
        None => asked.target.clone(),
        Some(pairs) => target(pairs, &asked.target, credential.auth.as_ref(), redactor)?,
    };
    let body = match &edit.body {
        None => asked.body.clone(),
        Some(text) => body(text, asked, redactor, body_max)?,
    };
    Ok(StoredRequest { target, headers, body })
}

/// Fails for text with a stored secret: what is decided on is shown without it, and it would be kept in the clear.
fn check_no_secret(field: &str, redactor: &Redactor, text: &str) -> Result<()> {
    if redactor.text(text) == text {
        return Ok(());
    }
    Err(Error::field(field, "contains the secret of a stored credential; the proxy attaches secrets itself"))
}

/// Fails for a part of the agent's request that people see without the secret in it.
fn check_shown(field: &str, redactor: &Redactor, asked: &[u8]) -> Result<()> {
    if redactor.bytes(Bytes::copy_from_slice(asked)) == asked {
        return Ok(());
    }
    let detail = "the agent's text contains the secret of a stored credential, which is not shown, so it cannot be \
                  edited; deny the request and say what to change";
    Err(Error::field(field, detail))
}

fn body(text: &str, asked: &StoredRequest, redactor: &Redactor, max: usize) -> Result<Bytes> {
    let is_plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    let is_encoded = !asked.headers.get_all(CONTENT_ENCODING).iter().all(is_plain);
    if is_encoded || std::str::from_utf8(&asked.body).is_err() {
        let detail = "a binary body cannot be edited; deny the request and say what to change";
        return Err(Error::field(BODY, detail));
    }
    if text.len() > max {
        return Err(Error::field(BODY, format!("must have at most {max} bytes")));
    }
    if text.as_bytes() != asked.body {
        check_shown(BODY, redactor, &asked.body)?;
        check_no_secret(BODY, redactor, text)?;
    }
    Ok(Bytes::copy_from_slice(text.as_bytes()))
}

/// The URL with another query.
fn target(
    pairs: &[(String, String)],
    asked: &str,
    auth: Option<&Auth>,
    redactor: &Redactor,
) -> Result<String> {
    if pairs.len() > MAX_PAIRS {
        return Err(Error::field(QUERY, format!("must have at most {MAX_PAIRS} parameters")));
    }
    let (base, query) = asked.split_once('?').unwrap_or((asked, ""));
    let query = encoded(pairs, query);
    let url = if query.is_empty() { base.to_owned() } else { format!("{base}?{query}") };
    if url == asked {
        return Ok(url);
    }
    if let Some((name, _)) = pairs.iter().find(|(name, _)| kinds::sets_parameter(auth, name)) {
        return Err(Error::field(QUERY, format!("the credential sets `{name}`; leave it out")));
    }
    check_shown(QUERY, redactor, asked.as_bytes())?;
    check_no_secret(QUERY, redactor, &url)?;
    for (_, value) in pairs {
        check_no_secret(QUERY, redactor, value)?;
    }
    let read = |url: &str| Target::parse(url).map_err(|error| Error::field(QUERY, error.to_string()));
    let (before, after) = (read(asked)?, read(&url)?);
    if before.origin() != after.origin() || before.path() != after.path() {
        return Err(Error::field(QUERY, "must change nothing but the query"));
    }
    Ok(after.to_string())
}

/// The query of these pairs. Pairs that the agent sent keep its spelling.
fn encoded(pairs: &[(String, String)], asked: &str) -> String {
    let decoded = |raw: &str| url::form_urlencoded::parse(raw.as_bytes()).into_owned().next();
    let mut kept: Vec<(Option<(String, String)>, &str)> =
        asked.split('&').filter(|raw| !raw.is_empty()).map(|raw| (decoded(raw), raw)).collect();
    let raw: Vec<String> = pairs
        .iter()
        .map(|pair| match kept.iter().position(|(known, _)| known.as_ref() == Some(pair)) {
            Some(index) => kept.remove(index).1.to_owned(),
            None => {
                url::form_urlencoded::Serializer::new(String::new()).append_pair(&pair.0, &pair.1).finish()
            }
        })
        .collect();
    raw.join("&")
}

fn headers(
    changes: &[(String, Option<String>)],
    asked: &HeaderMap,
    credential: &ResolvedCredential,
    redactor: &Redactor,
) -> Result<HeaderMap> {
    if changes.len() > MAX_PAIRS {
        return Err(Error::field(HEADERS, format!("must have at most {MAX_PAIRS} headers")));
    }
    let mut edited = asked.clone();
    let mut names = Vec::with_capacity(changes.len());
    for (name, _) in changes {
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| Error::field(HEADERS, "a name is not that of an HTTP header"))?;
        edited.remove(&name);
        names.push(name);
    }
    for (name, (_, value)) in names.iter().zip(changes) {
        let Some(value) = value else { continue };
        check_no_secret(HEADERS, redactor, value)?;
        let bad =
            |_| Error::field(HEADERS, format!("the value of `{name}` has a line end or control character"));
        edited.append(name, HeaderValue::try_from(value.as_str()).map_err(bad)?);
    }
    let size: usize = edited.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if size > MAX_HEADER_BYTES {
        return Err(Error::field(HEADERS, format!("all headers must have at most {MAX_HEADER_BYTES} bytes")));
    }
    check_names(&names, asked, &edited, credential)?;
    Ok(edited)
}

/// Checks that an agent could have sent each changed header, and that it would have been forwarded as it is.
fn check_names(
    names: &[HeaderName],
    asked: &HeaderMap,
    edited: &HeaderMap,
    credential: &ResolvedCredential,
) -> Result<()> {
    let forwarded = clean_headers(edited, credential);
    for name in names {
        let of = |headers: &HeaderMap| headers.get_all(name).iter().cloned().collect::<Vec<_>>();
        let is_kept = of(&forwarded) == of(edited);
        if of(asked) == of(edited) && is_kept {
            continue;
        }
        if kinds::sets_header(credential.auth.as_ref(), name.as_str()) {
            return Err(Error::field(HEADERS, format!("the credential sets `{name}`; leave it out")));
        }
        if !is_kept {
            return Err(Error::field(HEADERS, format!("`{name}` is not forwarded as it is; leave it out")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_stays_keeps_the_spelling_of_the_agent() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let asked = "flag&a=%7e&b=x+y";
        let same = [pair("flag", ""), pair("a", "~"), pair("b", "x y")];
        assert_eq!(encoded(&same, asked), asked);
        let other = [pair("flag", ""), pair("b", "x y"), pair("c", "1&2")];
        assert_eq!(encoded(&other, asked), "flag&b=x+y&c=1%262");
        assert_eq!(encoded(&[], asked), "");
    }
}
