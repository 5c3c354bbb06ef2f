//! Kit for the interfaces of managers: who sends a request, refusals as problems, lists and their pages.

mod failure;
mod list;
mod managers;
mod page_size;

pub use failure::{Failure, Result};
pub use list::{Cursor, List, Listed, Paged, PagedList};
pub use managers::{Manager, ManagerAuth, ManagerFuture};
pub use page_size::PageSize;
