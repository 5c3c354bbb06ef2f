//! `pyxis scorer`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use pyxis_core::admin_error::{AdminError, Missing};
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_core::nearest;
use pyxis_core::score::{KeptWeight, Weights};
use pyxis_core::stamp::StampName;
use pyxis_gateway::Actor;
use pyxis_scoring::service::amount::{self, Amounts};
use pyxis_scoring::service::catalogue;
use pyxis_scoring::service::own_stamps;
use pyxis_scoring::service::population::{self, Population};
use pyxis_scoring::service::sandbox::{self, WalletState};
use pyxis_scoring::service::scorer_changes;
use pyxis_scoring::service::scorers::{self, ScheduledChange, Scorer, ScorerInput, ScorerPatch};
use serde_json::{Value, json};

use super::{NOTHING_TO_DO, acting, out, streamed};
use crate::app::App;
use crate::cli::{Global, ScorerCommand};

pub(super) async fn run(global: &Global, command: ScorerCommand) -> Result<ExitCode> {
    let (app, actor) = acting(global).await?;
    let state = &app.scoring;
    if let Some(id) = scorer_of(&command) {
        check_known(&app, &actor, id).await?;
    }
    let changed = match command {
        ScorerCommand::Add { name, threshold, weights } => {
            let (name, weights) = (name.get()?, weights.as_deref().map(read).transpose()?);
            let scorer =
                scorers::create(&state.audited, &actor, ScorerInput { name, threshold, weights }).await?;
            print(global.json, &scorer);
            true
        }
        ScorerCommand::List => {
            let all = scorers::list(&state.store, actor.workspace, state.now()).await?;
            let rows: Vec<Value> = all
                .iter()
                .map(|row| {
                    json!({
                        "id": row.id, "name": row.name, "threshold": row.threshold,
                        "revision": row.revision, "created_at": row.created_at.to_rfc3339(),
                    })
                })
                .collect();
            out::list(global.json, "scorers", &["id", "name", "threshold", "revision"], &rows);
            true
        }
        ScorerCommand::Show { id } => {
            print(global.json, &scorers::get(&state.store, actor.workspace, id, state.now()).await?);
            true
        }
        ScorerCommand::SetWeights { id, changes, file, threshold, from, keep_until_expiry } => {
            let weights = file.as_deref().map(read).transpose()?;
            let wanted = WantedTerms { weights, changes, threshold, from, keep_until_expiry };
            set_weights(&app, &actor, id, wanted, global.json).await?
        }
        ScorerCommand::WithdrawChange { id, change } => {
            scorer_changes::withdraw(&state.audited, &actor, id, change).await?;
            print(global.json, &scorers::get(&state.store, actor.workspace, id, state.now()).await?);
            true
        }
        ScorerCommand::Sandbox => {
            let id = sandbox::prepare(state, &actor).await?;
            print_sandbox(global.json, id);
            true
        }
        ScorerCommand::Export { id, out: file, format, at } => {
            streamed::check_output(&file)?;
            let format = streamed::table_format(format.as_deref(), &file);
            let population = Population::load(&state.store, state.now(), &actor, id, at).await?;
            let pieces = population::export(&state.audited, &actor, population, format).await?;
            let bytes = Box::pin(streamed::write(pieces, &file)).await?;
            streamed::print_result(global.json, &file, bytes);
            true
        }
        ScorerCommand::Rescore { id } => rescore(&app, &actor, id, global.json).await?,
    };
    app.gateway.audit.stop().await?;
    Ok(if changed { ExitCode::SUCCESS } else { ExitCode::from(NOTHING_TO_DO) })
}

/// The scorer that a command is about.
fn scorer_of(command: &ScorerCommand) -> Option<ScorerId> {
    match command {
        ScorerCommand::Show { id }
        | ScorerCommand::SetWeights { id, .. }
        | ScorerCommand::WithdrawChange { id, .. }
        | ScorerCommand::Export { id, .. }
        | ScorerCommand::Rescore { id } => Some(*id),
        ScorerCommand::Add { .. } | ScorerCommand::List | ScorerCommand::Sandbox => None,
    }
}

