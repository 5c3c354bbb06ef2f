//! A statement's effect on the registry, inside the transaction that holds the clocks.

use std::borrow::Cow;
use std::collections::BTreeSet;

use pyxis_core::actor::ActorId;
use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{
    ActionId, DEFAULT_ACTION, Kind, MAX_LIFETIME_SECS, NetworkName, ProofNullifier, Rebinding, Registration,
    Revocation, Statement, Subject,
};
use pyxis_store::block_clocks::{self, ClockRow};
use pyxis_store::proof_log::{self, Change, LogRow, StatementRow};
use pyxis_store::proofs::{self, Ended, NewProof, ProofRow};
use pyxis_store::{Executor, Tx, proof_issuers};

use super::{Issuer, SignedStatement, StatementEffect, StatementRejection};
use crate::block_height::{self, NetworkHeads};
use crate::network::Networks;
use crate::state::State;

/// Maximum lead of an issuer's clock over the local one, in seconds.
const CLOCK_SKEW_SECS: i64 = 300;

type Applied = Result<StatementEffect, StatementRejection>;

/// The registry, locked for changes.
pub(crate) struct Register<'a> {
    pub(crate) tx: Tx,
    /// A network whose block was needed but had not been queried.
    pub(super) lacking: Option<NetworkName>,
    heads: NetworkHeads,
    clocks: Vec<ClockRow>,
    now: UnixMillis,
    networks: &'a Networks,
}

impl<'a> Register<'a> {
    /// Queries these networks for their newest blocks, then locks the registry.
    pub(crate) async fn open(
        state: &'a State,
        networks: &BTreeSet<NetworkName>,
    ) -> Result<Self, StatementRejection> {
        let heads = block_height::fetch_heads(state, networks).await?;
        let mut tx = state.store.begin().await?;
        let clocks = block_clocks::lock(&mut tx).await?;
        Ok(Self { tx, lacking: None, heads, clocks, now: state.now(), networks: state.networks() })
    }

    /// The outcome of each statement; an error if none of them may take effect.
    pub(super) async fn apply_all(
        &mut self,
        signed: &[SignedStatement],
    ) -> Result<Vec<Applied>, StatementRejection> {
        let mut outcomes = Vec::with_capacity(signed.len());
        for one in signed {
            match self.apply(one).await {
                Err(refusal @ (StatementRejection::Unavailable(_) | StatementRejection::Internal(_))) => {
                    return Err(refusal);
                }
                outcome => outcomes.push(outcome),
            }
        }
        Ok(outcomes)
    }

    /// Checks a statement and applies it, unless it took effect before.
    async fn apply(&mut self, signed: &SignedStatement) -> Applied {
        check(&mut self.tx, signed, self.now, self.networks).await?;
        let SignedStatement { statement, issuer, .. } = signed;
        let by = issuer.to_string();
        let digest = statement.digest(&by);
        if let Some(known) = proof_log::find_statement(&mut self.tx, &digest).await? {
            return self.apply_repeated(statement, &known).await;
        }
        let (outcome, network) = match statement {
            Statement::Register(said) => (self.register(said, *issuer).await?, said.network.clone()),
            Statement::Revoke(said) => {
                let row = self.revocable(said, &by).await?;
                let height =
                    self.revoke(&row, &said.reason, (&by.as_str().into(), millis(said.issued_at))).await?;
                (StatementEffect { status: "revoked", new: true, height, proof: None }, said.network.clone())
            }
            Statement::Rebind(said) => self.rebind(said, &by).await?,
        };
        let remembered =
            StatementRow { digest, issuer: by, network, height: outcome.height, proof_id: outcome.proof };
        proof_log::remember(&mut self.tx, &remembered).await?;
        Ok(outcome)
    }

    /// A repeated statement changes nothing; a registration whose proof has ended since does not bring it back.
    async fn apply_repeated(&mut self, statement: &Statement, known: &StatementRow) -> Applied {
        let status = match statement {
            Statement::Register(_) => "registered",
            Statement::Revoke(_) => "revoked",
            Statement::Rebind(_) => "rebound",
        };
        if let Some(id) = known.proof_id
            && let Some(ended) = proofs::find(&mut self.tx, id).await?.and_then(|row| row.ended)
        {
            return Err(StatementRejection::HasEnded(ended));
        }
        Ok(StatementEffect { status, new: false, height: known.height, proof: known.proof_id })
    }

