//! Facts about a request that follow from its audit records. The server writes a receipt from them, and a verifier
//! compares them with it.

use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::AuditEvent;

use super::claims::{
    OutcomeStatus, ReceiptChat, ReceiptClaims, ReceiptDecision, ReceiptEdit, ReceiptGrant, ReceiptOutcome,
    ReceiptPasskey, ReceiptPerson, ReceiptSending, ReceiptVerdict, ReceiptVote,
};
use super::error::FactsError;
use super::record::DisclosedRecord;

/// Facts that follow from the records of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFacts {
    /// Time of the request.
    pub requested_at: String,
    /// Author of the request, such as `agent:<id>`.
    pub agent: String,
    /// Name of the author at that time.
    pub agent_name: String,
    /// Credential name.
    pub credential: Option<String>,
    /// HTTP method.
    pub method: Option<String>,
    /// Host name of the target.
    pub host: Option<String>,
    /// Host and path of the target.
    pub target: Option<String>,
    /// Rule that required approval.
    pub rule: Option<String>,
    /// The last edit.
    pub edit: Option<ReceiptEdit>,
    /// Final decision about the request.
    pub decision: ReceiptDecision,
    /// Votes since the last edit, oldest first.
    pub votes: Vec<ReceiptVote>,
    /// Grant that was opened.
    pub grant: Option<ReceiptGrant>,
    /// Start of the sending; `None` if nothing was sent.
    pub sent: Option<ReceiptSending>,
    /// The outcome, without the response.
    pub outcome: ReceiptOutcome,
}

impl RecordedFacts {
    /// Reads the records of one request, oldest first.
    pub fn read(records: &[DisclosedRecord]) -> Result<Self, FactsError> {
        let of = |event| records.iter().find(move |record| record.event() == Some(event));
        let request = of(AuditEvent::RequestReceived).ok_or(FactsError::NoRequest)?;
        let (decided, verdict) = [
            (AuditEvent::ApprovalApproved, ReceiptVerdict::Approved),
            (AuditEvent::ApprovalDenied, ReceiptVerdict::Denied),
            (AuditEvent::ApprovalExpired, ReceiptVerdict::Expired),
            (AuditEvent::ApprovalWithdrawn, ReceiptVerdict::Withdrawn),
        ]
        .into_iter()
        .find_map(|(event, verdict)| Some((of(event)?, verdict)))
        .ok_or(FactsError::NoDecision)?;
        let decision = decision(decided, verdict);
        let executed = of(AuditEvent::RequestExecuted);
        let sent = executed.filter(|record| record.decision() == Some(AuditDecision::Approved));
        let sent = sent.map(|record| ReceiptSending {
            digest: decision.digest.clone(),
            at: record.columns.at.clone(),
            seq: record.columns.seq,
        });
        let outcome = if verdict == ReceiptVerdict::Approved {
            let ended = of(AuditEvent::ApprovalOutcomeLost).or_else(|| match &sent {
                Some(sent) => records.iter().find(|record| record.columns.ref_seq == Some(sent.seq)),
                None => executed,
            });
            outcome(ended.ok_or(FactsError::NoOutcome)?, sent.is_some())
        } else {
            ReceiptOutcome { status: OutcomeStatus::NotSent, ..outcome(decided, false) }
        };
        Ok(Self {
            requested_at: request.columns.at.clone(),
            agent: request.columns.actor.clone(),
            agent_name: request.columns.actor_name.clone(),
            credential: request.columns.credential.clone(),
            method: request.columns.method.clone(),
            host: request.columns.host.clone(),
            target: request.text("detail.target"),
            rule: request.text("detail.rule"),
            votes: records.iter().skip(after_edits(records)).filter_map(vote).collect(),
            edit: edit(records),
            grant: of(AuditEvent::GrantCreated).and_then(grant),
            decision,
            sent,
            outcome,
        })
    }

    /// False for another digest than the one that an edit names. Without an edit, no record has it.
    fn is_asked_digest(&self, digest: &str) -> bool {
        self.edit.as_ref().is_none_or(|edit| edit.asked_digest.as_deref() == Some(digest))
    }

