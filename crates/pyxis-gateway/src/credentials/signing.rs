//! Payloads to sign: parsed, shown to the approver, and signed.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use pyxis_core::auth::{Auth, TokenSigningKey as Described};
use pyxis_core::hex;
use pyxis_http::json;
use pyxis_signing::eip712;
use pyxis_signing::payload::{BadPayload, SignRequest, View};
use pyxis_store::cipher::Keyring;
use utoipa::ToSchema;

use crate::credentials::signing_keys;
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::stored::StoredResponse;

pub use pyxis_signing::payload::{Format, Hash};

/// Type of what is asked and of what is answered.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(crate) fn signing_key(credential: &ResolvedCredential) -> Result<&Described> {
    match &credential.auth {
        Some(Auth::SigningKey(key)) => Ok(key),
        _ => Err(Error::InvalidHeader {
            name: "X-PX-Credential",
            detail: "this credential is not a signing key; use it with POST /forward",
        }),
    }
}

/// Reads a signing request.
pub(crate) fn read(body: &Bytes) -> Result<SignRequest> {
    json::parse(body).map_err(|problem| {
        let field = problem.member("field").and_then(|field| field.as_str().map(str::to_owned));
        let detail = problem.detail().to_owned();
        match field {
            Some(field) => Error::InvalidField { field, detail },
            None => Error::InvalidJson(detail),
        }
    })
}

impl From<BadPayload> for Error {
    fn from(error: BadPayload) -> Self {
        Self::field(error.field, error.detail)
    }
}

/// Signs what was approved.
pub(crate) fn carry_out(
    keyring: &Keyring,
    credential: &ResolvedCredential,
    body: &Bytes,
) -> Result<StoredResponse> {
    let described = signing_key(credential)?;
    let prepared = read(body)?.prepare(described.algorithm)?;
    let opened = credential.open_needed(keyring)?;
    let key = signing_keys::open(described.algorithm, opened.secret())?;
    let signed = key.sign(&prepared.to_sign).ok_or(Error::NoLongerAllowed("the key cannot sign this"))?;
    let body = serde_json::to_vec(&signed).map_err(|error| Error::Internal(error.into()))?;
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON)]);
    Ok(StoredResponse { status: StatusCode::OK, headers, body: body.into(), truncated: false })
}

/// A payload as the person who approves reads it.
#[derive(Clone, Debug, serde::Serialize, ToSchema)]
#[schema(as = Signing)]
pub struct PayloadView {
    /// `ed25519`, `secp256k1` or `p256`.
    #[schema(value_type = pyxis_core::auth::KeyAlgorithm)]
    pub algorithm: &'static str,
    /// `raw`, `eip191` or `eip712`.
    pub format: Format,
    /// The hash that is applied first.
    pub hash: Hash,
    /// The digest that is signed, in hexadecimal digits.
    pub digest: String,
    /// The agent's words.
    #[schema(required)]
    pub description: Option<String>,
    /// The payload, if it is text.
    #[schema(required)]
    pub text: Option<String>,
    /// The payload in hexadecimal digits, if it is not text.
    #[schema(required)]
    pub bytes: Option<String>,
    /// The payload, if it is typed data.
    #[schema(required)]
    pub typed: Option<Typed>,
    /// A caution for the approver, for example that only a hash is shown.
    #[schema(required)]
    pub warning: Option<&'static str>,
}

/// Typed data, field by field.
#[derive(Clone, Debug, serde::Serialize, ToSchema)]
#[schema(as = SigningTypedData)]
pub struct Typed {
    /// The type of the message.
    pub primary_type: String,
    /// Domain of the signature.
    pub domain: Vec<PayloadField>,
    /// Message to sign.
    pub message: Vec<PayloadField>,
}

/// One value.
#[derive(Clone, Debug, serde::Serialize, ToSchema)]
#[schema(as = SignedField)]
pub struct PayloadField {
    /// Where it stands.
    pub path: String,
    /// Its type.
    pub r#type: String,
    /// The value.
    pub value: String,
}

const BLIND: &str = "Only a hash is shown, so the signed content is unknown. Approve only if \
                     you computed the hash yourself.";
const OPAQUE: &str = "The payload is not text. Find out what these bytes mean before you approve.";

/// What a stored request asks to have signed; `None` if it no longer reads.
pub fn view_payload(body: &[u8]) -> Option<PayloadView> {
    let asked: SignRequest = serde_json::from_slice(body).ok()?;
    let prepared = asked.prepare(asked.algorithm).ok()?;
    let mut shown = PayloadView {
        algorithm: asked.algorithm.as_str(),
        format: asked.format,
        hash: asked.hash,
        digest: prepared.digest,
        description: asked.description,
        text: None,
        bytes: None,
        typed: None,
        warning: None,
    };
    match prepared.view {
        View::Text(text) => shown.text = Some(text),
        View::Bytes(bytes) => (shown.bytes, shown.warning) = (Some(hex::encode(&bytes)), Some(OPAQUE)),
        View::BlindHash(hash) => (shown.bytes, shown.warning) = (Some(hex::encode(&hash)), Some(BLIND)),
        View::Typed(typed) => {
            shown.typed = Some(Typed {
                primary_type: typed.primary_type,
                domain: typed.domain.into_iter().map(PayloadField::from).collect(),
                message: typed.message.into_iter().map(PayloadField::from).collect(),
            });
        }
    }
    Some(shown)
}

impl PayloadView {
    /// The same with everything that the agent wrote put through `change`.
    pub(crate) fn map_text(mut self, change: impl Fn(String) -> String) -> Self {
        self.description = self.description.map(&change);
        self.text = self.text.map(&change);
        self.bytes = self.bytes.map(&change);
        if let Some(typed) = &mut self.typed {
            typed.primary_type = change(std::mem::take(&mut typed.primary_type));
            for field in typed.domain.iter_mut().chain(&mut typed.message) {
                for text in [&mut field.path, &mut field.r#type, &mut field.value] {
                    *text = change(std::mem::take(text));
                }
            }
        }
        self
    }

    /// The algorithm and what it is applied to, in words.
    pub fn what(&self) -> String {
        let format = match (self.format, self.hash) {
            (Format::Raw, Hash::None) => "raw",
            (Format::Raw, Hash::Sha256) => "raw, hashed with SHA-256",
            (Format::Raw, Hash::Keccak256) => "raw, hashed with Keccak-256",
            (Format::Eip191, _) => "Ethereum message (EIP-191)",
            (Format::Eip712, _) => "Ethereum typed data (EIP-712)",
        };
        format!("{}, {format}", self.algorithm)
    }

    /// Typed data in one list: what it is, who it is for, what it says.
    pub fn fields(&self) -> Vec<PayloadField> {
        let Some(typed) = &self.typed else { return Vec::new() };
        let (path, value) = ("primaryType".to_owned(), typed.primary_type.clone());
        let domain = typed
            .domain
            .iter()
            .map(|field| PayloadField { path: format!("domain.{}", field.path), ..field.clone() });
        std::iter::once(PayloadField { path, r#type: String::new(), value })
            .chain(domain)
            .chain(typed.message.iter().cloned())
            .collect()
    }
}

impl From<eip712::TypedField> for PayloadField {
    fn from(field: eip712::TypedField) -> Self {
        Self { path: field.path, r#type: field.type_name, value: field.value }
    }
}
