//! Responses for problems that only scoring has.

use pyxis_http::problem::kinds::{BUSY, CHANGED, CONFLICT, UNAVAILABLE};

pyxis_http::problem_responses! {
    /// Someone else changed it since you read it. Read it again, then decide.
    Changed = [CHANGED];
    /// The key is revoked, permanently.
    KeyRevoked = [CONFLICT];
    /// The key is revoked, already reads history, or already waits for a decision.
    NothingToRequest = [CONFLICT];
    /// A key is already published and does not sign yet, or someone else just rotated this one.
    KeyWaits = [CONFLICT];
    /// Someone else just rotated this key. Read the list of keys again.
    StampKeyChanged = [CONFLICT];
    /// The workspace no longer trusts its own issuer.
    OwnIssuerUntrusted = [CONFLICT];
    /// No node of the network answers (`unavailable`), or the store cannot be reached. Nothing was changed; try again.
    NodeUnavailable = [UNAVAILABLE] with retry_after;
    /// No address passes, or the scorer's terms changed while the list was made.
    NobodyPasses = [CONFLICT];
    /// The workspace keeps as many score jobs as `score_jobs_max` allows.
    TooManyJobs = [CONFLICT];
    /// The job has ended.
    JobEnded = [CONFLICT];
    /// The job has not ended; cancel it first.
    JobRuns = [CONFLICT];
    /// The job has not ended, or no failed row has an address.
    NothingToRetry = [CONFLICT];
    /// The review was already decided.
    ReviewDecided = [CONFLICT];
    /// The request was already decided.
    RequestDecided = [CONFLICT];
    /// Other requests kept changing the same rows (`busy`), or the store cannot be reached. Nothing was changed; try
    /// again.
    Busy = [BUSY, UNAVAILABLE] with retry_after;
}
