//! Webhooks (`docs/reference/webhooks.md`): payloads, signatures and retries.

mod task_event;

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::address::EvmAddress;
use crate::approval_mode::{ApprovalState, Channel, wire_enum};
use crate::clock::UnixMillis;
use crate::decimal::Decimal;
use crate::hex;
use crate::id::{ScoreReviewId, ScorerId, TxnId};
use crate::secret::SecretString;

pub use task_event::{TaskEvent, TaskEventAction, TaskOutcome};

wire_enum!(
    /// An event that an endpoint can subscribe to.
    WebhookEvent {
        /// A request paused and waits for approval.
        Requested = "approval.requested",
        /// A person approved or denied it.
        Decided = "approval.decided",
        /// No one decided in time, or the agent withdrew.
        Expired = "approval.expired",
        /// An address's score in a scorer changed, or crossed the threshold in either direction.
        ScoreChanged = "score.changed",
        /// A holder asked for a review of a score.
        ReviewRequested = "review.requested",
        /// A manager decided a review.
        ReviewDecided = "review.decided",
        /// An agent proposed a task.
        TaskProposed = "task.proposed",
        /// A person approved or denied a task.
        TaskDecided = "task.decided",
    }
);

impl WebhookEvent {
    /// The approval events (`docs/reference/webhooks.md#events`), which an endpoint without a selection receives.
    pub const APPROVALS: &'static [Self] = &[Self::Requested, Self::Decided, Self::Expired];

    /// True if an endpoint that subscribed to `chosen` gets this event. An empty selection means the three approval
    /// events; any other event is sent only to endpoints that selected it.
    pub fn wanted_by(self, chosen: &[Self]) -> bool {
        if chosen.is_empty() { Self::APPROVALS.contains(&self) } else { chosen.contains(&self) }
    }
}

/// Longest time for one attempt, from dialing to the end of the response.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for which a replaced secret still signs along with the new one.
pub const ROTATION: Duration = Duration::from_hours(24);
/// Prefix of generated secrets.
pub const SECRET_PREFIX: &str = "whsec_";

/// The waits after the first, second, third and fourth failed attempt.
const WAITS: [Duration; 4] =
    [Duration::from_secs(15), Duration::from_mins(1), Duration::from_mins(3), Duration::from_mins(6)];

/// Time of the next attempt after `failed` attempts, the last of which ended at `now`. `None` after the fifth: the
/// delivery has failed.
pub fn next_attempt(failed: u32, now: UnixMillis) -> Option<UnixMillis> {
    let last = usize::try_from(failed).unwrap_or(usize::MAX).saturating_sub(1);
    WAITS.get(last).map(|wait| now.plus(*wait))
}

/// The value of `PX-Signature`: `t=<seconds>,v1=<hex>`, with one `v1` for each secret, newest first.
pub fn signature<'a>(
    secrets: impl IntoIterator<Item = &'a SecretString>,
    at: UnixMillis,
    body: &[u8],
) -> String {
    let seconds = at.seconds();
    let mut header = format!("t={seconds}");
    for secret in secrets {
        header.push_str(",v1=");
        hex::push(&mut header, &mac(secret.expose().as_bytes(), seconds, body));
    }
    header
}

/// HMAC-SHA256 of `<t>.<body>`; the key is the secret's text as it was shown.
fn mac(key: &[u8], seconds: i64, body: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(format!("{seconds}.").as_bytes());
    mac.update(body);
    mac.finalize().into_bytes().into()
}

/// Data of `approval.requested`.
#[derive(Clone, Debug)]
pub struct Requested<'a> {
    /// Transaction of the request.
    pub txn: TxnId,
    pub credential_name: &'a str,
    /// HTTP method.
    pub method: &'a str,
    /// Host of the target, with its port if it has one; only the host is sent.
    pub target: &'a str,
    /// Beginning of the body.
    pub body_preview: Option<&'a str>,
    /// The agent's own words.
    pub summary: Option<&'a str>,
    /// Page where a person decides.
    pub approval_url: &'a str,
    /// End of the approval window.
    pub expires_at: UnixMillis,
    /// Channel where it was announced.
    pub channel: Channel,
}

/// Data of `approval.decided`.
#[derive(Clone, Debug)]
pub struct ApprovalDecided<'a> {
    /// Transaction of the request.
    pub txn: TxnId,
    /// Approved or denied.
    pub outcome: ApprovalState,
    /// E-mail address of the person whose vote was decisive.
    pub approver: &'a str,
    /// The channel that the request was routed to, not where it was decided.
    pub channel: Channel,
    /// Status of the upstream's response.
    pub upstream_status: Option<i64>,
}

