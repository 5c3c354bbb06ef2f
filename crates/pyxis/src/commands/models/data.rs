//! Labels and activity from files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use pyxis_core::address::EvmAddress;
use pyxis_core::entries::NAMED;
use pyxis_models::activity_reader::{self, Reader};
use pyxis_models::graph::{Builder, Graph};
use pyxis_scoring::activity;

use crate::app::App;

pub(super) fn labels(path: &Path) -> Result<Vec<(EvmAddress, bool)>> {
    let context = || format!("cannot read {}", path.display());
    activity_reader::labels(activity_reader::open(path).with_context(context)?).with_context(context)
}

/// The activity in files, or the imported one.
pub(super) async fn graph(app: &App, paths: &[PathBuf]) -> Result<Graph> {
    if paths.is_empty() {
        return Ok(activity::graph(&app.store).await?);
    }
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(files_in(path)?);
        } else {
            files.push(path.clone());
        }
    }
    tokio::task::spawn_blocking(move || {
        let mut builder = Builder::default();
        for file in files {
            let context = || format!("cannot read {}", file.display());
            read(&file, &mut builder).with_context(context)?;
        }
        Ok(builder.build())
    })
    .await?
}

fn read(file: &Path, into: &mut Builder) -> Result<()> {
    let mut refused = Vec::new();
    let reader = Reader::open(file, Arc::default())?;
    let first = reader.heading() + 1;
    for (number, line) in (first..).zip(reader) {
        match line? {
            Ok(record) => into.add_record(record),
            Err(why) => refused.push(format!("line {number}: {why}")),
        }
        if refused.len() == NAMED {
            break;
        }
    }
    if refused.is_empty() { Ok(()) } else { bail!("{}", refused.join("; ")) }
}

/// Activity files in a directory, by name. Files with other columns, such as labels, are skipped.
fn files_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in
        std::fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?
    {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let unpacked = name.strip_suffix(".gz").unwrap_or(&name);
        let extension = Path::new(unpacked).extension();
        let may_be = extension.is_some_and(|extension| extension == "csv" || extension == "parquet");
        if may_be && Reader::open(&path, Arc::default()).is_ok() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("{} has no activity files (.csv, .csv.gz or .parquet)", directory.display());
    }
    Ok(files)
}
