//! Events of the audit trail (`docs/reference/audit-events.md`). A new event is one line here.
//!
//! Stored records keep the text that they were written with, because the chain covers it. An event that was renamed is
//! therefore stored under its first name for good, and read and shown under its present one.

macro_rules! audit_events {
    ($($(#[$gdoc:meta])* $group:ident ($title:literal) {
        $($variant:ident = $name:literal $(was $old:literal)*, $label:literal, $meaning:literal;)+
    })+) => {
        /// Section of the audit events.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum EventGroup {
            $($(#[$gdoc])* $group),+
        }

        impl EventGroup {
            /// Every group, in the order of the documents.
            pub const ALL: &'static [Self] = &[$(Self::$group),+];

            /// Heading of the group.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$group => $title),+ }
            }

            /// Events of the group, in the order of the documents.
            pub const fn events(self) -> &'static [AuditEvent] {
                match self { $(Self::$group => &[$(AuditEvent::$variant),+]),+ }
            }
        }

        /// Event of an audit record.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AuditEvent {
            $($(#[doc = $meaning] $variant,)+)+
        }

        impl AuditEvent {
            /// Every event, in the order of the documents.
            pub const ALL: &'static [Self] = &[$($(Self::$variant),+),+];

            /// The name on the wire: a noun, a period and a verb in the past tense.
            pub const fn as_str(self) -> &'static str {
                match self { $($(Self::$variant => $name),+),+ }
            }

            /// Earlier names, the first one first.
            pub const fn earlier_names(self) -> &'static [&'static str] {
                match self { $($(Self::$variant => &[$($old),*]),+),+ }
            }

            /// The name that people read in the dashboard.
            pub const fn label(self) -> &'static str {
                match self { $($(Self::$variant => $label),+),+ }
            }

            /// A sentence that says when the event is recorded.
            pub const fn meaning(self) -> &'static str {
                match self { $($(Self::$variant => $meaning),+),+ }
            }

            /// The event of a present or an earlier name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($($name $(| $old)* => Some(Self::$variant),)+)+ _ => None }
            }
        }
    };
}