#[derive(Serialize)]
struct RequestedBody<'a> {
    event: WebhookEvent,
    txn_id: TxnId,
    credential_name: &'a str,
    method: &'a str,
    target_host: &'a str,
    body_preview: Option<&'a str>,
    summary: Option<&'a str>,
    approval_url: &'a str,
    expires_at: String,
    notification_channel: Channel,
}

#[derive(Serialize)]
struct DecidedBody<'a> {
    event: WebhookEvent,
    txn_id: TxnId,
    outcome: ApprovalState,
    approver: &'a str,
    channel: Channel,
    upstream_status: Option<i64>,
}

#[derive(Serialize)]
struct ExpiredBody {
    event: WebhookEvent,
    txn_id: TxnId,
}

/// Data of `score.changed`.
#[derive(Clone, Debug)]
pub struct ScoreChanged {
    /// Scorer of the score.
    pub scorer: ScorerId,
    /// Address of the score.
    pub address: EvmAddress,
    /// The previously stored score.
    pub previous_score: Decimal,
    /// True if the previous score passed.
    pub previous_passing: bool,
    /// The new score.
    pub score: Decimal,
    /// True if the new score passes.
    pub passing: bool,
    /// Time of the computation.
    pub computed_at: UnixMillis,
}

#[derive(Serialize)]
struct ScoreChangedBody {
    event: WebhookEvent,
    scorer_id: String,
    address: String,
    previous_score: String,
    previous_passing: bool,
    score: String,
    passing: bool,
    computed_at: String,
}

impl ScoreChanged {
    /// The JSON body, with numbers as decimal text like everywhere in scoring. Contains no secret.
    ///
    /// # Panics
    /// Never: text and booleans serialize.
    pub fn to_json(&self) -> Vec<u8> {
        let body = ScoreChangedBody {
            event: WebhookEvent::ScoreChanged,
            scorer_id: self.scorer.to_string(),
            address: self.address.to_string(),
            previous_score: self.previous_score.to_string(),
            previous_passing: self.previous_passing,
            score: self.score.to_string(),
            passing: self.passing,
            computed_at: self.computed_at.to_rfc3339(),
        };
        serde_json::to_vec(&body).expect("text and truth values serialize")
    }
}

/// Data of `review.requested` and `review.decided`.
#[derive(Clone, Copy, Debug)]
pub struct ReviewEvent<'a> {
    pub review: ScoreReviewId,
    /// Scorer of the score.
    pub scorer: ScorerId,
    /// Address of the holder.
    pub address: EvmAddress,
    /// Score at the time of the request.
    pub score: Decimal,
    /// Threshold at that time.
    pub threshold: Decimal,
    /// The holder's reason.
    pub reason: &'a str,
    /// Time of the request.
    pub created_at: UnixMillis,
    /// The decision, once there is one.
    pub decision: Option<ReviewOutcome<'a>>,
}

/// Decision on a review.
#[derive(Clone, Copy, Debug)]
pub struct ReviewOutcome<'a> {
    /// `granted` or `declined`.
    pub state: &'a str,
    /// Reason, which the holder sees.
    pub answer: &'a str,
    /// Name of the person who decided.
    pub by: &'a str,
    /// Time of the decision.
    pub at: UnixMillis,
}

#[derive(Serialize)]
struct ReviewBody<'a> {
    event: WebhookEvent,
    review_id: ScoreReviewId,
    scorer_id: String,
    address: String,
    score: String,
    threshold: String,
    reason: &'a str,
    created_at: String,
    #[serde(flatten)]
    decision: Option<ReviewOutcomeBody<'a>>,
}

#[derive(Serialize)]
struct ReviewOutcomeBody<'a> {
    outcome: &'a str,
    answer: &'a str,
    decided_by: &'a str,
    decided_at: String,
}

impl ReviewEvent<'_> {
    /// The event's type.
    pub const fn event(&self) -> WebhookEvent {
        if self.decision.is_some() { WebhookEvent::ReviewDecided } else { WebhookEvent::ReviewRequested }
    }

    /// The JSON body, with numbers as decimal text.
    ///
    /// # Panics
    /// Never: text serializes.
    pub fn to_json(&self) -> Vec<u8> {
        let body = ReviewBody {
            event: self.event(),
            review_id: self.review,
            scorer_id: self.scorer.to_string(),
            address: self.address.to_string(),
            score: self.score.to_string(),
            threshold: self.threshold.to_string(),
            reason: self.reason,
            created_at: self.created_at.to_rfc3339(),
            decision: self.decision.map(|decision| ReviewOutcomeBody {
                outcome: decision.state,
                answer: decision.answer,
                decided_by: decision.by,
                decided_at: decision.at.to_rfc3339(),
            }),
        };
        serde_json::to_vec(&body).expect("text serializes")
    }
}

