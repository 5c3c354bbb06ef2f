//! The home page: setup, pending requests, the last 24 hours, and items that need attention.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::readiness;
use pyxis_gateway::approvals::view::{self, Filter};
use pyxis_store::home::{self, Decisions};

use super::scoring::count;
use super::{home_attention, home_setup};
use crate::error::html;
use crate::form::{Page, SubmittedForm};
use crate::notice::see_other;
use crate::recent::{Counts, RecentDecisions, SPAN};
use crate::session::SignedIn;
use crate::text::grouped;
use crate::view::Timestamp;
use crate::view::home::{DayLine, DayTable, HealthPart, HomePage, OldestRequest, ScoreUse};
use crate::{Error, State};

/// Path of the page.
pub(super) const HERE: &str = "/app";
/// Time for each part to respond before it counts as broken.
const TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) async fn page(Page { state, who, .. }: Page<SignedIn>) -> Result<Response, Error> {
    let manager = who.person.user.role.is_manager();
    let recent = if manager { recent(&state.recent, &state.gateway, &who).await } else { None };
    let since = state.gateway.now().minus(SPAN);
    html(&HomePage {
        shell: who.shell(&state).await?,
        setup: home_setup::list(&state, &who).await?,
        health: health(&state.gateway).await,
        oldest: oldest(&state.gateway, &who).await?,
        day: recent.as_ref().map(|counts| table(&counts.decisions, since)),
        scores: if manager { scores(&state, &who).await? } else { None },
        attention: home_attention::list(&state, &who, recent.as_deref()).await?,
    })
}

/// The audit trail of the last 24 hours; `None` if it cannot be read, which the page then says.
async fn recent(
    recent: &RecentDecisions,
    gateway: &pyxis_gateway::State,
    who: &SignedIn,
) -> Option<Arc<Counts>> {
    let found = recent.read(gateway, who.person.workspace()).await;
    let warn = |error: &Error| {
        let error = error as &dyn std::error::Error;
        tracing::warn!(error, "the home page could not read the audit trail");
    };
    found.inspect_err(warn).ok()
}

/// Skips a step of the set-up list for this person.
pub(crate) async fn skip(
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let step = home_setup::names(&who).into_iter().find(|name| *name == fields.get("step"));
    let person = (who.person.workspace(), who.person.user.id);
    let step = step.ok_or(Error::NotFound)?;
    home::skip_step(&state.gateway.store, person, step, state.gateway.now()).await.map_err(Service::from)?;
    Ok(see_other(HERE))
}

/// Health of the parts that requests need, as in `/readyz`.
async fn health(gateway: &pyxis_gateway::State) -> Vec<HealthPart> {
    let health = readiness::check(gateway, TIMEOUT).await;
    let parts =
        [("Database", health.database), ("Audit trail", health.audit), ("Name resolution", health.resolver)];
    parts.into_iter().map(|(name, works)| HealthPart { name, works }).collect()
}

async fn oldest(gateway: &pyxis_gateway::State, who: &SignedIn) -> Result<Option<OldestRequest>, Error> {
    let filter = Filter {
        state: Some(ApprovalState::Pending),
        among: who.rights.approvable(),
        rising: true,
        limit: 1,
        ..Filter::default()
    };
    let found = view::list(gateway, who.person.workspace(), &filter).await?;
    Ok(found.into_iter().next().map(|view| OldestRequest {
        txn_id: view.row.txn_id.to_string(),
        title: format!("{}: {} {}", view.row.agent_name, view.row.method, view.row.target_host),
        created: Timestamp::new(view.row.created_at, gateway.now()),
    }))
}

