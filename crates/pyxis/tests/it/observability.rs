//! The program seen from outside: its metrics, and what its alerts say about them.

mod alerts;
mod audit_push;
mod each_metric;
mod full_disk;
mod logs;
mod metrics_page;
