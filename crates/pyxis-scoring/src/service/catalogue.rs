//! The catalogue of Stamps.

use std::borrow::Cow;
use std::collections::BTreeSet;

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::catalogue::{CatalogueStamp, Group, Platform, default_catalogue};
use pyxis_core::hex;
use pyxis_core::id::WorkspaceId;
use pyxis_core::stamp::StampName;
use pyxis_store::audit::AuditedStore;
use pyxis_store::own_stamps::{self, OwnStampRow};
use pyxis_store::{Store, StoreError, catalogue};
use serde_json::json;
use sha3::{Digest as _, Keccak256};
use url::Url;

use super::{Error, Result, check_text};
use crate::own::ALLOW_LIST;

/// Maximum number of platforms.
const MAX_PLATFORMS: usize = 500;
/// Longest text, in bytes.
const MAX_TEXT: usize = 1000;
/// Longest id, in bytes.
const MAX_ID: usize = 64;

/// The catalogue in use.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// True for the workspace's own catalogue, false for the built-in one.
    pub own: bool,
    /// Platforms in display order.
    pub platforms: Cow<'static, [Platform]>,
}

/// The workspace's own catalogue, or the built-in one.
pub async fn get(store: &Store, workspace: WorkspaceId) -> Result<Catalogue> {
    Ok(in_force(store, workspace).await?)
}

pub(crate) async fn in_force(store: &Store, workspace: WorkspaceId) -> Result<Catalogue, StoreError> {
    let own = catalogue::list(store, workspace).await?;
    Ok(if own.is_empty() {
        Catalogue { own: false, platforms: Cow::Borrowed(default_catalogue()) }
    } else {
        Catalogue { own: true, platforms: Cow::Owned(own) }
    })
}

/// The catalogue as applications read it: own Stamps that it does not name are platforms at its end.
pub(crate) async fn served(
    store: &Store,
    workspace: WorkspaceId,
) -> Result<Cow<'static, [Platform]>, StoreError> {
    let platforms = in_force(store, workspace).await?.platforms;
    let own = own_stamps::list(store, workspace).await?;
    let added = own_platforms(&platforms, &own);
    Ok(if added.is_empty() { platforms } else { [&*platforms, &added].concat().into() })
}

/// Platforms of the own Stamps that a catalogue does not name.
fn own_platforms(platforms: &[Platform], own: &[OwnStampRow]) -> Vec<Platform> {
    let named: BTreeSet<&StampName> = platforms
        .iter()
        .flat_map(|platform| &platform.groups)
        .flat_map(|group| &group.stamps)
        .map(|stamp| &stamp.name)
        .collect();
    let of = |id: &str, name: &str, description: &str, is_list: bool| {
        let stamps: Vec<CatalogueStamp> = own
            .iter()
            .filter(|row| (row.kind == ALLOW_LIST) == is_list && !named.contains(&row.provider))
            .map(|row| CatalogueStamp {
                name: row.provider.clone(),
                description: row.description.clone(),
                hash: hash_of(&row.provider),
            })
            .collect();
        let taken = platforms.iter().any(|platform| platform.id == id);
        (!stamps.is_empty()).then(|| Platform {
            id: if taken { format!("{id}-2") } else { id.to_owned() },
            icon: format!("/assets/stamps/{id}.svg"),
            name: name.to_owned(),
            description: description.to_owned(),
            connect_message: "Request".to_owned(),
            url: None,
            groups: vec![Group { name: name.to_owned(), stamps }],
        })
    };
    let lists = of("allow-lists", "Allow lists", "Be on a list of this community.", true);
    let conditions = of("on-chain", "On-chain", "Hold a token or an attestation.", false);
    lists.into_iter().chain(conditions).collect()
}

/// Replaces the catalogue. A hash may be empty: it is computed here, and a different one is refused.
pub async fn replace(db: &AuditedStore, actor: &Actor, mut platforms: Vec<Platform>) -> Result<Catalogue> {
    check(&mut platforms)?;
    let mut change = db.begin(actor).await?;
    catalogue::replace(&mut change.tx, actor.workspace, &platforms).await?;
    let ids: Vec<&str> = platforms.iter().map(|platform| platform.id.as_str()).collect();
    change.commit(AuditEvent::CatalogueReplaced, json!({ "platforms": ids })).await?;
    Ok(Catalogue { own: true, platforms: Cow::Owned(platforms) })
}

/// Returns to the built-in catalogue; true if the workspace had its own.
pub async fn reset(db: &AuditedStore, actor: &Actor) -> Result<bool> {
    let mut change = db.begin(actor).await?;
    if catalogue::list(&mut change.tx, actor.workspace).await?.is_empty() {
        return Ok(false);
    }
    catalogue::replace(&mut change.tx, actor.workspace, &[]).await?;
    change.commit(AuditEvent::CatalogueReset, json!({})).await?;
    Ok(true)
}

/// The hash of a Stamp's name: Keccak-256, `0x` and 64 lower-case hexadecimal digits.
pub fn hash_of(name: &StampName) -> String {
    format!("0x{}", hex::encode(&Keccak256::digest(name.as_str().as_bytes())))
}

