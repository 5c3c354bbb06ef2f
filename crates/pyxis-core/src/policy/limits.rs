//! Limits on the size of a policy (`docs/reference/policy.md#fields`).

use std::ops::RangeInclusive;

/// Maximum number of entries in one list.
pub(super) const MAX_LIST: usize = 2000;

/// Numbers of approvers that a policy may require.
pub(super) const MIN_APPROVALS: RangeInclusive<u64> = 1..=20;

/// Longest approval window, in seconds: a week.
pub const MAX_TIMEOUT_SECS: u64 = 604_800;

/// Length of the approval window, in seconds.
pub(super) const TIMEOUT_SECS: RangeInclusive<u64> = 1..=MAX_TIMEOUT_SECS;

/// Longest e-mail address (RFC 5321, section 4.5.3.1.3).
pub(super) const MAX_EMAIL_BYTES: usize = 254;

/// Longest chat or room identifier (Matrix: 255 bytes; Telegram's are shorter).
pub(super) const MAX_ROOM_BYTES: usize = 255;

/// Largest number of escalation steps.
pub(super) const MAX_STEPS: usize = 5;

/// Minutes after which an escalation step is due: a minute to a day.
pub(super) const STEP_MINUTES: RangeInclusive<u64> = 1..=1440;

/// Largest number of content rules; each is tried on every request.
pub(super) const MAX_CONTENT_RULES: usize = 200;
