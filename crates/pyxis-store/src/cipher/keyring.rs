//! The data keys of one database.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use hmac::Mac;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::{Entropy, bytes};
use pyxis_core::secret::{Secret, SecretBytes};

use super::{Aad, CipherError, CipherKey, MasterKey, Parts, Sealed};
use crate::db::{row, sql, stored_enum};
use crate::{Executor, Store, StoreError, Tx};

stored_enum! {
    /// What a data key is for.
    Purpose {
        /// Seals values.
        Seal = "seal",
        /// Root of the MAC and signing keys.
        Mac = "mac",
    }
}

row! {
    /// A data key as it is stored.
    WrappedKey: "data_keys", data_key_columns {
        /// Number.
        number: i64,
        /// What it is for.
        purpose: Purpose,
        /// The key, sealed by the master key.
        wrapped: Sealed,
    }
}

/// The unwrapped data keys; a clone shares them.
#[derive(Clone, Debug)]
pub struct Keyring {
    keys: Arc<RwLock<Keys>>,
    /// Never replaced: a changed MAC root would break the audit chain.
    mac_root: CipherKey,
}

#[derive(Debug)]
struct Keys {
    seal: BTreeMap<u32, CipherKey>,
}

impl Keys {
    fn newest(&self) -> (u32, &CipherKey) {
        let newest = self.seal.last_key_value().expect("a keyring has at least one key");
        (*newest.0, newest.1)
    }
}

const MAC_NUMBER: i64 = 0;

impl Keyring {
    /// Unwraps the data keys of the database, and makes the first ones when there are none.
    pub async fn load(
        store: &Store,
        master: &MasterKey,
        entropy: &dyn Entropy,
        now: UnixMillis,
    ) -> Result<Self, CipherError> {
        let mut found = wrapped_keys(store).await?;
        if found.is_empty() {
            let mut tx = store.begin().await?;
            // Whoever comes second at the first start takes the keys of whoever came first.
            insert(&mut tx, MAC_NUMBER, Purpose::Mac, master, entropy, now).await?;
            insert(&mut tx, 1, Purpose::Seal, master, entropy, now).await?;
            tx.commit().await?;
            found = wrapped_keys(store).await?;
        }
        let mac_root =
            found.iter().find(|key| key.purpose == Purpose::Mac).ok_or(CipherError::WrongMasterKey)?;
        let mac_root = mac_root.unwrap_with(master)?;
        let keys = Arc::new(RwLock::new(Keys { seal: unwrap_all(&found, master)? }));
        Ok(Self { keys, mac_root })
    }

    /// Seals `plaintext` with the newest data key.
    pub fn seal(&self, entropy: &dyn Entropy, aad: &Aad, plaintext: &[u8]) -> Sealed {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let (number, key) = keys.newest();
        key.seal(number, entropy, aad, plaintext)
    }

    /// Opens what was sealed for the same row.
    pub fn open(&self, aad: &Aad, sealed: &Sealed) -> Result<SecretBytes, CipherError> {
        let parts = Parts::of(sealed)?;
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.seal.get(&parts.number).ok_or(CipherError::UnknownKey(parts.number))?.open(aad, &parts)
    }

    /// A 32-byte key for `label`, the same for the life of the database: HMAC-SHA256 of a dedicated
    /// root, as in the expand step of HKDF (RFC 5869) for one block.
    pub fn derive(&self, label: &str) -> SecretBytes {
        let mut mac = super::hmac(self.mac_root.0.expose());
        mac.update(label.as_bytes());
        mac.update(&[1]);
        SecretBytes::new(mac.finalize().into_bytes().to_vec())
    }

    /// Reads the data keys again, after another process has added one.
    pub async fn refresh(&self, store: &Store, master: &MasterKey) -> Result<(), CipherError> {
        let seal = unwrap_all(&wrapped_keys(store).await?, master)?;
        self.keys.write().unwrap_or_else(PoisonError::into_inner).seal = seal;
        Ok(())
    }

