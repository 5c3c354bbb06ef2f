//! Form bodies and queries (`application/x-www-form-urlencoded`), read so that no other reader can see another value.

use std::borrow::Cow;

use url::form_urlencoded;

use super::{RequestContent, Unreadable};

/// Most parameters of a form.
pub(super) const MAX_PARAMETERS: usize = 1000;

/// A parameter, with its name as other readers may take it.
pub(super) struct Parameter {
    pub(super) name: ParameterName,
    pub(super) value: String,
}

/// A name such as `transfer[amount]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParameterName {
    text: String,
    /// Names in it, see [`tokens`].
    tokens: Vec<String>,
    joined: String,
}

impl ParameterName {
    pub(super) fn new(text: String) -> Self {
        let tokens = tokens(&text);
        Self { joined: tokens.join("_"), tokens, text }
    }

    /// The name as it was sent.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// True if some reader takes one for the other, or for what contains it.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        self.tokens.starts_with(&other.tokens)
            || other.tokens.starts_with(&self.tokens)
            || self.joined == other.joined
    }
}

/// The parameters of a request: those of the query, then those of the body.
pub(super) fn parameters(content: &RequestContent<'_>) -> Result<Vec<Parameter>, Unreadable> {
    let body = if content.body.is_empty() { "" } else { body(content)? };
    let query = content.query.unwrap_or_default();
    if body.contains(';') || query.contains(';') {
        return Err(Unreadable("some readers end a parameter at a semicolon, and there is one"));
    }
    bounded(pairs(query).chain(pairs(body)))
}

/// Parameters, unless they are too many.
pub(super) fn bounded<'t>(
    pairs: impl Iterator<Item = (Cow<'t, str>, Cow<'t, str>)>,
) -> Result<Vec<Parameter>, Unreadable> {
    let parameters: Vec<_> = pairs
        .take(MAX_PARAMETERS + 1)
        .map(|(name, value)| Parameter {
            name: ParameterName::new(name.into_owned()),
            value: value.into_owned(),
        })
        .collect();
    if parameters.len() > MAX_PARAMETERS {
        return Err(Unreadable("there are more than 1,000 parameters"));
    }
    Ok(parameters)
}

/// The one value of a parameter.
pub(super) fn value<'p>(parameters: &'p [Parameter], wanted: &ParameterName) -> Result<&'p str, Unreadable> {
    let mut alike = parameters.iter().filter(|parameter| parameter.name.is_alike(wanted));
    match (alike.next(), alike.next()) {
        (None, _) => Err(Unreadable("it is missing")),
        (Some(found), None) if found.name.text == wanted.text => Ok(&found.value),
        (Some(_), None) => Err(Unreadable("its name is spelled differently")),
        (Some(_), Some(_)) => Err(Unreadable("it is given twice")),
    }
}

/// The parameters of a form or a query. Some readers end one at a semicolon.
pub(super) fn pairs(text: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    text.split(['&', ';']).flat_map(|piece| form_urlencoded::parse(piece.as_bytes()))
}

/// The body of a request that says it is a form.
fn body<'a>(content: &RequestContent<'a>) -> Result<&'a str, Unreadable> {
    if content.media_type()? != "application/x-www-form-urlencoded" {
        return Err(Unreadable("the Content-Type is not application/x-www-form-urlencoded"));
    }
    std::str::from_utf8(content.readable()?).map_err(|_| Unreadable("the body is not in UTF-8"))
}

/// The names in a key such as `transfer[amount]`. Case is ignored by some readers. PHP drops leading blanks, ends
/// a name at NUL, and reads `.` and blanks as `_`; Rack ignores brackets that lead or are repeated.
fn tokens(key: &str) -> Vec<String> {
    let key = folded(key.trim());
    let key: String = key.chars().map(|c| if matches!(c, '.' | ' ' | '+') { '_' } else { c }).collect();
    key.split(['[', ']']).filter(|token| !token.is_empty()).map(str::to_owned).collect()
}

/// A name without differences of case, also those that only some languages ignore, and without what follows NUL.
pub(super) fn folded(name: &str) -> String {
    let name = name.split('\0').next().unwrap_or_default();
    if name.is_ascii() { name.to_ascii_uppercase() } else { name.to_lowercase().to_uppercase() }
}