audit_events! {
    /// What agents asked for, and what came of it.
    Requests ("Requests") {
        RequestReceived = "request.received" was "forward", "Request",
            "A request to `/forward`, `/p/…` or `/sign` was judged. On disk before the credential is used.";
        RequestExecuted = "request.executed" was "execute", "Approved request sent",
            "An approved request is about to be sent, or was refused by the check before sending.";
        RequestCompleted = "request.completed" was "outcome", "Request completed",
            "A request ended: status, error, latencies, bytes, redactions. Shown as `outcome` of the request's record.";
    }
    /// Decisions of people, and what they opened.
    Decisions ("Approvals and grants") {
        ApprovalVoted = "approval.voted" was "approval.vote", "Approval given",
            "A person approved, and more approvals are needed.";
        ApprovalEscalated = "approval.escalated", "Escalated",
            "No one had decided after the minutes of an escalation step, so more people or another room were asked.";
        ApprovalEdited = "approval.edited", "Request edited",
            "A person changed a pending request. Earlier approvals of it no longer count.";
        ApprovalApproved = "approval.approved", "Approved", "The last needed person approved.";
        ApprovalDenied = "approval.denied", "Denied", "A person denied.";
        ApprovalExpired = "approval.expired", "Expired", "No one decided in time.";
        ApprovalWithdrawn = "approval.withdrawn", "Withdrawn", "The agent withdrew the request.";
        ApprovalOutcomeLost = "approval.outcome_lost" was "approval.outcome_unknown", "Outcome unknown",
            "A node ended while the request was being sent, or failed to store the end.";
        GrantCreated = "grant.created", "Grant opened", "A grant was opened with an approval.";
        GrantRevoked = "grant.revoked", "Grant revoked", "A person ended a grant.";
        TaskProposed = "task.proposed", "Task proposed", "An agent proposed a task.";
        TaskApproved = "task.approved", "Task approved", "A person approved a task, whole or in part.";
        TaskDenied = "task.denied", "Task denied", "A person denied a task.";
        TaskWithdrawn = "task.withdrawn", "Task withdrawn", "The agent withdrew a proposed task, or was disabled or removed.";
        TaskStopped = "task.stopped", "Task stopped", "A person stopped a task, or a change of agent, credential or policy did.";
        PasskeyRefused = "passkey.refused", "Passkey refused", "A passkey ceremony failed a check.";
        ChatStrangerRefused = "chat.stranger_refused" was "chat.stranger", "Chat account refused",
            "A chat account that no one linked tried to decide.";
    }
    /// Who may send what, and with which secret.
    Access ("Agents, credentials and policies") {
        AgentCreated = "agent.created", "Agent added", "An agent was added.";
        AgentUpdated = "agent.updated", "Agent changed", "An agent was changed.";
        AgentRemoved = "agent.removed", "Agent removed", "An agent was removed.";
        AgentEnabled = "agent.enabled", "Agent enabled", "An agent was enabled.";
        AgentDisabled = "agent.disabled", "Agent disabled", "An agent was disabled.";
        AgentRotated = "agent.rotated", "Agent key replaced", "An agent's key was replaced.";
        ConnectionAllowed = "connection.allowed", "Connection allowed",
            "A person let a program act as an agent, with its own tokens.";
        ConnectionRevoked = "connection.revoked", "Connection revoked",
            "A person, or the program itself, ended a connection. Its tokens no longer work.";
        ConnectionReplayed = "connection.replay_detected", "Replayed token",
            "An authorization code or refresh token was used a second time. Its connection was revoked.";
        CredentialCreated = "credential.created", "Credential added", "A stored credential was added.";
        CredentialUpdated = "credential.updated", "Credential changed", "A stored credential was changed.";
        CredentialRemoved = "credential.removed", "Credential removed", "A stored credential was removed.";
        CredentialSecretReplaced = "credential.secret_replaced", "Secret replaced",
            "A secret was replaced; grants of the credential ended.";
        CredentialConnected = "credential.connected", "Account connected", "An OAuth 2.0 account was connected.";
        CredentialVerified = "credential.verified" was "credential.verify", "Credential verified",
            "A credential was tried with one GET.";
        ToolPermissionChanged = "tool.permission_changed", "Tool permission changed",
            "A tool of an MCP server was set to allow, ask or deny.";
        PolicyChanged = "policy.changed", "Policy changed", "A policy took effect.";
        PolicyRemoved = "policy.removed", "Policy removed", "A policy was removed.";
        PolicyProposed = "policy.proposed", "Policy proposed", "A member proposed a policy.";
        PolicyProposalWithdrawn = "policy.proposal_withdrawn", "Policy proposal withdrawn",
            "A member withdrew a proposed policy.";
    }
    /// People and what they sign in with.
    People ("People") {
        UserSignedIn = "user.signed_in" was "sign_in", "Signed in", "A person signed in.";
        UserSignedOut = "user.signed_out" was "sign_out", "Signed out", "A person signed out.";
        UserSignInFailed = "user.sign_in_failed" was "sign_in.failed", "Sign-in failed", "A sign-in failed.";
        UserAdded = "user.added", "Person added", "A person was invited.";
        UserInvitationWithdrawn = "user.invitation_withdrawn", "Invitation withdrawn",
            "An invitation was withdrawn.";
        UserLinkCreated = "user.link_created", "Sign-in link created", "A sign-in link was created.";
        UserEnabled = "user.enabled", "Person enabled", "A person was enabled.";
        UserDisabled = "user.disabled", "Person disabled", "A person was disabled.";
        UserRoleChanged = "user.role_changed", "Role changed", "A person's role changed.";
        UserRightsChanged = "user.rights_changed", "Rights changed",
            "A member's rights on a credential changed.";
        UserPasswordSet = "user.password_set", "Password set", "A password was set.";
        UserPasswordRefused = "user.password_refused", "Password not changed",
            "A change of a password was refused.";
        UserQuietHoursChanged = "user.quiet_hours_changed", "Quiet hours changed",
            "A person set or removed their quiet hours.";
        PasskeyAdded = "passkey.added", "Passkey added", "A passkey was added.";
        PasskeyRenamed = "passkey.renamed", "Passkey renamed", "A passkey was renamed.";
        PasskeyRemoved = "passkey.removed", "Passkey removed", "A passkey was removed.";
        TokenCreated = "token.created", "Access token created", "A personal access token was created.";
        TokenRevoked = "token.revoked", "Access token revoked", "A personal access token was revoked.";
    }
    /// Where Pyxis speaks, and how it looks.
    Settings ("Notifications and settings") {
        WebhookCreated = "webhook.created", "Webhook added", "A webhook endpoint was added.";
        WebhookChanged = "webhook.changed", "Webhook changed", "A webhook endpoint was changed.";
        WebhookRemoved = "webhook.removed", "Webhook removed", "A webhook endpoint was removed.";
        WebhookSecretReplaced = "webhook.secret_replaced", "Webhook secret replaced",
            "The signing secret of an endpoint was replaced.";
        WebhookResent = "webhook.resent", "Webhook sent again", "A person sent a delivery again.";
        ChatCodeCreated = "chat.code_created", "Chat code created",
            "A person asked for a code to link a chat account.";
        ChatLinked = "chat.linked", "Chat account linked", "A person linked a chat account.";
        ChatUnlinked = "chat.unlinked", "Chat account unlinked", "A person removed the link of a chat account.";
        ChatMoved = "chat.moved", "Chat moved", "A chat or room got another id, and settings follow it.";
        PushSubscribed = "push.subscribed", "Browser notifications on",
            "Notifications of a browser were switched on.";
        PushUnsubscribed = "push.unsubscribed", "Browser notifications off",
            "Notifications of a browser were switched off.";
        BrandChanged = "brand.changed", "Brand changed", "The name or the color of the brand changed.";
        BrandLogoChanged = "brand.logo_changed", "Logo changed", "The logo changed.";
        DatabasePromoted = "database.promoted", "Standby promoted",
            "PostgreSQL is on another timeline, because a standby was promoted. `pyxis audit in-flight` lists what was open.";
        SettingsChanged = "settings.changed", "Settings changed", "Settings of the workspace changed.";
        WorkspaceCreated = "workspace.created", "Workspace added", "A workspace was added.";
        ReceiptKeyRotated = "receipt_key.rotated", "Receipt key replaced", "A new key signs receipts.";
        AuditLossAccepted = "audit.loss_accepted", "Loss of records accepted",
            "A server was started with `--accept-lost-database`, without records that a signed head names.";
    }
    /// Scorers, Stamps and who reads scores.
    Scoring ("Scoring") {
        ScorerCreated = "scorer.created" was "scorer.create", "Scorer added", "A scorer was added.";
        ScorerRenamed = "scorer.renamed" was "scorer.rename", "Scorer renamed", "A scorer was renamed.";
        ScorerTermsChanged = "scorer.terms_changed" was "scorer.terms", "Weights changed",
            "Weights or threshold changed.";
        ScorerRemoved = "scorer.removed" was "scorer.remove", "Scorer removed", "A scorer was removed.";
        ScorerRescored = "scorer.rescored" was "scorer.rescore", "Scores recomputed",
            "A recomputation of all stale scores was started.";
        ScoreJobCreated = "score_job.created", "Score job added", "Addresses were uploaded to be scored as a job.";
        ScoreJobCanceled = "score_job.canceled", "Score job canceled", "A score job was canceled.";
        ScoreJobRetried = "score_job.retried", "Score job run again", "The failed rows of a score job were queued again.";
        ScoreJobRemoved = "score_job.removed", "Score job removed", "A score job and its results were removed.";
        PopulationExported = "population.exported", "Scores exported",
            "All scores of a scorer were exported, or the results of a score job.";
        ApiKeyCreated = "api_key.created" was "api_key.create", "API key added", "An API key was added.";
        ApiKeyUpdated = "api_key.updated" was "api_key.update", "API key changed", "An API key was changed.";
        ApiKeyRevoked = "api_key.revoked" was "api_key.revoke", "API key revoked", "An API key was revoked.";
        HistoryRequestCreated = "history_request.created" was "history_request.create", "History requested",
            "Access to history was requested.";
        HistoryRequestApproved = "history_request.approved" was "history_request.approve", "History approved",
            "Access to history was approved.";
        HistoryRequestRefused = "history_request.refused" was "history_request.refuse", "History refused",
            "Access to history was refused.";
        IssuerAdded = "issuer.added" was "issuer.add", "Issuer added", "An issuer of Stamps was trusted.";
        IssuerRemoved = "issuer.removed" was "issuer.remove", "Issuer removed", "An issuer of Stamps was removed.";
        StampRevoked = "stamp.revoked" was "stamp.revoke", "Stamp revoked",
            "A verifiable credential was revoked.";
        AddressErased = "address.erased", "Address erased",
            "Everything stored about an address was erased. The record names it only by a keyed hash.";
        ScorerChangeScheduled = "scorer.change_scheduled", "Change scheduled",
            "New weights or a new threshold were scheduled for a later time.";
        ScorerChangeWithdrawn = "scorer.change_withdrawn", "Change withdrawn",
            "A scheduled change of weights or threshold was withdrawn.";
        ScoreReviewGranted = "score_review.granted", "Review granted",
            "A review of a score was decided in favor of the holder.";
        ScoreReviewDeclined = "score_review.declined", "Review declined",
            "A review of a score was decided against the holder.";
        CatalogueReplaced = "catalogue.replaced" was "catalogue.replace", "Catalogue changed",
            "The catalogue of Stamps was replaced.";
        ScoreKeyRotated = "score_key.rotated", "Score key replaced", "A new key signs scores.";
        StampKeyRotated = "stamp_key.rotated", "Stamp key replaced",
            "A new key signs the workspace's own Stamps; its issuer is trusted.";
        StampsSigned = "stamp.signed", "Stamps signed", "Credentials were signed with the workspace's own key.";
        OwnStampCreated = "own_stamp.created", "Own Stamp added",
            "An allow list or an on-chain Stamp was added.";
        OwnStampRemoved = "own_stamp.removed", "Own Stamp removed",
            "An allow list or an on-chain Stamp was removed. Stamps that it issued are withdrawn.";
        AllowListChanged = "allow_list.changed", "Allow list changed",
            "Addresses were added to an allow list, or removed from it.";
        CatalogueReset = "catalogue.reset", "Catalogue reset", "The catalogue of Stamps was reset.";
    }
    /// Proofs, who issues them and who is blocked.
    Verification ("Verification") {
        ProofIssuerAdded = "proof_issuer.added" was "proof_issuer.add", "Proof issuer added",
            "An issuer of proofs was trusted.";
        ProofIssuerRemoved = "proof_issuer.removed" was "proof_issuer.remove", "Proof issuer removed",
            "An issuer of proofs was removed.";
        ProofRevoked = "proof.revoked" was "proof.revoke", "Proof revoked", "A manager revoked a proof.";
        BlocklistAdded = "blocklist.added" was "blocklist.add", "Address blocked", "An address was blocked.";
        BlocklistRemoved = "blocklist.removed" was "blocklist.remove", "Address unblocked",
            "An address was unblocked.";
        AttestationKeyRotated = "attestation_key.rotated" was "attestation_key.rotate",
            "Attestation key replaced", "A new key signs attestations.";
    }
}