    /// Adds a data key for new writes; older values still open. Its number.
    pub async fn rotate_data_key(
        &self,
        store: &Store,
        master: &MasterKey,
        entropy: &dyn Entropy,
        now: UnixMillis,
    ) -> Result<u32, CipherError> {
        // Proves that `master` is the right one before a key is wrapped with it.
        unwrap_all(&wrapped_keys(store).await?, master)?;
        let mut tx = store.begin().await?;
        let highest: Option<(i64,)> = (&mut tx).optional(sql("SELECT max(number) FROM data_keys")).await?;
        let number = highest.map_or(1, |(number,)| number + 1);
        if !insert(&mut tx, number, Purpose::Seal, master, entropy, now).await? {
            return Err(StoreError::Conflict { constraint: None }.into());
        }
        tx.commit().await?;
        self.refresh(store, master).await?;
        u32::try_from(number).map_err(|_| CipherError::Malformed)
    }

    /// Wraps the data keys with `new` instead of `old`, in one transaction. Running processes go on:
    /// they hold the data keys, which do not change.
    pub async fn rotate_master(
        store: &Store,
        old: &MasterKey,
        new: &MasterKey,
        entropy: &dyn Entropy,
    ) -> Result<(), CipherError> {
        let mut tx = store.begin().await?;
        for key in wrapped_keys(&mut tx).await? {
            let rewrapped = wrap(key.number, key.purpose, &key.unwrap_with(old)?, new, entropy);
            let update = sql("UPDATE data_keys SET wrapped = $1 WHERE number = $2 AND wrapped = $3")
                .bind(rewrapped)
                .bind(key.number)
                .bind(key.wrapped);
            if (&mut tx).execute(update).await? != 1 {
                return Err(CipherError::WrongMasterKey);
            }
        }
        Ok(tx.commit().await?)
    }
}

impl WrappedKey {
    fn unwrap_with(&self, master: &MasterKey) -> Result<CipherKey, CipherError> {
        let parts = Parts::of(&self.wrapped)?;
        let opened = master.0.open(&wrapping(self.number, self.purpose), &parts);
        let bytes = opened.map_err(|_| CipherError::WrongMasterKey)?;
        CipherKey::from_bytes(&bytes).ok_or(CipherError::Malformed)
    }
}

fn wrapping(number: i64, purpose: Purpose) -> Aad {
    Aad { table: "data_keys", column: "wrapped", row: format!("{}/{number}", purpose.as_str()) }
}

fn wrap(number: i64, purpose: Purpose, key: &CipherKey, master: &MasterKey, entropy: &dyn Entropy) -> Sealed {
    master.0.seal(0, entropy, &wrapping(number, purpose), key.0.expose())
}

fn unwrap_all(found: &[WrappedKey], master: &MasterKey) -> Result<BTreeMap<u32, CipherKey>, CipherError> {
    let seal = found.iter().filter(|key| key.purpose == Purpose::Seal);
    let seal: BTreeMap<u32, CipherKey> = seal
        .map(|key| {
            let number = u32::try_from(key.number).map_err(|_| CipherError::Malformed)?;
            Ok((number, key.unwrap_with(master)?))
        })
        .collect::<Result<_, CipherError>>()?;
    if seal.is_empty() { Err(CipherError::WrongMasterKey) } else { Ok(seal) }
}

async fn wrapped_keys(executor: impl Executor) -> Result<Vec<WrappedKey>, StoreError> {
    executor.all(sql(concat!("SELECT ", data_key_columns!(), " FROM data_keys ORDER BY number"))).await
}

async fn insert(
    tx: &mut Tx,
    number: i64,
    purpose: Purpose,
    master: &MasterKey,
    entropy: &dyn Entropy,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let key = CipherKey(Secret::new(bytes(entropy)));
    let query = sql("INSERT INTO data_keys (number, purpose, wrapped, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT DO NOTHING")
    .bind(number)
    .bind(purpose)
    .bind(wrap(number, purpose, &key, master, entropy))
    .bind(now);
    Ok(tx.execute(query).await? == 1)
}