    /// The first claim that says something else than the records.
    pub fn difference(&self, claims: &ReceiptClaims) -> Option<&'static str> {
        let request = &claims.request;
        let outcome = ReceiptOutcome { response: None, ..claims.outcome.clone() };
        let same = [
            ("agent.id", self.agent == format!("agent:{}", claims.agent.id)),
            ("agent.name", self.agent_name == claims.agent.name),
            ("credential.name", self.credential.as_ref() == Some(&claims.credential.name)),
            ("request.method", self.method.as_ref() == Some(&request.method)),
            ("request.host", self.host.as_ref() == Some(&request.host)),
            ("request.target", self.target == request.target),
            ("request.rule", self.rule == request.rule),
            ("request.at", self.requested_at == request.at),
            ("edit", self.edit == claims.edit),
            ("request.digest", self.is_asked_digest(&request.digest)),
            ("decision", self.decision == claims.decision),
            ("votes", self.votes == claims.votes),
            ("grant", self.grant == claims.grant),
            ("sent", self.sent == claims.sent),
            ("outcome", self.outcome == outcome),
        ];
        same.into_iter().find(|(_, same)| !same).map(|(name, _)| name)
    }
}

/// Number of records up to the last edit. Votes among them no longer counted.
fn after_edits(records: &[DisclosedRecord]) -> usize {
    let edit = |record: &DisclosedRecord| record.event() == Some(AuditEvent::ApprovalEdited);
    records.iter().rposition(edit).map_or(0, |last| last + 1)
}

fn edit(records: &[DisclosedRecord]) -> Option<ReceiptEdit> {
    let edits = || records.iter().filter(|record| record.event() == Some(AuditEvent::ApprovalEdited));
    let last = edits().next_back()?;
    Some(ReceiptEdit {
        by: person(last),
        at: last.columns.at.clone(),
        asked_digest: last.text("detail.asked_digest"),
        digest: last.text("detail.digest"),
        edits: edits().count() as u64,
        seq: last.columns.seq,
    })
}

fn person(record: &DisclosedRecord) -> Option<ReceiptPerson> {
    let id = record.columns.actor.strip_prefix("user:")?.to_owned();
    Some(ReceiptPerson { id, name: record.columns.actor_name.clone() })
}

fn decision(record: &DisclosedRecord, verdict: ReceiptVerdict) -> ReceiptDecision {
    ReceiptDecision {
        verdict,
        at: record.columns.at.clone(),
        by: person(record),
        digest: record.text("detail.digest"),
        approvals: record.number("detail.approvals"),
        min_approvals: record.number("detail.min_approvals"),
        seq: record.columns.seq,
    }
}

/// A vote, if the record is of one. A decision by the last approver has a record of its vote as well.
fn vote(record: &DisclosedRecord) -> Option<ReceiptVote> {
    let verdict = match record.event()? {
        AuditEvent::ApprovalVoted => "approve",
        AuditEvent::ApprovalDenied => "deny",
        _ => return None,
    };
    let token = record.text("detail.token");
    let passkey = record
        .text("detail.passkey.id")
        .map(|id| ReceiptPasskey { id, name: record.text("detail.passkey.name").unwrap_or_default() });
    let chat = record.text("detail.chat.account").map(|account| ReceiptChat {
        platform: record.text("detail.chat.platform").unwrap_or_default(),
        account,
        label: record.text("detail.chat.label").unwrap_or_default(),
    });
    let ceremony = match (&passkey, &chat, &token) {
        (Some(_), _, _) => "passkey",
        (_, Some(_), _) => "chat",
        (_, _, Some(_)) => "token",
        (None, None, None) => "session",
    };
    Some(ReceiptVote {
        by: person(record)?,
        verdict: verdict.to_owned(),
        at: record.columns.at.clone(),
        ceremony: ceremony.to_owned(),
        surface: record.text("detail.surface"),
        token,
        passkey,
        chat,
        seq: record.columns.seq,
    })
}

fn grant(record: &DisclosedRecord) -> Option<ReceiptGrant> {
    Some(ReceiptGrant {
        id: record.columns.grant_id.clone()?,
        expires_at: record.text("detail.expires_at"),
        agent_only: record.flag("detail.agent_only"),
        max_uses: record.number("detail.max_uses"),
        seq: record.columns.seq,
    })
}

fn outcome(record: &DisclosedRecord, was_sent: bool) -> ReceiptOutcome {
    let error = record.text("detail.error");
    let status = match (record.event(), error.as_deref()) {
        (Some(AuditEvent::ApprovalOutcomeLost), _) | (_, Some("outcome_unknown")) => OutcomeStatus::Unknown,
        _ if !was_sent => OutcomeStatus::NotSent,
        (_, Some(_)) => OutcomeStatus::Failed,
        (_, None) => OutcomeStatus::Completed,
    };
    ReceiptOutcome {
        status,
        at: Some(record.columns.at.clone()),
        upstream_status: record.columns.status,
        error,
        response: None,
        seq: Some(record.columns.seq),
    }
}
