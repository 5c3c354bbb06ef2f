//! All Stamps of an address, page by page.

use std::collections::VecDeque;

use crate::client::Client;
use crate::error::{Error, Result};
use crate::model::stamp::Stamp;

/// The Stamps of an address, newest first. Pages are read when they are needed.
#[derive(Debug)]
pub struct Stamps<'a> {
    client: &'a Client,
    address: String,
    include_metadata: bool,
    page_size: u16,
    token: Option<String>,
    items: VecDeque<Stamp>,
    is_over: bool,
}

impl<'a> Stamps<'a> {
    pub(crate) fn new(client: &'a Client, address: &str) -> Self {
        Self {
            client,
            address: address.to_owned(),
            include_metadata: false,
            page_size: Client::PAGE,
            token: None,
            items: VecDeque::new(),
            is_over: false,
        }
    }

    /// Read the catalogue's entry with each Stamp.
    #[must_use]
    pub fn include_metadata(mut self) -> Self {
        self.include_metadata = true;
        self
    }

    /// Stamps in one request, 1 to 1000 [default: 1000].
    #[must_use]
    pub fn page_size(mut self, page_size: u16) -> Self {
        self.page_size = page_size;
        self
    }

    /// Read the next Stamp; `None` at the end. After an error, the same page is read again.
    pub async fn next(&mut self) -> Result<Option<Stamp>> {
        loop {
            if let Some(stamp) = self.items.pop_front() {
                return Ok(Some(stamp));
            }
            if self.is_over {
                return Ok(None);
            }
            let token = self.token.as_deref();
            let page =
                self.client.stamp_page(&self.address, self.include_metadata, self.page_size, token).await?;
            if page.next.is_some() && page.next == self.token {
                return Err(Error::InvalidResponse("the next page of Stamps is the same page".to_owned()));
            }
            self.is_over = page.next.is_none();
            self.token = page.next;
            self.items = page.items.into();
        }
    }

    /// Read all that are left.
    pub async fn collect(mut self) -> Result<Vec<Stamp>> {
        let mut found = Vec::new();
        while let Some(stamp) = self.next().await? {
            found.push(stamp);
        }
        Ok(found)
    }
}