/// One approval event with its data.
#[derive(Clone, Debug)]
pub enum Payload<'a> {
    /// A request paused.
    Requested(Requested<'a>),
    /// It was decided.
    Decided(ApprovalDecided<'a>),
    /// No one decided in time.
    Expired(TxnId),
}

impl Payload<'_> {
    /// The event's type.
    pub const fn event(&self) -> WebhookEvent {
        match self {
            Self::Requested(_) => WebhookEvent::Requested,
            Self::Decided(_) => WebhookEvent::Decided,
            Self::Expired(_) => WebhookEvent::Expired,
        }
    }

    /// The event's transaction.
    pub const fn txn(&self) -> TxnId {
        match self {
            Self::Requested(requested) => requested.txn,
            Self::Decided(decided) => decided.txn,
            Self::Expired(txn) => *txn,
        }
    }

    /// The JSON body. It is built once; every attempt and every resend sends these bytes.
    ///
    /// # Panics
    /// Never: text, numbers and null serialize.
    pub fn to_json(&self) -> Vec<u8> {
        let event = self.event();
        let json = match self {
            Self::Requested(it) => serde_json::to_vec(&RequestedBody {
                event,
                txn_id: it.txn,
                credential_name: it.credential_name,
                method: it.method,
                target_host: host_only(it.target),
                body_preview: it.body_preview,
                summary: it.summary,
                approval_url: it.approval_url,
                expires_at: it.expires_at.to_rfc3339(),
                notification_channel: it.channel,
            }),
            Self::Decided(it) => serde_json::to_vec(&DecidedBody {
                event,
                txn_id: it.txn,
                outcome: it.outcome,
                approver: it.approver,
                channel: it.channel,
                upstream_status: it.upstream_status,
            }),
            Self::Expired(txn) => serde_json::to_vec(&ExpiredBody { event, txn_id: *txn }),
        };
        json.expect("text, numbers and null serialize")
    }
}

