//! Signatures of contract wallets (ERC-1271), which only a node of their chain can check.

use std::future::Future;
use std::pin::Pin;

use pyxis_core::BoxError;
use pyxis_core::address::EvmAddress;
use pyxis_signing::eip712::AbiWord;

/// Future returned by [`ContractWallets`].
pub type WalletFuture<'a> = Pin<Box<dyn Future<Output = Result<Option<bool>, BoxError>> + Send + 'a>>;

/// The nodes that check signatures of contract wallets.
pub trait ContractWallets: Send + Sync + 'static {
    /// True if the wallet's contract accepts the signature of `hash`; `None` if no node of the chain is configured. A
    /// node that does not answer is an error, never a no.
    fn accepts<'a>(
        &'a self,
        chain_id: u64,
        wallet: EvmAddress,
        hash: AbiWord,
        signature: &'a [u8],
    ) -> WalletFuture<'a>;
}
