//! One or more headers, each from a format.

use http::{HeaderMap, HeaderName};
use pyxis_core::auth::Headers;
use pyxis_core::headers;
use zeroize::Zeroizing;

use super::Behavior;
use super::parts::{sensitive, single_text};
use super::spellings::remove_spellings;
use crate::credentials::search_strings::{SearchStrings, is_long};
use crate::error::{Error, Result};
use crate::runtime::secret_value::SecretValue;

impl Behavior for Headers {
    fn check(&self, secret: &SecretValue) -> Result<()> {
        self.put(secret, &mut HeaderMap::new(), "/").map(drop)
    }

    fn sets_header(&self, name: &str) -> bool {
        self.list().iter().any(|header| headers::is_same(&header.name, name))
    }

    fn collect_secrets(
        &self,
        secret: &SecretValue,
        is_secret: fn(&str) -> bool,
        search_strings: &mut SearchStrings,
    ) {
        let parts = || secret.named_parts().filter(|(name, _)| is_secret(name));
        parts().for_each(|(_, value)| search_strings.add(value));
        // A part that is too short to be searched for on its own: the whole value of each header that holds it.
        for format in self.list().iter().map(|header| header.format.as_str()) {
            let short = |(name, value): (&str, &str)| {
                let marked =
                    if name.is_empty() { "{secret}".to_owned() } else { format!("{{secret.{name}}}") };
                !value.is_empty() && !is_long(value) && format.contains(&marked)
            };
            if parts().any(short)
                && let Ok(value) = expand(format, secret)
            {
                search_strings.add(&value);
            }
        }
    }

    fn put(
        &self,
        secret: &SecretValue,
        headers: &mut HeaderMap,
        _wire: &str,
    ) -> Result<Option<Zeroizing<String>>> {
        // What the agent sent under another spelling could win at the host.
        self.list().iter().for_each(|format| remove_spellings(headers, &format.name));
        for format in self.list() {
            let name =
                HeaderName::try_from(format.name.as_str()).map_err(|e| Error::Internal(Box::new(e)))?;
            headers.insert(name, sensitive(&expand(&format.format, secret)?)?);
        }
        Ok(None)
    }
}

/// Fills `{secret}` and `{secret.field}` in.
fn expand(format: &str, secret: &SecretValue) -> Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::with_capacity(format.len() + 64));
    let mut rest = format;
    while let Some(start) = rest.find("{secret") {
        text.push_str(&rest[..start]);
        let end = rest[start..].find('}').ok_or_else(|| bad_format(format))? + start;
        let inner = &rest[start + "{secret".len()..end];
        match inner.strip_prefix('.') {
            Some(field) => text.push_str(secret.field(field).ok_or_else(|| {
                Error::field(format!("secret.{field}"), "the header format names it, but it is not there")
            })?),
            None if inner.is_empty() => text.push_str(single_text(secret)?),
            None => return Err(bad_format(format)),
        }
        rest = &rest[end + 1..];
    }
    text.push_str(rest);
    Ok(text)
}

fn bad_format(format: &str) -> Error {
    Error::field("auth.headers.format", format!("write {{secret}} or {{secret.field}}: {format}"))
}
