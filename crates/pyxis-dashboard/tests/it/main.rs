//! The dashboard as a browser meets it: an in-process router on a real store.

mod approvals;
mod doors;
mod everywhere;
mod pages;
mod support;