/// `host` of `host:port`; an IPv6 address keeps its brackets.
pub fn host_only(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    //! Fields, signature, retries (`docs/reference/webhooks.md#request`).

    use super::*;
    use crate::chat::ChatPlatform;

    fn txn() -> TxnId {
        "8c4d2c5e-9f0a-4b6e-8a51-2f1d3c4b5a69".parse().unwrap()
    }

    fn text(payload: &Payload<'_>) -> String {
        String::from_utf8(payload.to_json()).unwrap()
    }

    #[test]
    fn approval_requested_has_exactly_the_documented_fields() {
        let payload = Payload::Requested(Requested {
            txn: txn(),
            credential_name: "billing",
            method: "POST",
            target: "api.example.com:8443",
            body_preview: None,
            summary: Some("pay the invoice"),
            approval_url: "https://px.example/approve/8c4d",
            expires_at: UnixMillis(1_767_225_600_000),
            channel: Channel::Chat(ChatPlatform::TELEGRAM),
        });
        assert_eq!(
            text(&payload),
            r#"{"event":"approval.requested","txn_id":"8c4d2c5e-9f0a-4b6e-8a51-2f1d3c4b5a69","credential_name":"billing","method":"POST","target_host":"api.example.com","body_preview":null,"summary":"pay the invoice","approval_url":"https://px.example/approve/8c4d","expires_at":"2026-01-01T00:00:00.000Z","notification_channel":"chat_primary"}"#
        );
    }

    #[test]
    fn decisions_and_expiries_are_told_with_exactly_their_fields() {
        let decided = Payload::Decided(ApprovalDecided {
            txn: txn(),
            outcome: ApprovalState::Approved,
            approver: "ada@example.com",
            channel: Channel::AgentReflected,
            upstream_status: Some(201),
        });
        assert_eq!(
            text(&decided),
            r#"{"event":"approval.decided","txn_id":"8c4d2c5e-9f0a-4b6e-8a51-2f1d3c4b5a69","outcome":"approved","approver":"ada@example.com","channel":"agent_reflected","upstream_status":201}"#
        );
        assert_eq!(
            text(&Payload::Expired(txn())),
            r#"{"event":"approval.expired","txn_id":"8c4d2c5e-9f0a-4b6e-8a51-2f1d3c4b5a69"}"#
        );
    }

    #[test]
    fn the_signature_is_hmac_sha256_over_the_time_a_dot_and_the_raw_body() {
        // Computed with another implementation:
        // printf '1767225600.{"event":"approval.expired"}' | openssl dgst -sha256 -hmac whsec_test
        let secret = SecretString::new("whsec_test".to_owned());
        let at = UnixMillis(1_767_225_600_999);
        assert_eq!(
            signature([&secret], at, br#"{"event":"approval.expired"}"#),
            "t=1767225600,v1=e11e10a5d7cda45aa170b4724c92f43f04834a2981398f41e58110dda0af57b6"
        );
    }

    #[test]
    fn while_a_secret_is_replaced_both_sign() {
        let (new, old) = (SecretString::new("new".to_owned()), SecretString::new("old".to_owned()));
        let both = signature([&new, &old], UnixMillis(5_000), b"{}");
        let alone = |secret| signature([secret], UnixMillis(5_000), b"{}").replacen("t=5,", "", 1);
        assert_eq!(both, format!("t=5,{},{}", alone(&new), alone(&old)));
    }

    #[test]
    fn five_attempts_are_made_in_about_ten_minutes() {
        let mut at = UnixMillis(0);
        let mut attempts = vec![at];
        while let Some(next) = next_attempt(u32::try_from(attempts.len()).unwrap(), at) {
            at = next;
            attempts.push(at);
        }
        let waits: Vec<u64> = attempts.windows(2).map(|pair| pair[1].since(pair[0]).as_secs()).collect();
        assert_eq!(waits, [15, 60, 180, 360]);
    }

    #[test]
    fn a_changed_score_is_told_with_its_fields_and_nothing_else() {
        let changed = ScoreChanged {
            scorer: "7".parse().unwrap(),
            address: EvmAddress([0xab; 20]),
            previous_score: "21.5".parse().unwrap(),
            previous_passing: true,
            score: Decimal::default(),
            passing: false,
            computed_at: UnixMillis(1_767_225_600_000),
        };
        let address = format!("0x{}", "ab".repeat(20));
        assert_eq!(
            String::from_utf8(changed.to_json()).unwrap(),
            format!(
                r#"{{"event":"score.changed","scorer_id":"7","address":"{address}","previous_score":"21.50000","previous_passing":true,"score":"0.00000","passing":false,"computed_at":"2026-01-01T00:00:00.000Z"}}"#
            )
        );
    }

    #[test]
    fn a_review_is_told_when_it_is_asked_for_and_when_it_is_decided() {
        let asked = ReviewEvent {
            review: "8c4d2c5e-9f0a-4b6e-8a51-2f1d3c4b5a69".parse().unwrap(),
            scorer: "7".parse().unwrap(),
            address: EvmAddress([0xab; 20]),
            score: "2".parse().unwrap(),
            threshold: "9".parse().unwrap(),
            reason: "mine",
            created_at: UnixMillis(1_767_225_600_000),
            decision: None,
        };
        let address = format!("0x{}", "ab".repeat(20));
        let rest = format!(
            r#""review_id":"8c4d2c5e-9f0a-4b6e-8a51-2f1d3c4b5a69","scorer_id":"7","address":"{address}","score":"2.00000","threshold":"9.00000","reason":"mine","created_at":"2026-01-01T00:00:00.000Z""#
        );
        let text = |event: ReviewEvent<'_>| String::from_utf8(event.to_json()).unwrap();
        assert_eq!(text(asked), format!(r#"{{"event":"review.requested",{rest}}}"#));
        let decision =
            ReviewOutcome { state: "declined", answer: "no", by: "Ada", at: UnixMillis(1_767_225_601_000) };
        assert_eq!(
            text(ReviewEvent { decision: Some(decision), ..asked }),
            format!(
                r#"{{"event":"review.decided",{rest},"outcome":"declined","answer":"no","decided_by":"Ada","decided_at":"2026-01-01T00:00:01.000Z"}}"#
            )
        );
    }

    #[test]
    fn none_chosen_means_every_event_of_approvals() {
        assert!(!WebhookEvent::ScoreChanged.wanted_by(&[]));
        for event in WebhookEvent::ALL {
            assert_eq!(event.wanted_by(&[]), event.as_str().starts_with("approval."));
            assert!(event.wanted_by(&[*event]));
            assert!(!event.wanted_by(&[WebhookEvent::Expired]) || *event == WebhookEvent::Expired);
        }
    }

    #[test]
    fn the_host_is_told_without_its_port() {
        for (authority, host) in [
            ("api.example.com", "api.example.com"),
            ("127.0.0.1:80", "127.0.0.1"),
            ("[2001:db8::1]:8443", "[2001:db8::1]"),
            ("[2001:db8::1]", "[2001:db8::1]"),
        ] {
            assert_eq!(host_only(authority), host);
        }
    }
}
