//! Receipts of decided requests (`docs/reference/receipts.md`).

mod content;
mod jwt_libraries;
mod offline;
mod tampering;

use pyxis_core::id::TxnId;
use pyxis_gateway::{Result, receipts};
use pyxis_signing::receipt::{self, ReceiptClaims, ReceiptKeySet};

use crate::races::proxy::Proxy;

impl Proxy {
    /// The receipt of a transaction.
    async fn receipt(&self, txn: TxnId) -> Result<String> {
        receipts::issue(&self.state, self.workspace, txn).await
    }

    /// The content of a transaction's receipt, verified.
    async fn receipt_claims(&self, txn: TxnId) -> ReceiptClaims {
        let token = self.receipt(txn).await.unwrap();
        receipt::verify(&token, &self.receipt_keys().await).unwrap().claims
    }

    async fn receipt_keys(&self) -> ReceiptKeySet {
        let published = receipts::keys::published(&self.state).await.unwrap();
        // As an auditor reads them.
        ReceiptKeySet::parse(&serde_json::to_string(&published).unwrap()).unwrap()
    }
}
