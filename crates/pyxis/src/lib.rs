//! One self-hosted program: is this one real human, and did a human approve this?
