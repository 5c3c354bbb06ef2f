//! Data keys of one database.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use hmac::Mac;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::{Entropy, bytes};
use pyxis_core::secret::{Secret, SecretBytes};

use super::{Aad, CipherError, CipherKey, MasterKey, Sealed, SealedFields};
use crate::db::{row, sql, stored_enum};
use crate::{Executor, Store, StoreError, Tx};

stored_enum! {
    /// Purpose of a data key.
    Purpose {
        /// Seals values.
        Seal = "seal",
        /// Root from which MAC and signing keys are derived.
        Mac = "mac",
    }
}

row! {
    /// A data key as stored.
    WrappedKey: "data_keys", data_key_columns {
        /// Key number.
        number: i64,
        /// Purpose of the key.
        purpose: Purpose,
        /// Key sealed with the master key.
        wrapped: Sealed,
    }
}

/// Unwrapped data keys. Clones share them.
#[derive(Clone, Debug)]
pub struct Keyring {
    keys: Arc<RwLock<Keys>>,
    /// Never replaced, because a different MAC root would break the audit chain.
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
    /// Unwraps the data keys of the database. Creates the first ones if there are none.
    pub async fn load(
        store: &Store,
        master: &MasterKey,
        entropy: &dyn Entropy,
        now: UnixMillis,
    ) -> Result<Self, CipherError> {
        let mut found = wrapped_keys(store).await?;
        if found.is_empty() {
            let mut tx = store.begin().await?;
            // If two processes start first, the second uses the first one's keys.
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

    /// Opens a value that was sealed for the same row.
    pub fn open(&self, aad: &Aad, sealed: &Sealed) -> Result<SecretBytes, CipherError> {
        let parts = SealedFields::parse(sealed)?;
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.seal.get(&parts.number).ok_or(CipherError::UnknownKey(parts.number))?.open(aad, &parts)
    }

    /// A 32-byte key for `label` that never changes in a database. It is HMAC-SHA256 of a dedicated root, like the
    /// expand step of HKDF (RFC 5869) for one block.
    pub fn derive(&self, label: &str) -> SecretBytes {
        let mut mac = super::hmac(self.mac_root.0.expose());
        mac.update(label.as_bytes());
        mac.update(&[1]);
        SecretBytes::new(mac.finalize().into_bytes().to_vec())
    }

    /// Reloads the data keys after another process has added one.
    pub async fn refresh(&self, store: &Store, master: &MasterKey) -> Result<(), CipherError> {
        let seal = unwrap_all(&wrapped_keys(store).await?, master)?;
        self.keys.write().unwrap_or_else(PoisonError::into_inner).seal = seal;
        Ok(())
    }

    /// Adds a data key for new writes. Older values still open. Returns the key's number.
    pub async fn rotate_data_key(
        &self,
        store: &Store,
        master: &MasterKey,
        entropy: &dyn Entropy,
        now: UnixMillis,
    ) -> Result<u32, CipherError> {
        // Checks that `master` is correct before wrapping a key with it.
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

    /// Rewraps the data keys with `new` instead of `old`, in one transaction. Running processes continue, because they
    /// hold the unwrapped data keys, which do not change.
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
        let parts = SealedFields::parse(&self.wrapped)?;
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
