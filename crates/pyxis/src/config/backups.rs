//! Settings of scheduled backups.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use pyxis_core::target::{Host, Scheme, Target};
use pyxis_signing::sigv4::Keys;

use super::SettingSources;
use super::env::Env;

/// Shortest interval. A backup reads the whole database.
const MIN_INTERVAL: Duration = Duration::from_mins(1);

/// Sizes that S3 allows for a part, in bytes.
const PART_BYTES: RangeInclusive<u64> = 5 << 20..=5 << 30;

/// Scheduled backups of a server.
#[derive(Clone, Debug)]
pub struct Backups {
    /// Existing directory for backup files.
    pub dir: PathBuf,
    /// Time between two backups.
    pub interval: Duration,
    /// Number of files kept in the directory.
    pub keep: usize,
    /// Object storage that also receives every backup.
    pub storage: Option<Storage>,
}

/// S3-compatible object storage.
#[derive(Clone, Debug)]
pub struct Storage {
    /// URL of the bucket and the prefix of the objects, with a slash at the end.
    pub url: String,
    /// Region of the signatures.
    pub region: String,
    pub keys: Keys,
    /// Size from which a file is uploaded in parts, and size of the parts.
    pub part_bytes: u64,
}

impl Backups {
    /// `None` unless a directory is configured.
    pub(super) fn read(source: &SettingSources<'_, impl Env>) -> Result<Option<Self>> {
        let interval = Duration::from_secs(source.parsed("backup_interval_secs")?);
        let keep: usize = source.parsed("backup_keep")?;
        let storage = Storage::read(source)?;
        let Some(dir) = source.optional::<PathBuf>("backup_dir")? else {
            if storage.is_some() {
                bail!("PX_BACKUP_S3_URL needs PX_BACKUP_DIR: a backup is made there before it is uploaded");
            }
            return Ok(None);
        };
        if interval < MIN_INTERVAL {
            bail!("PX_BACKUP_INTERVAL_SECS must be at least {}", MIN_INTERVAL.as_secs());
        }
        if keep == 0 {
            bail!("PX_BACKUP_KEEP must be at least 1");
        }
        Ok(Some(Self { dir, interval, keep, storage }))
    }
}

impl Storage {
    fn read(source: &SettingSources<'_, impl Env>) -> Result<Option<Self>> {
        let region: String = source.parsed("backup_s3_region")?;
        let part_bytes = source.parsed("backup_s3_part_bytes")?;
        if !PART_BYTES.contains(&part_bytes) {
            bail!("PX_BACKUP_S3_PART_BYTES must be {} to {}", PART_BYTES.start(), PART_BYTES.end());
        }
        let access_key_id = source.optional("backup_s3_access_key_id")?;
        let secret_access_key = source.secret("backup_s3_secret_access_key")?;
        let Some(url) = source.optional::<String>("backup_s3_url")? else { return Ok(None) };
        let (Some(access_key_id), Some(secret_access_key)) = (access_key_id, secret_access_key) else {
            bail!(
                "PX_BACKUP_S3_URL needs PX_BACKUP_S3_ACCESS_KEY_ID, and PX_BACKUP_S3_SECRET_ACCESS_KEY or \
                 PX_BACKUP_S3_SECRET_ACCESS_KEY_FILE"
            );
        };
        let keys = Keys { access_key_id, secret_access_key };
        Ok(Some(Self { url: bucket(&url)?, region, keys, part_bytes }))
    }
}

/// Checks the URL of a bucket, and ends it with a slash. Plain http is for this machine only.
fn bucket(url: &str) -> Result<String> {
    let url = format!("{}/", url.trim_end_matches('/'));
    let target =
        Target::parse(&url).map_err(|error| anyhow::anyhow!("{error}")).context("PX_BACKUP_S3_URL")?;
    let loopback = match target.host() {
        Host::Name(name) => name == "localhost",
        Host::V4(address) => address.is_loopback(),
        Host::V6(address) => address.is_loopback(),
    };
    if target.scheme() == Scheme::Http && !loopback {
        bail!("PX_BACKUP_S3_URL: plain http would send backups unencrypted; use https");
    }
    if target.path() == "/" || target.query().is_some() {
        bail!("PX_BACKUP_S3_URL must end in the bucket and an optional prefix: https://HOST/BUCKET/PREFIX");
    }
    Ok(url)
}
