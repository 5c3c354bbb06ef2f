//! Cache of typed data. One issuer's credentials all contain the same typed data, so it is parsed and checked once.

use std::cell::RefCell;
use std::rc::Rc;

use pyxis_signing::eip712::{AbiWord, DOMAIN, TypedValue, Types, abi_words};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::eip712;
use super::json::{self, JsonNode, Object};
use super::rejection::{Rejection, shortened};

pub(super) const PRIMARY: &str = "Document";
const DOMAIN_NAME: &str = "VerifiableCredential";

/// Forms cached per thread, and their maximum length in bytes.
const KEPT: usize = 8;
const LONGEST: usize = 8 * 1024;

/// Checked typed data: types, and the hash of its domain.
pub(super) struct TypedDataForm {
    types: Types,
    domain: AbiWord,
}

impl TypedDataForm {
    /// Reads `proof.eip712Domain`.
    pub(super) fn read(data: &Object<'_>) -> Result<Self, Rejection> {
        let place = |rejection: Rejection| rejection.within("proof.eip712Domain");
        data.only(&["domain", "primaryType", "types"]).map_err(place)?;
        let domain = data.object("domain").map_err(place)?;
        check_domain(domain)?;
        if data.text("primaryType").map_err(place)? != PRIMARY {
            return Err(Rejection::InvalidTypedData { reason: "primaryType is not Document" });
        }
        let types = eip712::types(data.object("types").map_err(place)?)?;
        check_texts(&types)?;
        types.check_use(PRIMARY)?;
        let domain = eip712::hash_struct(&types, DOMAIN, domain)
            .map_err(|rejection| place(rejection.within("domain")))?;
        Ok(Self { types, domain })
    }

    /// The hash of `document` that its issuer signs.
    pub(super) fn signing_hash(&self, document: &Object<'_>) -> Result<AbiWord, Rejection> {
        let message = eip712::hash_struct(&self.types, PRIMARY, document)?;
        Ok(abi_words::signing_hash(self.domain, message))
    }
}

thread_local! {
    /// Texts from credentials whose signatures were valid, newest last.
    static MET: RefCell<Vec<(Box<str>, Rc<TypedDataForm>)>> = const { RefCell::new(Vec::new()) };
}

/// Parses a credential. Cached typed data is not parsed again.
pub(super) fn parse(text: &str) -> Result<Object<'_>, Rejection> {
    // The reader that reads the whole text reports faults and their positions.
    json::parse_except(text, ["proof", "eip712Domain"], |raw| met(raw).is_some())
        .map_or_else(|| json::parse(text), Ok)
}

/// The form of a credential, from [`parse`]'s value for its typed data.
pub(super) fn lookup(data: &JsonNode<'_>) -> Result<Rc<TypedDataForm>, Rejection> {
    match data {
        JsonNode::Object(data) => TypedDataForm::read(data).map(Rc::new),
        JsonNode::Unread(raw) => {
            met(raw).map_or_else(|| TypedDataForm::read(&json::parse(raw)?).map(Rc::new), Ok)
        }
        _ => Err(Rejection::form("proof.eip712Domain", "an object")),
    }
}

fn met(raw: &str) -> Option<Rc<TypedDataForm>> {
    MET.with_borrow(|met| met.iter().find(|(text, _)| **text == *raw).map(|(_, form)| Rc::clone(form)))
}

/// Caches the form of a credential whose signature was valid.
pub(super) fn remember(credential: &str, form: Rc<TypedDataForm>) {
    let Ok(Credential { proof: Proof { data } }) = serde_json::from_str(credential) else { return };
    if data.get().len() <= LONGEST {
        MET.with_borrow_mut(|met| {
            if met.len() == KEPT {
                met.remove(0);
            }
            met.push((data.get().into(), form));
        });
    }
}

#[derive(Deserialize)]
struct Credential<'a> {
    #[serde(borrow)]
    proof: Proof<'a>,
}

#[derive(Deserialize)]
struct Proof<'a> {
    #[serde(borrow, rename = "eip712Domain")]
    data: &'a RawValue,
}

/// Refuses a signature for another purpose, which must not pass as one on a credential.
fn check_domain(domain: &Object<'_>) -> Result<(), Rejection> {
    let is_positive =
        |value: &JsonNode<'_>| value.integer(false, 256).is_some_and(|value| value != AbiWord::default());
    let expected = |name: &str, value: &JsonNode<'_>| match name {
        "name" if value.as_text() == Some(DOMAIN_NAME) => None,
        "name" => Some("must be VerifiableCredential"),
        "version" if value.as_text().is_some() => None,
        "version" => Some("must be a string"),
        "chainId" if is_positive(value) => None,
        "chainId" => Some("must be an integer above 0"),
        _ => Some("must be absent"),
    };
    let mut differences: Vec<String> = domain
        .iter()
        .filter_map(|(name, value)| expected(name, value).map(|what| format!("{} {what}", shortened(name))))
        .collect();
    if domain.get("name").is_none() {
        differences.push("name must be VerifiableCredential".to_owned());
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Rejection::WrongDomain { difference: differences.join(", ") })
}

/// Requires texts to be signed as text. As `bytes` or `address`, two spellings share a hash.
fn check_texts(types: &Types) -> Result<(), Rejection> {
    let subject = types.member_type(PRIMARY, "credentialSubject");
    let proof = types.member_type(PRIMARY, "proof");
    let fields = [
        (Some(PRIMARY), &["issuer", "issuanceDate", "expirationDate"][..], "string"),
        (Some(PRIMARY), &["type", "@context"], "string[]"),
        (subject, &["id", "provider", "hash"], "string"),
        (subject, &["nullifiers"], "string[]"),
        (proof, &["type", "proofPurpose", "verificationMethod", "created"], "string"),
    ];
    for (owner, members, expected) in fields {
        let written = |member: &&str| owner.and_then(|owner| types.member_type(owner, member));
        // A missing one is found when the document is compared with its types.
        if members.iter().filter_map(written).any(|written| written != expected) {
            return Err(Rejection::InvalidTypedData {
                reason: "a string of the credential is not signed as string",
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
