//! Branding of a workspace's notifications.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// A brand, without its logo.
    pub BrandRow: "brands", brand_columns {
        /// Workspace of the brand.
        workspace_id: WorkspaceId,
        /// Name in notifications.
        display_name: Option<String>,
        /// `#rrggbb`.
        accent: Option<String>,
        /// Media type of the logo, if any.
        logo_type: Option<String>,
        /// Time of the last change.
        updated_at: UnixMillis,
        /// Actor of the last change.
        updated_by: String,
    }
}

pub async fn find(executor: impl Executor, workspace: WorkspaceId) -> Result<Option<BrandRow>, StoreError> {
    let query = sql(concat!("SELECT ", brand_columns!(), " FROM brands WHERE workspace_id = $1"));
    executor.optional(query.bind(workspace)).await
}

/// Logo and its media type.
pub async fn logo(
    executor: impl Executor,
    workspace: WorkspaceId,
) -> Result<Option<(Vec<u8>, String)>, StoreError> {
    let query = sql("SELECT logo, logo_type FROM brands WHERE workspace_id = $1 AND logo IS NOT NULL");
    executor.optional(query.bind(workspace)).await
}

/// Sets the name and color. Leaves the logo unchanged.
pub async fn put(
    executor: impl Executor,
    workspace: WorkspaceId,
    display_name: Option<&str>,
    accent: Option<&str>,
    by: &str,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let query = sql("INSERT INTO brands (workspace_id, display_name, accent, updated_at, updated_by) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (workspace_id) DO UPDATE SET \
         display_name = excluded.display_name, accent = excluded.accent, updated_at = excluded.updated_at, \
         updated_by = excluded.updated_by")
    .bind(workspace)
    .bind(display_name)
    .bind(accent)
    .bind(now)
    .bind(by);
    executor.execute(query).await?;
    Ok(())
}

/// Sets or removes the logo. The workspace must have a brand.
pub async fn set_logo(
    executor: impl Executor,
    workspace: WorkspaceId,
    logo: Option<(&[u8], &str)>,
) -> Result<(), StoreError> {
    let (bytes, kind) = logo.unzip();
    let query = sql("UPDATE brands SET logo = $1, logo_type = $2 WHERE workspace_id = $3");
    executor.execute(query.bind(bytes.map(<[u8]>::to_vec)).bind(kind).bind(workspace)).await?;
    Ok(())
}
