//! Form bodies and queries (`application/x-www-form-urlencoded`), read so that no other reader can see another value.

use url::form_urlencoded;

use super::{RequestContent, Unreadable};

/// The one value of a parameter, in the body or, without a body, in the query.
pub(super) fn value(content: &RequestContent<'_>, name: &str) -> Result<String, Unreadable> {
    let body = if content.body.is_empty() { "" } else { body(content)? };
    let query = content.query.unwrap_or_default();
    let mut found = None;
    for (key, value) in
        form_urlencoded::parse(query.as_bytes()).chain(form_urlencoded::parse(body.as_bytes()))
    {
        if is_alike(&key, name) {
            if found.is_some() {
                return Err(Unreadable("it is given twice"));
            }
            found = Some((key, value));
        }
    }
    let (key, value) = found.ok_or(Unreadable("it is missing"))?;
    if key != name {
        return Err(Unreadable("its name is spelled differently"));
    }
    // Some readers end a parameter at a semicolon.
    if value_of_raw(query, body).any(|raw| raw.contains(';')) {
        return Err(Unreadable("a parameter contains a semicolon"));
    }
    Ok(value.into_owned())
}

/// True if the query has a parameter that some reader takes for `name`.
pub(super) fn has_in_query(content: &RequestContent<'_>, name: &str) -> bool {
    let query = content.query.unwrap_or_default();
    form_urlencoded::parse(query.as_bytes()).any(|(key, _)| is_alike(&key, name))
}

/// The body of a request that says it is a form.
fn body<'a>(content: &RequestContent<'a>) -> Result<&'a str, Unreadable> {
    if content.media_type()? != "application/x-www-form-urlencoded" {
        return Err(Unreadable("the Content-Type is not application/x-www-form-urlencoded"));
    }
    std::str::from_utf8(content.readable()?).map_err(|_| Unreadable("the body is not in UTF-8"))
}

fn value_of_raw<'a>(query: &'a str, body: &'a str) -> impl Iterator<Item = &'a str> {
    query.split('&').chain(body.split('&'))
}

/// True if some reader takes `key` for `name`. Case is ignored by some; PHP drops leading spaces, ends a name at NUL,
/// and reads `.` and space as `_`; `a[]` and `a` may fill the same parameter.
fn is_alike(key: &str, name: &str) -> bool {
    plain(key) == plain(name) || (!name.contains('[') && plain(base(key)) == plain(name))
}

fn base(key: &str) -> &str {
    key.split('[').next().unwrap_or_default()
}

fn plain(key: &str) -> String {
    let key = key.split('\0').next().unwrap_or_default().trim();
    key.chars()
        .map(|c| if matches!(c, '.' | ' ' | '+') { '_' } else { c })
        .flat_map(char::to_lowercase)
        .collect()
}
