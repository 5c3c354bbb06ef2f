//! An in-memory authenticator: creates passkeys, answers challenges (Web Authentication Level 2, sections 6.1 and 6.3),
//! and gives wrong answers on request.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// User present.
const UP: u8 = 0x01;
/// User verified.
const UV: u8 = 0x04;
/// Attested credential data follows.
const AT: u8 = 0x40;

/// One passkey and its behavior. Tests may set any field to a wrong value.
#[derive(Clone)]
pub struct Authenticator {
    key: SigningKey,
    /// Credential id of the passkey.
    pub id: Vec<u8>,
    /// User handle, from registration.
    pub user_handle: Option<Vec<u8>>,
    /// Origin that the browser reports.
    pub origin: String,
    /// Relying party id that the authenticator signs.
    pub rp_id: String,
    /// Client data type. Default: `webauthn.get` or `webauthn.create`.
    pub kind: Option<String>,
    /// User present flag.
    pub present: bool,
    /// User verified flag.
    pub verified: bool,
    /// Signature counter, incremented by each answer. `None` means that the authenticator does not count.
    pub counter: Option<u32>,
    /// Challenge to sign instead of the given one.
    pub challenge: Option<String>,
    /// True to send an invalid signature.
    pub spoiled: bool,
    /// Additional client data members, as JSON text. Default: `"crossOrigin":false`.
    pub members: &'static str,
}

impl Authenticator {
    /// Creates a passkey for `origin` with a key derived from `seed`.
    pub fn new(origin: &str, seed: u8) -> Self {
        let host = origin.split("://").nth(1).expect("an origin").split(':').next().expect("a host");
        let secret = Sha256::digest([b"authenticator".as_slice(), &[seed]].concat());
        Self {
            key: SigningKey::from_slice(&secret).expect("a key"),
            id: Sha256::digest([b"id".as_slice(), &[seed]].concat()).to_vec(),
            user_handle: None,
            origin: origin.to_owned(),
            rp_id: host.to_owned(),
            kind: None,
            present: true,
            verified: true,
            counter: Some(0),
            challenge: None,
            spoiled: false,
            members: r#""crossOrigin":false"#,
        }
    }

    /// Answers the options of `navigator.credentials.create`, as `PublicKeyCredential.toJSON()`.
    pub fn create(&mut self, options: &Value) -> Value {
        let handle = options["user"]["id"].as_str().expect("a user");
        self.user_handle = Some(URL_SAFE_NO_PAD.decode(handle).expect("base64url"));
        let client_data = self.client_data("webauthn.create", options);
        let mut data = self.authenticator_data(AT);
        data.extend_from_slice(&[0; 16]);
        data.extend_from_slice(&u16::try_from(self.id.len()).expect("short").to_be_bytes());
        data.extend_from_slice(&self.id);
        data.extend_from_slice(&self.cose_key());
        // {"fmt": "none", "attStmt": {}, "authData": data}
        let mut object = vec![0xa3, 0x63];
        object.extend_from_slice(b"fmt");
        object.push(0x64);
        object.extend_from_slice(b"none");
        object.push(0x67);
        object.extend_from_slice(b"attStmt");
        object.extend_from_slice(&[0xa0, 0x68]);
        object.extend_from_slice(b"authData");
        push_bytes(&mut object, &data);
        json!({
            "id": encode(&self.id),
            "rawId": encode(&self.id),
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encode(&client_data),
                "attestationObject": encode(&object),
                "transports": ["internal"],
            },
        })
    }

    /// Answers the options of `navigator.credentials.get`.
    pub fn get(&mut self, options: &Value) -> Value {
        self.counter = self.counter.map(|counter| counter + 1);
        let client_data = self.client_data("webauthn.get", options);
        let data = self.authenticator_data(0);
        let signed = [data.as_slice(), Sha256::digest(&client_data).as_slice()].concat();
        let signature: Signature = self.key.sign(&signed);
        let mut signature = signature.to_der().as_bytes().to_vec();
        if self.spoiled {
            let last = signature.len() - 1;
            signature[last] ^= 1;
        }
        json!({
            "id": encode(&self.id),
            "rawId": encode(&self.id),
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encode(&client_data),
                "authenticatorData": encode(&data),
                "signature": encode(&signature),
                "userHandle": self.user_handle.as_deref().map(encode),
            },
        })
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let given = options["challenge"].as_str().expect("a challenge");
        let (kind, members) = (self.kind.as_deref().unwrap_or(kind), self.members);
        let (challenge, comma) =
            (self.challenge.as_deref().unwrap_or(given), if members.is_empty() { "" } else { "," });
        format!(r#"{{"type":"{kind}","challenge":"{challenge}","origin":"{}"{comma}{members}}}"#, self.origin)
            .into_bytes()
    }

    fn authenticator_data(&self, more: u8) -> Vec<u8> {
        let flags = more | if self.present { UP } else { 0 } | if self.verified { UV } else { 0 };
        let mut data = Sha256::digest(self.rp_id.as_bytes()).to_vec();
        data.push(flags);
        data.extend_from_slice(&self.counter.unwrap_or(0).to_be_bytes());
        data
    }

    /// {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y}
    fn cose_key(&self) -> Vec<u8> {
        let point = self.key.verifying_key().to_sec1_point(false);
        let (x, y) = (&point.as_bytes()[1..33], &point.as_bytes()[33..65]);
        let mut key = vec![0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21];
        push_bytes(&mut key, x);
        key.push(0x22);
        push_bytes(&mut key, y);
        key
    }
}

/// Appends a CBOR byte string.
fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).expect("short");
    match u8::try_from(length) {
        Ok(length) if length < 24 => out.push(0x40 | length),
        Ok(length) => out.extend_from_slice(&[0x58, length]),
        Err(_) => {
            out.push(0x59);
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
