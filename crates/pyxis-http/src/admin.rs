//! Kit for the interfaces of managers: who sends a request, refusals as problems, lists and their pages.

mod failure;
mod list;
mod managers;
mod page_size;

pub use failure::{AdminFailure, Result};
pub use list::{CompleteList, Cursor, Listed, Paged, PagedList};
pub use managers::{Manager, ManagerAuth, ManagerFuture};
pub use page_size::PageSize;
