//! Files that a command writes piece by piece.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use pyxis_scoring::TableFormat;
use pyxis_scoring::service;
use serde_json::json;

use super::out;

/// The named format, or the one that the name of the file says.
pub(super) fn table_format(name: Option<&str>, file: &Path) -> TableFormat {
    let by_name = || file.extension().and_then(|extension| extension.to_str());
    name.or_else(by_name).and_then(TableFormat::from_name).unwrap_or(TableFormat::Csv)
}

/// Refuses a path where a file exists, or where none can be created. A pipe or a device may be written.
pub(super) fn check_output(path: &Path) -> Result<()> {
    if path == Path::new("-") {
        return Ok(());
    }
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {
            bail!("{} exists; name a new file, or remove this one first", path.display())
        }
        Ok(found) if found.is_dir() => bail!("{} is a directory; name a file in it", path.display()),
        Ok(_) => Ok(()),
        Err(_) => {
            let partial = partial(path);
            File::create(&partial).with_context(|| format!("cannot write {}", path.display()))?;
            fs::remove_file(&partial).with_context(|| format!("cannot write {}", path.display()))
        }
    }
}

/// Writes a file under another name first, so that a file of this name is always whole. Returns its length; `-` is
/// standard output. A path that is not a regular file, such as a pipe, is written directly.
pub(super) async fn write(pieces: impl Stream<Item = service::Result<Bytes>>, path: &Path) -> Result<u64> {
    if path == Path::new("-") {
        return copy(pieces, &mut std::io::stdout().lock()).await;
    }
    let context = || format!("cannot write {}", path.display());
    let special = fs::metadata(path).is_ok_and(|found| !found.is_file());
    let partial = if special { path.to_owned() } else { partial(path) };
    let mut file = BufWriter::new(File::create(&partial).with_context(context)?);
    let written = copy(pieces, &mut file).await;
    drop(file);
    if special {
        return written;
    }
    match written {
        Ok(length) => fs::rename(&partial, path).with_context(context).map(|()| length),
        Err(error) => {
            fs::remove_file(&partial).with_context(context)?;
            Err(error)
        }
    }
}

fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

async fn copy(pieces: impl Stream<Item = service::Result<Bytes>>, to: &mut dyn Write) -> Result<u64> {
    let mut pieces = std::pin::pin!(pieces);
    let mut length = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        to.write_all(&piece)?;
        length += piece.len() as u64;
    }
    to.flush()?;
    Ok(length)
}

/// Prints which file was written, unless it was standard output.
pub(super) fn print_result(as_json: bool, path: &Path, bytes: u64) {
    if path != Path::new("-") {
        let words = format_args!("{} in {}", out::count_noun(bytes, "byte"), path.display());
        out::outcome(as_json, &json!({ "file": path, "bytes": bytes }), words);
    }
}
