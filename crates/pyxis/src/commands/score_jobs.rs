//! `pyxis score-job`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use futures_util::stream;
use pyxis_core::id::ScoreJobId;
use pyxis_gateway::Actor;
use pyxis_scoring::jobs;
use pyxis_scoring::service::score_jobs::{self, Rows, ScoreJobRow, ScoreJobState};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::sync::watch;

use super::confirm::confirm;
use super::{NOTHING_TO_DO, acting, out, scorers, streamed};
use crate::app::App;
use crate::cli::{CreateJob, Download, Global, ScoreJobCommand};

/// Bytes read from a file at once.
const PIECE: usize = 1 << 16;
/// Interval between two looks at the progress of a job.
const LOOK: Duration = Duration::from_secs(1);
const COLUMNS: [&str; 9] =
    ["id", "name", "scorer", "state", "rows", "scored", "failed", "retryable", "created_at"];

pub(super) async fn run(global: &Global, command: ScoreJobCommand) -> Result<ExitCode> {
    let (app, actor) = acting(global).await?;
    let state = &app.scoring;
    let changed = match command {
        ScoreJobCommand::Create(wanted) => {
            Box::pin(create(&app, &actor, global.json, &wanted)).await?;
            true
        }
        ScoreJobCommand::List => {
            list(&app, &actor, global.json).await?;
            true
        }
        ScoreJobCommand::Show { id } => {
            print(global.json, &score_jobs::find(&state.store, actor.workspace, id).await?);
            true
        }
        ScoreJobCommand::Run => run_waiting(&app, global.json).await?,
        ScoreJobCommand::Cancel { id } => {
            let job = score_jobs::find(&state.store, actor.workspace, id).await?;
            let open = matches!(job.state, ScoreJobState::Queued | ScoreJobState::Running);
            if open {
                print(global.json, &score_jobs::cancel(state, &actor, id).await?);
            } else {
                out::notice(format_args!("job {id} has already ended"));
            }
            open
        }
        ScoreJobCommand::Retry { id } => {
            print(global.json, &score_jobs::retry(state, &actor, id).await?);
            true
        }
        ScoreJobCommand::Download(wanted) => {
            let rows = if wanted.failed { Rows::Failed } else { Rows::All };
            let Download { id, out: file, format, .. } = wanted;
            streamed::check_output(&file)?;
            download(&app, &actor, global.json, id, rows, format.as_deref(), &file).await?;
            true
        }
        ScoreJobCommand::Remove { id, confirmation } => {
            score_jobs::find(&state.store, actor.workspace, id).await?;
            confirm(confirmation, &format!("remove the job {id} and its results"))?;
            score_jobs::remove(&state.store, &state.audited, &actor, id).await?;
            out::outcome(global.json, &json!({ "removed": id }), format_args!("removed {id}"));
            true
        }
    };
    app.gateway.audit.stop().await?;
    Ok(if changed { ExitCode::SUCCESS } else { ExitCode::from(NOTHING_TO_DO) })
}

async fn create(app: &App, actor: &Actor, as_json: bool, wanted: &CreateJob) -> Result<()> {
    let CreateJob { file, scorer, .. } = wanted;
    if let Some(results) = &wanted.out {
        streamed::check_output(results)?;
    }
    scorers::check_known(app, actor, *scorer).await?;
    let of_file = || file.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = wanted.name.clone().or_else(of_file).unwrap_or_else(|| "addresses".to_owned());
    let source =
        tokio::fs::File::open(file).await.with_context(|| format!("cannot read {}", file.display()))?;
    let pieces = stream::try_unfold(source, |mut source| async move {
        let mut piece = Vec::with_capacity(PIECE);
        let length = source.read_buf(&mut piece).await?;
        Ok::<_, std::io::Error>((length > 0).then(|| (Bytes::from(piece), source)))
    });
    let job = score_jobs::create(&app.scoring, actor, *scorer, &name, pieces).await?;
    let Some(results) = &wanted.out else {
        print(as_json, &job);
        return Ok(());
    };
    let done = Box::pin(wait_until_ended(app, actor, job)).await?;
    if done.state != ScoreJobState::Done {
        let why = done.problem.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        bail!("job {} is {}{why}", done.id, done.state.as_str());
    }
    download(app, actor, as_json, done.id, Rows::All, wanted.format.as_deref(), results).await?;
    if done.failed > 0 {
        out::notice(format_args!(
            "warning: {} of {} failed; their column error says why",
            done.failed,
            out::count_noun(done.total, "row")
        ));
    }
    Ok(())
}

