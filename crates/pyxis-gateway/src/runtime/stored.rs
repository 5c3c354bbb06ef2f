//! Stored form of a pending request and its response, before sealing.
//!
//! Length-prefixed, because header values are bytes and bodies are large: no escaping, one copy.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use pyxis_core::secret::SecretBytes;

/// Stored data that cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("a stored message is damaged")]
pub(crate) struct Damaged;

/// A request as it will be sent, without the secret.
#[derive(Debug)]
pub(crate) struct StoredRequest {
    /// Canonical URL.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A response as the agent may see it.
#[derive(Debug)]
pub(crate) struct StoredResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// True if the body was longer than the stored part.
    pub(crate) truncated: bool,
}

impl StoredRequest {
    pub(crate) fn encode(&self) -> SecretBytes {
        let mut writer = Writer::with_capacity(self.target.len() + self.body.len() + 1024);
        writer.put(self.target.as_bytes());
        writer.put_headers(&self.headers);
        writer.put(&self.body);
        SecretBytes::new(writer.0)
    }

    pub(crate) fn decode(bytes: &SecretBytes) -> Result<Self, Damaged> {
        let mut reader = Reader(bytes.expose());
        let target = String::from_utf8(reader.read_field()?.to_vec()).map_err(|_| Damaged)?;
        let headers = reader.take_headers()?;
        let body = Bytes::copy_from_slice(reader.read_field()?);
        Ok(Self { target, headers, body })
    }
}

impl StoredResponse {
    pub(crate) fn encode(&self) -> SecretBytes {
        let mut writer = Writer::with_capacity(self.body.len() + 1024);
        writer.put(self.status.as_str().as_bytes());
        writer.put_headers(&self.headers);
        writer.put(&[u8::from(self.truncated)]);
        writer.put(&self.body);
        SecretBytes::new(writer.0)
    }

    pub(crate) fn decode(bytes: &SecretBytes) -> Result<Self, Damaged> {
        let mut reader = Reader(bytes.expose());
        let status = StatusCode::from_bytes(reader.read_field()?).map_err(|_| Damaged)?;
        let headers = reader.take_headers()?;
        let truncated = reader.read_field()? == [1];
        let body = Bytes::copy_from_slice(reader.read_field()?);
        Ok(Self { status, headers, body, truncated })
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    fn put(&mut self, field: &[u8]) {
        self.0.extend_from_slice(&(field.len() as u64).to_le_bytes());
        self.0.extend_from_slice(field);
    }

    fn put_headers(&mut self, headers: &HeaderMap) {
        self.put(&(headers.len() as u64).to_le_bytes());
        for (name, value) in headers {
            self.put(name.as_str().as_bytes());
            self.put(value.as_bytes());
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn read_field(&mut self) -> Result<&'a [u8], Damaged> {
        let (length, rest) = self.0.split_first_chunk::<8>().ok_or(Damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| Damaged)?;
        let (field, rest) = rest.split_at_checked(length).ok_or(Damaged)?;
        self.0 = rest;
        Ok(field)
    }

    fn take_headers(&mut self) -> Result<HeaderMap, Damaged> {
        let count = self.read_field()?.try_into().map(u64::from_le_bytes).map_err(|_| Damaged)?;
        let mut headers = HeaderMap::new();
        for _ in 0..count {
            let name = HeaderName::from_bytes(self.read_field()?).map_err(|_| Damaged)?;
            let value = HeaderValue::from_bytes(self.read_field()?).map_err(|_| Damaged)?;
            headers.append(name, value);
        }
        Ok(headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_back_byte_for_byte_with_repeated_headers() {
        let mut headers = HeaderMap::new();
        headers.append("x-a", HeaderValue::from_bytes(b"\xff1").unwrap());
        headers.append("x-a", HeaderValue::from_static("2"));
        let body = Bytes::from_static(b"\0\x01body");
        let request = StoredRequest { target: "https://a.example/".into(), headers, body };
        let again = StoredRequest::decode(&request.encode()).unwrap();
        assert_eq!(again.target, request.target);
        assert_eq!(again.headers, request.headers);
        assert_eq!(again.body, request.body);
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        let response = StoredResponse {
            status: StatusCode::CREATED,
            headers: HeaderMap::new(),
            body: Bytes::from_static(b"ok"),
            truncated: true,
        };
        let whole = response.encode();
        assert!(StoredResponse::decode(&whole).unwrap().truncated);
        for cut in 0..whole.expose().len() {
            let part = SecretBytes::new(whole.expose()[..cut].to_vec());
            assert!(StoredResponse::decode(&part).is_err(), "{cut}");
        }
    }
}