impl AuditEvent {
    /// The text of `kind` in stored records: the event's first name.
    pub const fn stored_kind(self) -> &'static str {
        match self.earlier_names() {
            [first, ..] => first,
            [] => self.as_str(),
        }
    }
}

impl std::fmt::Display for AuditEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names(event: AuditEvent) -> impl Iterator<Item = &'static str> {
        std::iter::once(event.as_str()).chain(event.earlier_names().iter().copied())
    }

    #[test]
    fn every_name_that_an_event_ever_had_reads_as_it() {
        for event in AuditEvent::ALL {
            for name in names(*event).chain([event.stored_kind()]) {
                assert_eq!(AuditEvent::from_name(name), Some(*event), "{name}");
            }
        }
        assert_eq!(AuditEvent::from_name("Forward"), None);
    }

    #[test]
    fn no_two_events_share_a_name_or_a_label() {
        let count = AuditEvent::ALL.iter().flat_map(|event| names(*event)).count();
        let all: BTreeSet<_> = AuditEvent::ALL.iter().flat_map(|event| names(*event)).collect();
        assert_eq!(all.len(), count);
        let labels: BTreeSet<_> = AuditEvent::ALL.iter().map(|event| event.label()).collect();
        assert_eq!(labels.len(), AuditEvent::ALL.len());
    }

    #[test]
    fn names_are_a_noun_a_period_and_a_verb_in_the_past_tense() {
        const IRREGULAR: &[&str] = &["reset", "set", "resent", "lost", "withdrawn"];
        for event in AuditEvent::ALL {
            let (noun, verb) = event.as_str().split_once('.').unwrap();
            let words = [noun, verb].map(|words| words.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            assert_eq!(words, [true, true], "{event}");
            let past = verb.split('_').any(|word| word.ends_with("ed") || IRREGULAR.contains(&word));
            assert!(past, "{event}");
        }
    }

    #[test]
    fn the_texts_that_queries_and_indexes_name_stay() {
        assert_eq!(AuditEvent::RequestReceived.stored_kind(), "forward");
        assert_eq!(AuditEvent::RequestCompleted.stored_kind(), "outcome");
    }
}
