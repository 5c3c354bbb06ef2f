//! Issuers trusted to make statements about a kind of proof. The list belongs to the installation.

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::Kind;

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// A trusted issuer for a kind of proof.
    pub ProofIssuerRow: "proof_issuers", issuer_columns {
        /// Kind of proof.
        kind: Kind,
        /// An Ed25519 key or an EVM address, in lower case with `0x`.
        issuer: String,
        /// Display name.
        name: String,
        /// Time when it was added.
        created_at: UnixMillis,
    }
}

/// Trusts an issuer for a kind, or renames a trusted one.
pub async fn put(executor: impl Executor, new: &ProofIssuerRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO proof_issuers (kind, issuer, name, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (kind, issuer) DO UPDATE SET name = excluded.name");
    let query = query.bind(new.kind).bind(&new.issuer).bind(&new.name).bind(new.created_at);
    executor.execute(query).await.map(|_| ())
}

/// Removes an issuer of a kind. Proofs that it registered stay. Returns true if it was trusted.
pub async fn remove(executor: impl Executor, kind: Kind, issuer: &str) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM proof_issuers WHERE kind = $1 AND issuer = $2");
    Ok(executor.execute(query.bind(kind).bind(issuer)).await? == 1)
}

/// True if the issuer is trusted for the kind.
pub async fn is_listed(executor: impl Executor, kind: Kind, issuer: &str) -> Result<bool, StoreError> {
    let query = sql("SELECT created_at FROM proof_issuers WHERE kind = $1 AND issuer = $2");
    Ok(executor.optional::<(UnixMillis,)>(query.bind(kind).bind(issuer)).await?.is_some())
}

/// All issuers, by kind.
pub async fn list(executor: impl Executor) -> Result<Vec<ProofIssuerRow>, StoreError> {
    let query = sql(concat!("SELECT ", issuer_columns!(), " FROM proof_issuers ORDER BY kind, issuer"));
    executor.all(query).await
}
