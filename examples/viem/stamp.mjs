// Issues Stamps: makes an issuer key, prints the issuer's DID, and signs a verifiable credential for an address.
//
//   npm ci
//   node stamp.mjs issuer.key                                   # makes the key if it is missing, prints the DID
//   node stamp.mjs issuer.key 0x… Discord discord:4711          # prints one credential, one line of JSON
//
// The last argument is the nullifier: a value that is the same whenever the same account is verified again. Derive it
// from the account's id with a secret of yours (HMAC), so that no one can compute it from a public id.

import { readFileSync, writeFileSync } from "node:fs";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

const DAY = 24 * 60 * 60 * 1000;
const text = (name) => ({ name, type: "string" });
const types = {
  EIP712Domain: [text("name")],
  Document: [
    { name: "@context", type: "string[]" },
    { name: "type", type: "string[]" },
    { name: "credentialSubject", type: "CredentialSubject" },
    text("issuer"),
    text("issuanceDate"),
    text("expirationDate"),
    { name: "proof", type: "Proof" },
  ],
  CredentialSubject: [
    { name: "@context", type: "SubjectContext" },
    text("id"),
    { name: "nullifiers", type: "string[]" },
    text("provider"),
  ],
  SubjectContext: [{ name: "nullifiers", type: "NullifiersContext" }, text("provider")],
  NullifiersContext: [text("@container"), text("@type")],
  Proof: [text("@context"), text("type"), text("proofPurpose"), text("verificationMethod"), text("created")],
};
const domain = { name: "VerifiableCredential" };
const primaryType = "Document";

/** The key in a file that only its owner reads. */
function issuerKey(file) {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    const key = generatePrivateKey();
    writeFileSync(file, key, { mode: 0o600, flag: "wx" });
    return key;
  }
}

async function issue(account, did, address, provider, nullifier) {
  const now = Date.now();
  const message = {
    "@context": ["https://www.w3.org/2018/credentials/v1"],
    type: ["VerifiableCredential"],
    credentialSubject: {
      "@context": {
        nullifiers: { "@container": "@list", "@type": "https://schema.org/Text" },
        provider: "https://schema.org/Text",
      },
      id: `did:pkh:eip155:1:${address}`,
      nullifiers: [nullifier],
      provider,
    },
    issuer: did,
    issuanceDate: new Date(now).toISOString(),
    expirationDate: new Date(now + 90 * DAY).toISOString(),
    proof: {
      "@context": "https://w3id.org/security/suites/eip712sig-2021/v1",
      type: "EthereumEip712Signature2021",
      proofPurpose: "assertionMethod",
      verificationMethod: `${did}#controller`,
      created: new Date(now).toISOString(),
    },
  };
  const proofValue = await account.signTypedData({ domain, types, primaryType, message });
  const proof = { ...message.proof, proofValue, eip712Domain: { domain, primaryType, types } };
  return { ...message, proof };
}

const [file, address, provider, nullifier] = process.argv.slice(2);
if (!file) throw new Error("name the file of the issuer's key");
const account = privateKeyToAccount(issuerKey(file));
const did = `did:ethr:${account.address.toLowerCase()}`;
if (!address) {
  console.log(did);
} else if (!provider || !nullifier) {
  throw new Error("name an address, a Stamp and a nullifier");
} else {
  console.log(JSON.stringify(await issue(account, did, address.toLowerCase(), provider, nullifier)));
}
