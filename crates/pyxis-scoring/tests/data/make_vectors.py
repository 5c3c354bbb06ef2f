"""Makes python-*.json: credentials with Ed25519Signature2018 by software that shares nothing with Pyxis.

    pip install pyld cryptography
    npm install @digitalbazaar/credentials-context   # the published context, not built in here
    python make_vectors.py PATH_OF_V1_CONTEXT.json

The key is SHA-256 of a fixed text, so that a second run gives the same files.
"""

import base64
import hashlib
import json
import pathlib
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pyld import jsonld

CONTEXT = "https://www.w3.org/2018/credentials/v1"
TEXT = "https://schema.org/Text"
DIRECTORY = pathlib.Path(__file__).parent
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return text


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def canonical_hash(document):
    options = {"algorithm": "URDNA2015", "format": "application/n-quads"}
    return hashlib.sha256(jsonld.normalize(document, options).encode()).digest()


def make(name, subject):
    key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"a key for test vectors").digest())
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    multibase = "z" + base58(b"\xed\x01" + public)
    did = "did:key:" + multibase
    document = {
        "@context": [CONTEXT],
        "id": "urn:uuid:8b6a7a2e-6f2b-4c1b-9d0e-2f3c4d5e6f70",
        "type": ["VerifiableCredential"],
        "issuer": did,
        "issuanceDate": "2026-01-01T00:00:00.123Z",
        "expirationDate": "2026-04-01T00:00:00.123Z",
        "credentialSubject": {"id": "did:pkh:eip155:1:0x" + "Cd" * 20, "provider": "Github", **subject},
    }
    proof = {
        "type": "Ed25519Signature2018",
        "created": "2026-01-01T00:00:00.456Z",
        "proofPurpose": "assertionMethod",
        "verificationMethod": did + "#" + multibase,
    }
    header = base64url(json.dumps({"alg": "EdDSA", "crit": ["b64"], "b64": False}, separators=(",", ":")).encode())
    options = {"@context": CONTEXT, **proof}
    signed = header.encode() + b"." + canonical_hash(options) + canonical_hash(document)
    proof["jws"] = header + ".." + base64url(key.sign(signed))
    text = json.dumps({**document, "proof": proof}, indent=1) + "\n"
    (DIRECTORY / f"{name}.json").write_text(text)
    (DIRECTORY / f"{name}.sha256").write_text(hashlib.sha256(signed).hexdigest() + "\n")


context = json.load(open(sys.argv[1]))
remote = lambda url, _: {"contextUrl": None, "documentUrl": url, "document": {CONTEXT: context}[url]}
jsonld.set_document_loader(remote)

mark = "v0.0.0:eu7RH6ZXAtRhUm3wQ3jfMVYoJ18sXynFm2AvsjsT9FQ="
make("python-older", {"@context": [{"hash": TEXT, "provider": TEXT}], "hash": mark})
terms = {"@id": "https://example.com/nullifiers", "@container": "@list", "@type": TEXT}
make(
    "python-list",
    {"@context": {"nullifiers": terms, "provider": "https://example.com/provider"}, "nullifiers": [mark, "v1:b", "v1:a"]},
)
make(
    "python-set",
    {"@context": {"nullifiers": TEXT, "provider": TEXT}, "nullifiers": ["v1:b", "v1:a"]},
)