/// Fails with the scorers that exist, if this one does not.
pub(super) async fn check_known(app: &App, actor: &Actor, id: ScorerId) -> Result<()> {
    let (store, now) = (&app.scoring.store, app.scoring.now());
    let all = scorers::list(store, actor.workspace, now).await?;
    if all.iter().any(|scorer| scorer.id == id) {
        return Ok(());
    }
    let known = all.iter().map(|scorer| format!("{} ({})", scorer.id, scorer.name));
    Err(AdminError::NotFound(Missing::among("scorer", id, known)).into())
}

fn print_sandbox(as_json: bool, id: ScorerId) {
    if as_json {
        out::json(&json!({ "scorer_id": id, "wallets": sandbox_wallets() }));
        return;
    }
    out::line(format_args!("scorer {id} is the sandbox; its wallets:"));
    for state in WalletState::ALL {
        out::line(format_args!("  {}  {}", state.wallet(), state.as_str()));
    }
}

/// The sandbox's wallets by their states.
pub(super) fn sandbox_wallets() -> Value {
    let wallet = |state: WalletState| (state.as_str().to_owned(), json!(state.wallet()));
    Value::Object(WalletState::ALL.into_iter().map(wallet).collect())
}

/// Weights from a JSON file.
fn read(file: &Path) -> Result<Weights> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let amounts: Amounts = serde_json::from_slice(&text)
        .with_context(|| format!("{}: not a JSON object of Stamp names and weights", file.display()))?;
    Ok(amount::weights(amounts))
}

/// Terms as `set-weights` names them.
struct WantedTerms {
    /// Weights that replace all.
    weights: Option<Weights>,
    /// Weights that change, after that.
    changes: Vec<(StampName, Decimal)>,
    threshold: Option<Decimal>,
    /// First moment; `None`: now.
    from: Option<UnixMillis>,
    keep_until_expiry: bool,
}

/// True if anything changed.
async fn set_weights(
    app: &App,
    actor: &Actor,
    id: ScorerId,
    wanted: WantedTerms,
    as_json: bool,
) -> Result<bool> {
    let WantedTerms { weights, changes, threshold, from, keep_until_expiry } = wanted;
    if let Some(from) = from {
        scorer_changes::check_start(from, app.scoring.now())?;
    }
    let before = scorers::get(&app.scoring.store, actor.workspace, id, app.scoring.now()).await?;
    warn_about_unknown(app, actor, changes.iter().map(|(name, _)| name)).await?;
    let base = from.map_or_else(|| before.terms.clone(), |from| before.terms_before(from));
    let mut weights = weights.unwrap_or_else(|| base.weights.clone());
    weights.extend(changes);
    // Only what changes, so that a change for later leaves what is scheduled for the rest.
    let threshold = threshold.filter(|threshold| *threshold != base.threshold);
    let weights = (weights != base.weights).then_some(weights);
    let changes = weights.is_some() || threshold.is_some();
    let after = if changes {
        let patch = ScorerPatch {
            threshold,
            weights,
            keep_until_expiry,
            effective_from: from,
            revision: Some(before.terms.revision),
            scheduled: from.map(|from| before.scheduled_before(from).map(|change| change.id).collect()),
            name: None,
        };
        scorers::update(&app.scoring.audited, actor, id, patch).await?
    } else {
        before
    };
    print(as_json, &after);
    Ok(changes)
}