/// Line of the table: label, outcome in the filter of the audit page, color, and a test for its records.
type Kind = (&'static str, &'static str, &'static str, fn(&Decisions) -> bool);

const KINDS: [Kind; 9] = [
    ("Allowed by policy", "passed", "chart-1", |one| is_request(one, AuditDecision::Auto)),
    ("Allowed by a grant", "grant", "chart-5", |one| is_request(one, AuditDecision::Grant)),
    ("Allowed by a task", "task", "chart-6", |one| is_request(one, AuditDecision::Task)),
    ("Approved and sent", "approved", "chart-2", |one| is_decided(one, AuditDecision::Approved)),
    ("Denied by a person", "denied-by-person", "chart-3", |one| is_event(one, AuditEvent::ApprovalDenied)),
    ("Denied by policy", "denied", "chart-3", |one| is_request(one, AuditDecision::Denied)),
    ("Expired or withdrawn", "expired", "chart-4", |one| {
        is_event(one, AuditEvent::ApprovalExpired) || is_event(one, AuditEvent::ApprovalWithdrawn)
    }),
    ("Refused", "refused", "chart-3", |one| is_decided(one, AuditDecision::Refused)),
    ("Failed: no response", "failed", "chart-6", |one| one.failed),
];

fn is_event(one: &Decisions, event: AuditEvent) -> bool {
    one.event == event
}

fn is_decided(one: &Decisions, decision: AuditDecision) -> bool {
    one.decision.as_ref().is_some_and(|stored| stored.is(decision))
}

fn is_request(one: &Decisions, decision: AuditDecision) -> bool {
    is_event(one, AuditEvent::RequestReceived) && is_decided(one, decision)
}

fn table(found: &[Decisions], since: UnixMillis) -> DayTable {
    let counts = KINDS
        .map(|(_, _, _, fits)| found.iter().filter(|one| fits(one)).map(|one| count(one.count)).sum::<u64>());
    let most = counts.into_iter().max().unwrap_or(0);
    let from = since.to_rfc3339().get(..10).unwrap_or_default().to_owned();
    let lines = KINDS.into_iter().zip(counts).map(|((label, outcome, class, _), number)| DayLine {
        label,
        count: grouped(number),
        width: bar(number, most),
        class,
        href: format!("/app/audit?outcome={outcome}&from={from}"),
    });
    let all: u64 = found.iter().map(|one| count(one.count)).sum();
    let limit = u64::from(home::COUNTED);
    DayTable { lines: lines.collect(), empty: most == 0, capped: (all >= limit).then(|| grouped(limit)) }
}

/// Width of a bar in percent of the widest. A count above zero stays visible.
fn bar(number: u64, most: u64) -> u64 {
    let share = number.saturating_mul(100).checked_div(most).unwrap_or(0);
    if number > 0 { share.max(1) } else { 0 }
}

async fn scores(state: &State, who: &SignedIn) -> Result<Option<ScoreUse>, Error> {
    if state.scoring.is_none() {
        return Ok(None);
    }
    let since = state.gateway.now().minus(SPAN);
    let found = home::scores_served(&state.gateway.store, who.person.workspace(), since).await;
    let (admitted, refused) = found.map_err(Service::from)?;
    let empty = admitted == 0 && refused == 0;
    Ok(Some(ScoreUse { admitted: grouped(count(admitted)), refused: grouped(count(refused)), empty }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::audit_rows::OUTCOMES;

    fn found(event: AuditEvent, decision: Option<AuditDecision>, failed: bool, count: i64) -> Decisions {
        Decisions { event: event.into(), decision: decision.map(Into::into), failed, count }
    }

    #[test]
    fn a_failed_request_counts_as_allowed_and_as_failed() {
        let records = [
            found(AuditEvent::RequestReceived, Some(AuditDecision::Auto), false, 3),
            found(AuditEvent::RequestReceived, Some(AuditDecision::Auto), true, 1),
            found(AuditEvent::RequestReceived, Some(AuditDecision::Task), false, 5),
            found(AuditEvent::RequestReceived, Some(AuditDecision::Pending), false, 9),
            found(AuditEvent::ApprovalWithdrawn, None, false, 2),
        ];
        let table = table(&records, UnixMillis(1_767_225_600_000));
        let counts: Vec<&str> = table.lines.iter().map(|line| line.count.as_str()).collect();
        assert_eq!(counts, ["4", "0", "5", "0", "0", "0", "2", "0", "1"]);
        assert_eq!(table.lines[0].href, "/app/audit?outcome=passed&from=2026-01-01");
        assert!(!table.empty && table.capped.is_none());
    }

    #[test]
    fn every_outcome_of_a_request_has_a_line_with_the_words_of_the_audit_page() {
        for (outcome, label, decision) in OUTCOMES {
            let line = KINDS.iter().find(|(_, line, ..)| line == outcome);
            if *outcome == "asked" {
                assert!(line.is_none(), "a request that waits has no outcome yet");
                continue;
            }
            let (words, _, _, fits) = line.unwrap_or_else(|| panic!("no line for {outcome}"));
            assert_eq!(words, label);
            if let Some(decision) = decision {
                assert!(fits(&found(AuditEvent::RequestReceived, Some(*decision), false, 1)), "{decision}");
            }
        }
    }

    #[test]
    fn a_bar_of_something_is_never_empty() {
        assert_eq!([bar(0, 0), bar(0, 5), bar(1, 1000), bar(5, 5)], [0, 0, 1, 100]);
    }
}
