//! Issuers whose statements about a kind of proof are believed. The list belongs to the installation.

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::Kind;

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// An issuer of a kind.
    pub ProofIssuerRow: "proof_issuers", issuer_columns {
        /// The kind.
        kind: Kind,
        /// An Ed25519 key or an EVM address, in lower case with `0x`.
        issuer: String,
        /// Name for people.
        name: String,
        /// When it was listed.
        created_at: UnixMillis,
    }
}

/// Lists an issuer for a kind, or renames it.
pub async fn put(executor: impl Executor, new: &ProofIssuerRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO proof_issuers (kind, issuer, name, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (kind, issuer) DO UPDATE SET name = excluded.name");
    let query = query.bind(new.kind).bind(&new.issuer).bind(&new.name).bind(new.created_at);
    executor.execute(query).await.map(|_| ())
}

/// Takes an issuer off the list of a kind; whether it was there. Proofs that it registered stay.
pub async fn remove(executor: impl Executor, kind: Kind, issuer: &str) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM proof_issuers WHERE kind = $1 AND issuer = $2");
    Ok(executor.execute(query.bind(kind).bind(issuer)).await? == 1)
}

/// True if an issuer is believed about a kind.
pub async fn is_listed(executor: impl Executor, kind: Kind, issuer: &str) -> Result<bool, StoreError> {
    let query = sql("SELECT created_at FROM proof_issuers WHERE kind = $1 AND issuer = $2");
    Ok(executor.optional::<(UnixMillis,)>(query.bind(kind).bind(issuer)).await?.is_some())
}

/// Every issuer, by kind.
pub async fn list(executor: impl Executor) -> Result<Vec<ProofIssuerRow>, StoreError> {
    let query = sql(concat!("SELECT ", issuer_columns!(), " FROM proof_issuers ORDER BY kind, issuer"));
    executor.all(query).await
}
