//! The credential proxy: forwarding, approvals, grants, admin API
