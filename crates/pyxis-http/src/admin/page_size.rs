//! The `limit` of a page.

use pyxis_core::admin_error::AdminError;

/// Default and maximum number of items in a page.
#[derive(Clone, Copy, Debug)]
pub struct PageSize {
    pub default: u32,
    pub most: u32,
}

impl PageSize {
    /// The requested size, or the nearest allowed one.
    pub fn clamp(self, wanted: Option<u32>) -> u32 {
        wanted.unwrap_or(self.default).clamp(1, self.most)
    }

    /// The requested size, if it is allowed.
    pub fn require(self, wanted: Option<u32>) -> Result<u32, AdminError> {
        let size = wanted.unwrap_or(self.default);
        if (1..=self.most).contains(&size) {
            return Ok(size);
        }
        Err(AdminError::field("limit", format!("must be 1 to {}, not {size}", self.most)))
    }
}
