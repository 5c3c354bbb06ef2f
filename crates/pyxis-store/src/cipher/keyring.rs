//! Data keys of one database.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hmac::Mac;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::{Entropy, bytes};
use pyxis_core::secret::{Secret, SecretBytes};

use super::{Aad, CipherError, CipherKey, MasterKey, Sealed, SealedFields};
use crate::db::{row, sql, stored_enum};
use crate::{Executor, Store, StoreError, Tx, meta, nodes};

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
        created_at: UnixMillis,
    }
}

/// Time after which a new data key seals. Until then every running node has loaded it ([`Keyring::refresh`]) and can
/// open what it seals.
pub const SEALS_AFTER: Duration = Duration::from_mins(1);

/// Key in `meta` of the time of the last change of the master key, in Unix milliseconds.
const MASTER_ROTATED: &str = "master_key_rotated_at";

/// Unwrapped data keys. Clones share them.
#[derive(Clone, Debug)]
pub struct Keyring {
    keys: Arc<RwLock<Keys>>,
    /// Unwraps data keys that are added later.
    master: MasterKey,
    /// Never replaced, because a different MAC root would break the audit chain.
    mac_root: CipherKey,
}

#[derive(Debug)]
struct Keys {
    seal: BTreeMap<u32, CipherKey>,
    /// Number of the key that seals.
    current: u32,
}

impl Keys {
    fn current(&self) -> (u32, &CipherKey) {
        (self.current, self.seal.get(&self.current).expect("the current key is one of the keys"))
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
        let keys = Keys { seal: unwrap_all(&found, master)?, current: current(&found, now)? };
        Ok(Self { keys: Arc::new(RwLock::new(keys)), master: master.clone(), mac_root })
    }

    /// True if the database has data keys, so that only its own master key is of use.
    pub async fn exists(store: &Store) -> Result<bool, StoreError> {
        Ok(!wrapped_keys(store).await?.is_empty())
    }

    /// Checks that this keyring's master key is still the one that the data keys are wrapped with.
    ///
    /// # Errors
    /// `WrongMasterKey` if it was replaced meanwhile.
    pub async fn check_master(&self, store: &Store) -> Result<(), CipherError> {
        unwrap_all(&wrapped_keys(store).await?, &self.master).map(drop)
    }

    /// Seals `plaintext` with the newest data key that every node has loaded.
    pub fn seal(&self, entropy: &dyn Entropy, aad: &Aad, plaintext: &[u8]) -> Sealed {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let (number, key) = keys.current();
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

    /// Loads data keys that another process has added. Each is used to seal once [`SEALS_AFTER`] has passed.
    pub async fn refresh(&self, store: &Store, now: UnixMillis) -> Result<(), CipherError> {
        let found = wrapped_keys(store).await?;
        let current = current(&found, now)?;
        {
            let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
            let mut seal = found.iter().filter(|key| key.purpose == Purpose::Seal);
            // The master key may have been replaced since this process started. The known data keys did not change.
            if seal.all(|key| keys.seal.keys().any(|known| i64::from(*known) == key.number)) {
                keys.current = current;
                return Ok(());
            }
        }
        let seal = unwrap_all(&found, &self.master)?;
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Keys { seal, current };
        Ok(())
    }

    /// Adds a data key, which seals new values after [`SEALS_AFTER`]. Older values still open. Returns its number.
    ///
    /// # Errors
    /// Names a running node that could not load the key. Such a node has another schema level, or started before the
    /// last change of the master key.
    pub async fn add_data_key(
        store: &Store,
        master: &MasterKey,
        entropy: &dyn Entropy,
        now: UnixMillis,
    ) -> Result<u32, CipherError> {
        let mut tx = store.begin().await?;
        lock(&mut tx).await?;
        // Checks that `master` is correct before wrapping a key with it.
        unwrap_all(&wrapped_keys(&mut tx).await?, master)?;
        refuse_nodes_that_cannot_load(&mut tx, now).await?;
        let highest: Option<(i64,)> = (&mut tx).optional(sql("SELECT max(number) FROM data_keys")).await?;
        let number = highest.map_or(1, |(number,)| number + 1);
        if !insert(&mut tx, number, Purpose::Seal, master, entropy, now).await? {
            return Err(StoreError::Conflict { constraint: None }.into());
        }
        tx.commit().await?;
        u32::try_from(number).map_err(|_| CipherError::Malformed)
    }

    /// Rewraps the data keys with `new` instead of `old`, in one transaction. Running processes continue, because they
    /// hold the unwrapped data keys, which do not change.
    pub async fn rotate_master(
        store: &Store,
        old: &MasterKey,
        new: &MasterKey,
        entropy: &dyn Entropy,
        now: UnixMillis,
    ) -> Result<(), CipherError> {
        let mut tx = store.begin().await?;
        lock(&mut tx).await?;
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
        meta::put(&mut tx, MASTER_ROTATED, &now.0.to_string()).await?;
        Ok(tx.commit().await?)
    }
}

/// Holds the data keys for this transaction. Otherwise a key that is added while the others are rewrapped would stay
/// wrapped with the old master key.
async fn lock(tx: &mut Tx) -> Result<(), StoreError> {
    tx.execute(sql("UPDATE data_keys SET number = number WHERE number = $1").bind(MAC_NUMBER)).await?;
    Ok(())
}

/// Number of the key that seals: the newest that every node has loaded.
fn current(found: &[WrappedKey], now: UnixMillis) -> Result<u32, CipherError> {
    let seal = || found.iter().filter(|key| key.purpose == Purpose::Seal);
    let loaded = seal().filter(|key| key.created_at.plus(SEALS_AFTER) <= now).map(|key| key.number).max();
    let number = loaded.or_else(|| seal().map(|key| key.number).min()).ok_or(CipherError::WrongMasterKey)?;
    u32::try_from(number).map_err(|_| CipherError::Malformed)
}

async fn refuse_nodes_that_cannot_load(tx: &mut Tx, now: UnixMillis) -> Result<(), CipherError> {
    let rotated = meta::get(&mut *tx, MASTER_ROTATED).await?.and_then(|at| at.parse().ok()).map(UnixMillis);
    let alive_since = now.minus(nodes::DEAD_AFTER);
    for node in nodes::list(&mut *tx).await?.into_iter().filter(|node| node.seen_at >= alive_since) {
        if node.level != Some(Store::wanted_schema_version()) {
            return Err(CipherError::OtherRelease(node.node_id));
        }
        if rotated.is_some_and(|rotated| node.started_at <= rotated) {
            return Err(CipherError::OldMasterKey(node.node_id));
        }
    }
    Ok(())
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
