//! Digests that bind an approval to one request: SHA-256 over an unambiguous encoding.
//!
//! Every field is preceded by its length as eight bytes, big-endian, so that no two requests have the same encoding.
//! Each encoding starts with its own label, so that digests of different kinds never collide.

use sha2::{Digest, Sha256};

use crate::id::{AgentId, CredentialId};

/// Digest of everything that an approver sees and that will be sent
/// (`docs/reference/behavior/proxy.md#at-most-once`), in lower-case hexadecimal.
///
/// `target` is the canonical URL, `headers` are the forwarded ones with lower-case names. Their order counts only among
/// headers of the same name, as in HTTP (RFC 9110, section 5.3). So a store that groups them does not change the
/// digest. `version` is that of the credential's secret.
#[must_use]
pub fn request<'a>(
    method: &str,
    target: &str,
    headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    body: &[u8],
    credential: CredentialId,
    version: i64,
    agent: AgentId,
) -> String {
    let mut headers: Vec<_> = headers.collect();
    headers.sort_by_key(|(name, _)| *name);
    let mut encoding = Encoding::new(b"pyxis request 1");
    encoding.field(method.as_bytes()).field(target.as_bytes()).number(headers.len() as u64);
    for (name, value) in headers {
        encoding.field(name.as_bytes()).field(value);
    }
    encoding
        .field(body)
        .field(credential.to_string().as_bytes())
        .field(&version.to_be_bytes())
        .field(agent.to_string().as_bytes());
    encoding.finish()
}

/// Digest that recognizes an identical pending request (`docs/reference/behavior/proxy.md#the-202`), in lower-case
/// hexadecimal.
#[must_use]
pub fn dedupe(agent: AgentId, credential: CredentialId, method: &str, target: &str, body: &[u8]) -> String {
    let mut encoding = Encoding::new(b"pyxis dedupe 1");
    encoding
        .field(agent.to_string().as_bytes())
        .field(credential.to_string().as_bytes())
        .field(method.as_bytes())
        .field(target.as_bytes())
        .field(body);
    encoding.finish()
}

/// SHA-256 of `bytes` in lower-case hexadecimal.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

struct Encoding(Sha256);

impl Encoding {
    fn new(label: &[u8]) -> Self {
        let mut encoding = Self(Sha256::new());
        encoding.field(label);
        encoding
    }

    fn field(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.0.update(number.to_be_bytes());
        self
    }

    fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests;