    async fn register(&mut self, said: &Registration, issuer: Issuer) -> Applied {
        let height = self.next(&said.network)?;
        let (issued_at, expires_at) = (millis(said.issued_at), millis(said.expires_at));
        if expires_at <= self.now {
            return Err(field("expires_at", "is in the past"));
        }
        let (network, kind, subject, action_id) = (&said.network, said.kind, said.subject, said.action_id);
        self.check_order((network, kind, subject, action_id), issued_at).await?;
        let open = proofs::open_of_subject(&mut self.tx, network, kind, subject, action_id).await?;
        if open.as_ref().is_some_and(|old| old.issued_at == issued_at && old.expires_at > expires_at) {
            // Within the same second, the one that lasts longer wins, in any order of arrival.
            return Err(StatementRejection::Superseded);
        }
        self.assign_nullifier(said, expires_at).await?;
        if let Some(old) = open {
            proofs::end(&mut self.tx, old.id, height, Ended::Replaced).await?;
            if old.nullifier != said.nullifier {
                self.release_nullifier(&old).await?;
            }
        }
        let new = NewProof {
            network: network.clone(),
            kind,
            subject,
            action_id,
            nullifier: said.nullifier,
            issuer: issuer.to_string(),
            issued_at,
            expires_at,
            from_height: height,
            registered_at: self.now,
        };
        let id = self.insert_proof(&new).await?;
        Ok(StatementEffect { status: "registered", new: true, height, proof: Some(id) })
    }

    /// Refuses statements signed before the last one that took effect for an address. Statements arrive in any order,
    /// and anyone may send the oldest of them.
    async fn check_order(
        &mut self,
        (network, kind, subject, action_id): (&NetworkName, Kind, Subject, ActionId),
        issued_at: UnixMillis,
    ) -> Result<(), StatementRejection> {
        let before = proofs::outdated_before(&mut self.tx, network, kind, subject, action_id).await?;
        if before.is_some_and(|before| issued_at < before) {
            Err(StatementRejection::Superseded)
        } else {
            Ok(())
        }
    }

    /// Assigns the nullifier to the address. Expired proofs of the previous holder end here and now: the block's
    /// timestamp may lag behind our clock.
    async fn assign_nullifier(
        &mut self,
        said: &Registration,
        expires_at: UnixMillis,
    ) -> Result<(), StatementRejection> {
        let mark = (said.kind, said.action_id, said.nullifier);
        if !proofs::assign(&mut self.tx, mark, said.subject, expires_at, self.now).await? {
            return Err(StatementRejection::AlreadyRegistered);
        }
        let open = proofs::open_of_nullifier(&mut self.tx, mark.0, mark.1, mark.2).await?;
        for row in open.iter().filter(|row| row.subject != said.subject) {
            let height = self.next(&row.network)?;
            self.leave(row, height, End::EXPIRED, &"expiry".into()).await?;
        }
        Ok(())
    }

    /// Stores a proof and its log entry.
    async fn insert_proof(&mut self, new: &NewProof) -> Result<i64, StatementRejection> {
        let id = proofs::insert(&mut self.tx, new).await?;
        let entry = LogRow {
            id: 0,
            change: Change::Register,
            network: new.network.clone(),
            height: new.from_height,
            at: self.now,
            kind: Some(new.kind),
            subject: new.subject,
            action_id: Some(new.action_id),
            nullifier: Some(new.nullifier),
            expires_at: Some(new.expires_at),
            reason: None,
            made_by: new.issuer.as_str().into(),
        };
        proof_log::append(&mut self.tx, &entry).await?;
        Ok(id)
    }

    /// The proof that a revocation refers to. One that was issued after it is not meant.
    async fn revocable(&mut self, said: &Revocation, by: &str) -> Result<ProofRow, StatementRejection> {
        let Revocation { network, kind, subject, action_id, .. } = said;
        let open = proofs::open_of_subject(&mut self.tx, network, *kind, *subject, *action_id).await?;
        let row =
            open.filter(|row| row.issued_at <= millis(said.issued_at)).ok_or(StatementRejection::NotFound)?;
        self.check_owner(&row, by).await?;
        Ok(row)
    }

    /// An issuer may change its own proofs, and those whose issuer is no longer trusted.
    async fn check_owner(&mut self, row: &ProofRow, by: &str) -> Result<(), StatementRejection> {
        let foreign =
            row.issuer != by && proof_issuers::is_listed(&mut self.tx, row.kind, &row.issuer).await?;
        if foreign { Err(StatementRejection::IssuerNotAllowed) } else { Ok(()) }
    }