/// Waits until a job has ended, and runs it here while no one else does.
async fn wait_until_ended(app: &App, actor: &Actor, job: ScoreJobRow) -> Result<ScoreJobRow> {
    let bar = out::progress_to("scored", u64::try_from(job.total).unwrap_or(0));
    let (_running, mut stop) = watch::channel(false);
    loop {
        let found = score_jobs::find(&app.store, actor.workspace, job.id).await?;
        if !matches!(found.state, ScoreJobState::Queued | ScoreJobState::Running) {
            bar.finish_and_clear();
            return Ok(found);
        }
        let mut running = std::pin::pin!(jobs::run_one(&app.scoring, Some(job.id), &mut stop));
        let ended = loop {
            tokio::select! {
                ended = &mut running => break ended?,
                () = tokio::time::sleep(LOOK) => {}
            }
            let now = score_jobs::find(&app.store, actor.workspace, job.id).await?;
            bar.set_position(u64::try_from(now.scored + now.failed).unwrap_or(0));
        };
        if ended.is_none() {
            bar.set_position(u64::try_from(found.scored + found.failed).unwrap_or(0));
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// True if there was any.
async fn run_waiting(app: &App, as_json: bool) -> Result<bool> {
    let (_running, mut stop) = watch::channel(false);
    let mut ended = 0_u64;
    while jobs::run_one(&app.scoring, None, &mut stop).await?.is_some() {
        ended += 1;
    }
    if ended > 0 {
        out::outcome(
            as_json,
            &json!({ "jobs": ended }),
            format_args!("{} ended", out::count_noun(ended, "job")),
        );
    } else {
        out::notice("no job is waiting");
    }
    Ok(ended > 0)
}

async fn list(app: &App, actor: &Actor, as_json: bool) -> Result<()> {
    let (mut rows, mut before) = (Vec::new(), None);
    loop {
        let page = score_jobs::list(&app.store, actor.workspace, before, score_jobs::PAGE).await?;
        let Some(last) = page.last() else { break };
        before = Some(last.id);
        rows.extend(page.iter().map(job_json));
    }
    out::list(as_json, "score jobs", &COLUMNS, &rows);
    Ok(())
}

async fn download(
    app: &App,
    actor: &Actor,
    as_json: bool,
    id: ScoreJobId,
    rows: Rows,
    format: Option<&str>,
    file: &Path,
) -> Result<()> {
    let format = streamed::table_format(format, file);
    let pieces =
        score_jobs::download(&app.scoring.store, &app.scoring.audited, actor, id, rows, format).await?;
    let bytes = streamed::write(pieces, file).await?;
    streamed::print_result(as_json, file, bytes);
    Ok(())
}

fn print(as_json: bool, job: &ScoreJobRow) {
    let ScoreJobRow { id, total, scored, failed, .. } = job;
    let problem = job.problem.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
    let (state, rows) = (job.state.as_str(), out::count_noun(*total, "row"));
    let words = format_args!("{id}: {state}{problem}, {rows}, {scored} scored, {failed} failed");
    out::outcome(as_json, &job_json(job), words);
}

fn job_json(job: &ScoreJobRow) -> Value {
    json!({
        "id": job.id,
        "name": job.name,
        "scorer": job.scorer_id,
        "state": job.state.as_str(),
        "rows": job.total,
        "scored": job.scored,
        "failed": job.failed,
        "retryable": job.retryable,
        "created_at": job.created_at.to_rfc3339(),
        "problem": job.problem,
    })
}