/// Warns about Stamps that neither the catalogue nor a rule of the workspace has. They keep their weight: an issuer may
/// come first, and Stamps that people sign have no rule.
async fn warn_about_unknown(
    app: &App,
    actor: &Actor,
    names: impl IntoIterator<Item = &StampName>,
) -> Result<()> {
    let catalogue = catalogue::get(&app.scoring.store, actor.workspace).await?;
    let groups = catalogue.platforms.iter().flat_map(|platform| &platform.groups);
    let own = own_stamps::list(&app.scoring.store, actor.workspace).await?;
    let own = own.iter().map(|stamp| stamp.name.as_str());
    let listed = groups.flat_map(|group| &group.stamps).map(|stamp| stamp.name.as_str());
    let known: Vec<&str> = listed.chain(own).collect();
    for name in names.into_iter().filter(|name| !known.contains(&name.as_str())) {
        let meant = nearest::suggestion(name.as_str(), known.iter().copied());
        out::notice(format_args!(
            "warning: the catalogue has no Stamp {name}{meant}; that is fine for a Stamp that you sign yourself"
        ));
    }
    Ok(())
}

/// True if any score was stale.
async fn rescore(app: &App, actor: &Actor, id: ScorerId, as_json: bool) -> Result<bool> {
    let found = scorers::progress(&app.scoring.db, actor.workspace, id, app.scoring.now()).await?;
    let done = if found.outdated == 0 {
        0
    } else {
        if found.running {
            tracing::warn!("another process is computing these scores; waiting to compute the rest");
        }
        let bar = out::progress_to("scores", u64::try_from(found.outdated).unwrap_or(0));
        let done = Box::pin(scorers::rescore(&app.scoring, actor, id, |done| bar.set_position(done))).await?;
        bar.finish_and_clear();
        done
    };
    if as_json {
        out::json(&json!({ "scorer_id": id, "stored": found.stored, "rescored": done }));
    } else if found.unscored > 0 {
        // Open to votes: addresses without a stored score get one.
        out::line(format_args!(
            "computed {}; {} had none before",
            out::count_noun(done, "score"),
            out::count_noun(found.unscored, "address")
        ));
    } else {
        out::line(format_args!("recomputed {done} of {}", out::count_noun(found.stored, "stored score")));
    }
    Ok(done > 0)
}

fn print(as_json: bool, scorer: &Scorer) {
    let Scorer { id, name, terms, scheduled, created_at } = scorer;
    let change = |change: &ScheduledChange| {
        json!({
            "id": change.id, "effective_from": change.effective_from.to_rfc3339(),
            "threshold": change.threshold, "weights": change.weights,
            "keep_until_expiry": change.keep_until_expiry, "created_by": change.created_by,
        })
    };
    let kept = |kept: &KeptWeight| {
        json!({
            "stamp": kept.provider, "weight": kept.weight, "issued_before": kept.issued_before.to_rfc3339(),
        })
    };
    if as_json {
        return out::json(&json!({
            "id": id, "name": name, "threshold": terms.threshold, "revision": terms.revision,
            "weights": terms.weights, "created_at": created_at.to_rfc3339(),
            "kept_weights": terms.kept.iter().map(kept).collect::<Vec<_>>(),
            "scheduled_changes": scheduled.iter().map(change).collect::<Vec<_>>(),
        }));
    }
    let (threshold, revision) = (terms.threshold, terms.revision);
    out::line(format_args!("scorer {id}: {name}, passes at {threshold}, revision {revision}"));
    let rows: Vec<Value> =
        terms.weights.iter().map(|(name, weight)| json!({ "stamp": name, "weight": weight })).collect();
    out::table(false, &["weight", "stamp"], &rows);
    for KeptWeight { provider, weight, issued_before } in &terms.kept {
        let before = issued_before.to_rfc3339();
        out::line(format_args!("issued before {before}: {provider} keeps {weight} until it expires"));
    }
    for change in scheduled {
        let ScheduledChange { id, effective_from, threshold, weights, keep_until_expiry, .. } = change;
        let threshold = threshold.map_or(String::new(), |threshold| format!(", passes at {threshold}"));
        let weights = weights
            .as_ref()
            .map_or(String::new(), |new| format!(", {}", out::count_noun(new.len(), "weight")));
        let kept = if *keep_until_expiry { ", holders keep lowered weights until expiry" } else { "" };
        out::line(format_args!(
            "from {}: change {id}{threshold}{weights}{kept}",
            effective_from.to_rfc3339()
        ));
    }
}