    /// Revokes an open proof and returns the block. Statements signed by `said_at` no longer count.
    pub(crate) async fn revoke(
        &mut self,
        row: &ProofRow,
        reason: &str,
        (by, said_at): (&ActorId, UnixMillis),
    ) -> Result<i64, StatementRejection> {
        let height = self.next(&row.network)?;
        // Signatures are dated to the second.
        let outdated_before = Some(millis(said_at.max(row.issued_at).seconds() + 1));
        let end =
            End { change: Change::Revoke, ended: Ended::Revoked, reason: Some(reason), outdated_before };
        self.leave(row, height, end, by).await?;
        self.release_nullifier(row).await?;
        Ok(height)
    }

    /// Ends an open proof and records that in the log.
    async fn leave(
        &mut self,
        row: &ProofRow,
        height: i64,
        End { change, ended, reason, outdated_before }: End<'_>,
        by: &ActorId,
    ) -> Result<(), StatementRejection> {
        let done = match outdated_before {
            Some(before) => proofs::end_signed(&mut self.tx, row.id, height, ended, before).await?,
            None => proofs::end(&mut self.tx, row.id, height, ended).await?,
        };
        if !done {
            return Err(StatementRejection::NotFound);
        }
        let entry = LogRow {
            id: 0,
            change,
            network: row.network.clone(),
            height,
            at: self.now,
            kind: Some(row.kind),
            subject: row.subject,
            action_id: Some(row.action_id),
            nullifier: Some(row.nullifier),
            expires_at: Some(row.expires_at),
            reason: reason.map(str::to_owned),
            made_by: by.clone(),
        };
        Ok(proof_log::append(&mut self.tx, &entry).await?)
    }

    /// Releases the nullifier of a proof that just ended, unless another network's proof still needs it.
    async fn release_nullifier(&mut self, ended: &ProofRow) -> Result<(), StatementRejection> {
        let mark = (ended.kind, ended.action_id, ended.nullifier);
        let open = proofs::open_of_nullifier(&mut self.tx, mark.0, mark.1, mark.2).await?;
        if !open.iter().any(|row| row.subject == ended.subject) {
            proofs::release(&mut self.tx, mark, ended.subject).await?;
        }
        Ok(())
    }

    async fn rebind(
        &mut self,
        said: &Rebinding,
        by: &str,
    ) -> Result<(StatementEffect, NetworkName), StatementRejection> {
        let mark = (said.kind, said.action_id, said.nullifier);
        let mut moving = proofs::open_of_nullifier(&mut self.tx, mark.0, mark.1, mark.2).await?;
        let (now, signed_at) = (self.now, millis(said.issued_at));
        moving.retain(|row| row.subject == said.from && row.expires_at > now);
        if moving.iter().any(|row| row.issued_at > signed_at) {
            // All of them or none: a person has one address across all networks.
            return Err(StatementRejection::Superseded);
        }
        let first = moving.first().ok_or(StatementRejection::NotFound)?;
        let (network, until) = (first.network.clone(), moving.iter().map(|row| row.expires_at).max());
        for row in &moving {
            self.check_owner(row, by).await?;
            self.check_place(row, said.to).await?;
            self.check_order((&row.network, row.kind, said.to, row.action_id), signed_at).await?;
        }
        proofs::release(&mut self.tx, mark, said.from).await?;
        if !proofs::assign(&mut self.tx, mark, said.to, until.unwrap_or(now), now).await? {
            return Err(StatementRejection::AlreadyRegistered);
        }
        let mut first = None;
        for row in &moving {
            let placed = self.move_to(row, (said.to, signed_at), by).await?;
            first.get_or_insert(placed);
        }
        let (height, id) = first.ok_or(StatementRejection::NotFound)?;
        Ok((StatementEffect { status: "rebound", new: true, height, proof: Some(id) }, network))
    }

    /// Requires that the new address holds no live proof of another person there.
    async fn check_place(&mut self, row: &ProofRow, to: Subject) -> Result<(), StatementRejection> {
        let there = proofs::open_of_subject(&mut self.tx, &row.network, row.kind, to, row.action_id).await?;
        let taken = there.is_some_and(|there| there.expires_at > self.now);
        if taken { Err(StatementRejection::AddressTaken) } else { Ok(()) }
    }

