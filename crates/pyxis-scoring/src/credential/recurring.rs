//! Texts that stand in nearly every credential: names, contexts, and the types of the two forms.

/// To be hashed once. Only speed depends on what is here.
pub(super) const RECURRING: [&str; 17] = [
    "VerifiableCredential",
    "assertionMethod",
    "EthereumEip712Signature2021",
    "https://schema.org/Text",
    "https://www.w3.org/2018/credentials/v1",
    "https://w3id.org/vc/status-list/2021/v1",
    "https://w3id.org/security/suites/eip712sig-2021/v1",
    "@list",
    "EIP712Domain(string name)",
    "Proof(string @context,string created,string proofPurpose,string type,string verificationMethod)",
    "@context(string hash,string provider)",
    "CredentialSubject(@context @context,string hash,string id,string provider)\
     @context(string hash,string provider)",
    "Document(string[] @context,CredentialSubject credentialSubject,string expirationDate,\
     string issuanceDate,string issuer,Proof proof,string[] type)\
     @context(string hash,string provider)\
     CredentialSubject(@context @context,string hash,string id,string provider)\
     Proof(string @context,string created,string proofPurpose,string type,string verificationMethod)",
    "NullifiersContext(string @container,string @type)",
    "@context(NullifiersContext nullifiers,string provider)\
     NullifiersContext(string @container,string @type)",
    "CredentialSubject(@context @context,string[] nullifiers,string id,string provider)\
     @context(NullifiersContext nullifiers,string provider)\
     NullifiersContext(string @container,string @type)",
    "Document(string[] @context,CredentialSubject credentialSubject,string expirationDate,\
     string issuanceDate,string issuer,Proof proof,string[] type)\
     @context(NullifiersContext nullifiers,string provider)\
     CredentialSubject(@context @context,string[] nullifiers,string id,string provider)\
     NullifiersContext(string @container,string @type)\
     Proof(string @context,string created,string proofPurpose,string type,string verificationMethod)",
];