/// Checks every field and fills in the hashes.
fn check(platforms: &mut [Platform]) -> Result<()> {
    if platforms.is_empty() {
        return Err(Error::field(
            "platforms",
            "list at least one; use DELETE to restore the built-in catalogue",
        ));
    }
    if platforms.len() > MAX_PLATFORMS {
        return Err(Error::field("platforms", format!("must have at most {MAX_PLATFORMS}")));
    }
    let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (index, platform) in platforms.iter_mut().enumerate() {
        let at = format!("platforms[{index}]");
        check_platform(&at, platform)?;
        if !ids.insert(platform.id.clone()) {
            return Err(Error::field(
                format!("{at}.id"),
                format!("{} is listed twice; keep one", platform.id),
            ));
        }
        for (index, group) in platform.groups.iter_mut().enumerate() {
            check_group(&format!("{at}.groups[{index}]"), group, &mut names)?;
        }
    }
    Ok(())
}

fn check_platform(at: &str, platform: &Platform) -> Result<()> {
    let Platform { id, icon, name, description, connect_message, url, groups: _ } = platform;
    let fits = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if id.is_empty() || id.len() > MAX_ID || !fits {
        let detail = format!("must be 1 to {MAX_ID} letters, digits, dots, dashes or underscores");
        return Err(Error::field(format!("{at}.id"), detail));
    }
    let texts =
        [("icon", icon), ("name", name), ("description", description), ("connectMessage", connect_message)];
    for (field, text) in texts {
        check_text(format!("{at}.{field}"), text, MAX_TEXT)?;
    }
    if !icon.starts_with('/') && !icon.starts_with("https://") {
        return Err(Error::field(format!("{at}.icon"), "must be a path that starts with /, or an https URL"));
    }
    if let Some(url) = url {
        check_text(format!("{at}.url"), url, MAX_TEXT)?;
        if !is_https(url) {
            return Err(Error::field(format!("{at}.url"), "must be an https URL without a user name"));
        }
    }
    Ok(())
}

/// True for a page that a visitor can be sent to.
fn is_https(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| url.scheme() == "https" && url.username().is_empty())
}

fn check_group(at: &str, group: &mut Group, names: &mut BTreeSet<StampName>) -> Result<()> {
    check_text(format!("{at}.name"), &group.name, MAX_TEXT)?;
    for (index, entry) in group.stamps.iter_mut().enumerate() {
        let at = format!("{at}.stamps[{index}]");
        check_entry(&at, entry)?;
        if !names.insert(entry.name.clone()) {
            return Err(Error::field(
                format!("{at}.name"),
                format!("{} is listed twice; keep one", entry.name),
            ));
        }
    }
    Ok(())
}

fn check_entry(at: &str, entry: &mut CatalogueStamp) -> Result<()> {
    check_text(format!("{at}.description"), &entry.description, MAX_TEXT)?;
    let hash = hash_of(&entry.name);
    if !entry.hash.is_empty() && entry.hash != hash {
        let detail = format!("is computed from the name; omit it, or send {hash}");
        return Err(Error::field(format!("{at}.hash"), detail));
    }
    entry.hash = hash;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_catalogue_passes_the_checks_with_and_without_hashes() {
        let mut own = default_catalogue().to_vec();
        check(&mut own).unwrap();
        for entry in
            own.iter_mut().flat_map(|platform| &mut platform.groups).flat_map(|group| &mut group.stamps)
        {
            entry.hash = String::new();
        }
        check(&mut own).unwrap();
        assert_eq!(own, default_catalogue());
    }

    #[test]
    fn each_bad_field_is_named() {
        type Spoil = fn(&mut Vec<Platform>);
        let changes: [(&str, Spoil); 12] = [
            ("platforms", |all| all.clear()),
            ("platforms[0].id", |all| all[0].id = "with space".into()),
            ("platforms[1].id", |all| all[1].id = all[0].id.clone()),
            ("platforms[0].icon", |all| all[0].icon = "javascript:alert(1)".into()),
            ("platforms[0].name", |all| all[0].name = " ".into()),
            ("platforms[0].description", |all| all[0].description = "x".repeat(1001)),
            ("platforms[0].connectMessage", |all| all[0].connect_message = "a\u{0}".into()),
            ("platforms[0].url", |all| all[0].url = Some("javascript:alert(1)".into())),
            ("platforms[0].url", |all| all[0].url = Some("https://stamps.example@evil.example/".into())),
            ("platforms[0].groups[0].name", |all| all[0].groups[0].name.clear()),
            ("platforms[0].groups[0].stamps[0].hash", |all| all[0].groups[0].stamps[0].hash = "0x".into()),
            ("platforms[1].groups[0].stamps[0].name", |all| {
                all[1].groups[0].stamps[0] = all[0].groups[0].stamps[0].clone();
            }),
        ];
        for (field, spoil) in changes {
            let mut own = default_catalogue()[..3].to_vec();
            spoil(&mut own);
            match check(&mut own) {
                Err(Error::InvalidField { field: found, .. }) => assert_eq!(found, field),
                other => panic!("{field}: {other:?}"),
            }
        }
    }
}