    /// Moves the proof to the new address as of the signing time: an earlier statement about it comes too late.
    async fn move_to(
        &mut self,
        row: &ProofRow,
        (to, signed_at): (Subject, UnixMillis),
        by: &str,
    ) -> Result<(i64, i64), StatementRejection> {
        let height = self.next(&row.network)?;
        let outdated_before = Some(signed_at);
        let end = End { change: Change::Rebind, ended: Ended::Rebound, reason: None, outdated_before };
        self.leave(row, height, end, &by.into()).await?;
        let old = proofs::open_of_subject(&mut self.tx, &row.network, row.kind, to, row.action_id).await?;
        if let Some(expired) = old {
            proofs::end(&mut self.tx, expired.id, height, Ended::Replaced).await?;
        }
        let new = NewProof {
            network: row.network.clone(),
            kind: row.kind,
            subject: to,
            action_id: row.action_id,
            nullifier: row.nullifier,
            issuer: row.issuer.clone(),
            issued_at: signed_at,
            expires_at: row.expires_at,
            from_height: height,
            registered_at: self.now,
        };
        Ok((height, self.insert_proof(&new).await?))
    }

    /// The block in which a change on a network happens.
    pub(crate) fn next(&mut self, network: &NetworkName) -> Result<i64, StatementRejection> {
        if !self.heads.was_queried(network) {
            self.lacking = Some(network.clone());
        }
        self.heads.next(&self.clocks, network).ok_or_else(|| {
            StatementRejection::Unavailable(format!("the newest block of {network} is unknown").into())
        })
    }
}

/// The end of a proof.
struct End<'a> {
    change: Change,
    ended: Ended,
    reason: Option<&'a str>,
    /// Statements about the address that were signed earlier no longer have an effect.
    outdated_before: Option<UnixMillis>,
}

impl End<'_> {
    const EXPIRED: Self =
        Self { change: Change::Expire, ended: Ended::Expired, reason: None, outdated_before: None };
}

const fn millis(seconds: i64) -> UnixMillis {
    UnixMillis(seconds.saturating_mul(1000))
}

/// Checks that a listed issuer signed the statement and that it can be true.
pub(super) async fn check(
    executor: impl Executor,
    signed: &SignedStatement,
    now: UnixMillis,
    networks: &Networks,
) -> Result<(), StatementRejection> {
    let SignedStatement { statement, issuer, signature } = signed;
    check_fields(statement, now, networks)?;
    if !proof_issuers::is_listed(executor, statement.kind(), &issuer.to_string()).await? {
        return Err(StatementRejection::IssuerNotAllowed);
    }
    if issuer.signed(statement, signature) { Ok(()) } else { Err(StatementRejection::BadSignature) }
}

fn check_fields(
    statement: &Statement,
    now: UnixMillis,
    networks: &Networks,
) -> Result<(), StatementRejection> {
    let issued_at = statement.issued_at();
    if issued_at < 0 {
        return Err(field("issued_at", "Unix seconds"));
    }
    if issued_at > now.seconds() + CLOCK_SKEW_SECS {
        return Err(field("issued_at", "is in the future"));
    }
    match statement {
        Statement::Register(said) => check_registration(said, networks),
        Statement::Revoke(said) => check_place(&said.network, said.kind, said.subject, networks),
        Statement::Rebind(said) if said.from == said.to => Err(field("to", "is the same address as from")),
        Statement::Rebind(_) => Ok(()),
    }
}

fn check_registration(said: &Registration, networks: &Networks) -> Result<(), StatementRejection> {
    check_place(&said.network, said.kind, said.subject, networks)?;
    if said.expires_at <= said.issued_at {
        return Err(field("expires_at", "must be later than issued_at"));
    }
    if said.expires_at - said.issued_at > MAX_LIFETIME_SECS {
        return Err(field("expires_at", "must be at most one year (31536001 seconds) after issued_at"));
    }
    if said.nullifier == ProofNullifier(pyxis_core::field::FieldElement::small(0)) {
        return Err(field("nullifier", "must not be 0"));
    }
    if said.kind == Kind::ResidenceUs && said.action_id != DEFAULT_ACTION {
        return Err(field("action_id", "must be 123456789: residence does not depend on the action"));
    }
    Ok(())
}

fn check_place(
    network: &NetworkName,
    kind: Kind,
    subject: Subject,
    networks: &Networks,
) -> Result<(), StatementRejection> {
    let name = network.as_str();
    let Some(network) = networks.find_by_name(name) else {
        return Err(StatementRejection::Field { field: "network", reason: networks.unknown(name).into() });
    };
    if !network.registry {
        return Err(field("network", "accepts no proofs: its answers come from contracts"));
    }
    match (network.takes(kind, subject), network.checks(kind)) {
        (true, _) => Ok(()),
        (false, true) => Err(field("subject", "is not an address of this network")),
        (false, false) => Err(field("network", "has no checks of this kind")),
    }
}

const fn field(field: &'static str, reason: &'static str) -> StatementRejection {
    StatementRejection::Field { field, reason: Cow::Borrowed(reason) }
}
