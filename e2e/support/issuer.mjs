// An issuer of credentials, as the API takes them: Ed25519Signature2018 by a did:key.

import { createHash, generateKeyPairSync, sign } from "node:crypto";

const TEXT = "https://schema.org/Text";
const TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const HEADER = Buffer.from('{"alg":"EdDSA","crit":["b64"],"b64":false}').toString("base64url");
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const DAY = 86_400_000;

export class Issuer {
  #key;
  #multibase;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const point = Buffer.from(publicKey.export({ format: "jwk" }).x, "base64url");
    this.#key = privateKey;
    this.#multibase = `z${base58(Buffer.concat([Buffer.from([0xed, 0x01]), point]))}`;
  }

  get did() {
    return `did:key:${this.#multibase}`;
  }

  /** A credential of today, for 90 days. `nullifier` needs a colon. */
  issue(address, provider, nullifier) {
    const subject = `did:pkh:eip155:1:${address.toLowerCase()}`;
    const issued = new Date(Date.now() - 1000).toISOString();
    const expires = new Date(Date.now() + 90 * DAY).toISOString();
    const method = `${this.did}#${this.#multibase}`;
    const options = canonical([
      ["http://purl.org/dc/terms/created", date(issued)],
      [TYPE, "<https://w3id.org/security#Ed25519Signature2018>"],
      ["https://w3id.org/security#proofPurpose", "<https://w3id.org/security#assertionMethod>"],
      ["https://w3id.org/security#verificationMethod", `<${method}>`],
    ]);
    const credential = (property) => `https://www.w3.org/2018/credentials#${property}`;
    const document = canonical([
      [TYPE, `<${credential("VerifiableCredential")}>`],
      [credential("credentialSubject"), `<${subject}>`],
      [credential("issuer"), `<${this.did}>`],
      [credential("issuanceDate"), date(issued)],
      [credential("expirationDate"), date(expires)],
    ], [nullifier, provider].map((said) => `<${subject}> <${TEXT}> "${said}" .\n`));
    const signed = Buffer.concat([Buffer.from(`${HEADER}.`), sha256(options), sha256(document)]);
    const signature = sign(null, signed, this.#key).toString("base64url");
    return {
      "@context": ["https://www.w3.org/2018/credentials/v1"],
      "type": ["VerifiableCredential"],
      "credentialSubject": {
        "@context": [{ nullifiers: TEXT, provider: TEXT }],
        "id": subject,
        "nullifiers": [nullifier],
        "provider": provider,
      },
      "issuer": this.did,
      "issuanceDate": issued,
      "expirationDate": expires,
      "proof": {
        "type": "Ed25519Signature2018",
        "proofPurpose": "assertionMethod",
        "verificationMethod": method,
        "created": issued,
        "jws": `${HEADER}..${signature}`,
      },
    };
  }
}

/** Statements about the one thing without a name, and whole lines next to them. */
function canonical(statements, lines = []) {
  const own = statements.map(([property, object]) => `_:c14n0 <${property}> ${object} .\n`);
  return [...own, ...lines].sort().join("");
}

function date(text) {
  return `"${text}"^^<http://www.w3.org/2001/XMLSchema#dateTime>`;
}

function sha256(text) {
  return createHash("sha256").update(text).digest();
}

function base58(bytes) {
  let number = BigInt(`0x${bytes.toString("hex")}`);
  let text = "";
  for (; number > 0n; number /= 58n) text = ALPHABET[Number(number % 58n)] + text;
  return text;
}
