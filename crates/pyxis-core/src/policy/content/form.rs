//! Form bodies and queries (`application/x-www-form-urlencoded`), read so that no other reader can see another value.

use std::borrow::Cow;

use url::form_urlencoded;

use super::{RequestContent, Unreadable};

/// Most parameters of a form.
const MAX_PARAMETERS: usize = 1000;

/// The one value of a parameter, in the body or, without a body, in the query.
pub(super) fn value(content: &RequestContent<'_>, name: &str) -> Result<String, Unreadable> {
    let body = if content.body.is_empty() { "" } else { body(content)? };
    let query = content.query.unwrap_or_default();
    if body.contains(';') || query.contains(';') {
        return Err(Unreadable("some readers end a parameter at a semicolon, and there is one"));
    }
    let parameters: Vec<_> = pairs(query).chain(pairs(body)).take(MAX_PARAMETERS + 1).collect();
    if parameters.len() > MAX_PARAMETERS {
        return Err(Unreadable("there are more than 1,000 parameters"));
    }
    let wanted = tokens(name);
    let mut alike = parameters.into_iter().filter(|(key, _)| are_alike(&tokens(key), &wanted));
    match (alike.next(), alike.next()) {
        (None, _) => Err(Unreadable("it is missing")),
        (Some((key, value)), None) if key == name => Ok(value.into_owned()),
        (Some(_), None) => Err(Unreadable("its name is spelled differently")),
        (Some(_), Some(_)) => Err(Unreadable("it is given twice")),
    }
}

/// The parameters of a form or a query. Some readers end one at a semicolon.
pub(super) fn pairs(text: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    text.split(['&', ';']).flat_map(|piece| form_urlencoded::parse(piece.as_bytes()))
}

/// True if the query has a parameter that some reader takes for `name`.
pub(super) fn has_in_query(content: &RequestContent<'_>, name: &str) -> bool {
    pairs(content.query.unwrap_or_default()).any(|(key, _)| is_alike(&key, name))
}

/// The body of a request that says it is a form.
fn body<'a>(content: &RequestContent<'a>) -> Result<&'a str, Unreadable> {
    if content.media_type()? != "application/x-www-form-urlencoded" {
        return Err(Unreadable("the Content-Type is not application/x-www-form-urlencoded"));
    }
    std::str::from_utf8(content.readable()?).map_err(|_| Unreadable("the body is not in UTF-8"))
}

/// True if some reader takes `key` for `name`, or for what contains it.
pub(super) fn is_alike(key: &str, name: &str) -> bool {
    are_alike(&tokens(key), &tokens(name))
}

fn are_alike(key: &[String], name: &[String]) -> bool {
    key.starts_with(name) || name.starts_with(key) || key.join("_") == name.join("_")
}

/// The names in a key such as `transfer[amount]`. Case is ignored by some readers; PHP drops leading blanks, ends a name at
/// NUL, and reads `.` and blanks as `_`; Rack ignores brackets that lead or are repeated.
fn tokens(key: &str) -> Vec<String> {
    let key = folded(key.trim());
    let key: String = key.chars().map(|c| if matches!(c, '.' | ' ' | '+') { '_' } else { c }).collect();
    key.split(['[', ']']).filter(|token| !token.is_empty()).map(str::to_owned).collect()
}

/// A name without differences of case, also those that only some languages ignore, and without what follows NUL.
pub(super) fn folded(name: &str) -> String {
    name.split('\0').next().unwrap_or_default().to_lowercase().to_uppercase()
}
