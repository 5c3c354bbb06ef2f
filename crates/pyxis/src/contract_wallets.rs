//! Verification's nodes as scoring asks them for signatures of contract wallets.

use pyxis_core::address::EvmAddress;
use pyxis_scoring::contract_wallets::{ContractWallets, WalletFuture};
use pyxis_verify as verify;

/// The networks of verification.
pub(crate) struct NetworkWallets(pub(crate) verify::State);

impl ContractWallets for NetworkWallets {
    fn accepts<'a>(
        &'a self,
        chain_id: u64,
        wallet: EvmAddress,
        hash: [u8; 32],
        signature: &'a [u8],
    ) -> WalletFuture<'a> {
        Box::pin(async move {
            let accepted =
                verify::contract_wallets::accepts(&self.0, chain_id, wallet, hash, signature).await;
            accepted.map_err(Into::into)
        })
    }
}
