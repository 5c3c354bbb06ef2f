//! `pyxis allow-list`.

use std::process::ExitCode;

use anyhow::Result;
use pyxis_core::address::EvmAddress;
use pyxis_core::stamp::StampName;
use pyxis_gateway::Actor;
use pyxis_scoring::State;
use pyxis_scoring::service::allow_lists::{self, AllowList, ListChange, MAX_CHANGED};
use pyxis_scoring::service::own_stamps::OwnStampInput;
use pyxis_scoring::service::stamp_signing::Holder;
use serde_json::{Value, json};

use super::confirm::confirm;
use super::{NOTHING_TO_DO, acting, address_file, out, stamp_signing};
use crate::cli::{AddressOptions, AllowListCommand, Global, OwnStampOptions};

/// Addresses that are printed from one read.
const PAGE: u32 = 10_000;

pub(super) async fn run(global: &Global, command: AllowListCommand) -> Result<ExitCode> {
    let (app, actor) = acting(global).await?;
    let state = &app.scoring;
    let changed = match command {
        AllowListCommand::Create { name, options } => {
            let list = allow_lists::create(state, &actor, input(name.get()?, options)).await?;
            let name = &list.row.provider;
            out::outcome(
                global.json,
                &allow_list_json(&list),
                format_args!("{name} added; its list is empty"),
            );
            true
        }
        AllowListCommand::List => {
            let lists = allow_lists::list(&state.store, &actor).await?;
            let rows: Vec<Value> = lists.iter().map(allow_list_json).collect();
            out::list(global.json, "allow lists", COLUMNS, &rows);
            true
        }
        AllowListCommand::Show { name, addresses: false } => {
            let list = allow_lists::get(&state.store, &actor, &name.get()?).await?;
            if global.json {
                out::json(&allow_list_json(&list));
            } else {
                out::table(false, COLUMNS, &[allow_list_json(&list)]);
            }
            true
        }
        AllowListCommand::Show { name, addresses: true } => {
            print_addresses(state, &actor, &name.get()?).await?;
            true
        }
        AllowListCommand::Add { name, addresses, nullifiers } => {
            let (name, first) = name.split()?;
            let addresses = addresses.after(first)?;
            let mut total = ListChange { changed: 0, withdrawn: 0 };
            for part in holders(addresses, nullifiers)?.chunks(MAX_CHANGED) {
                total.changed += allow_lists::add(state, &actor, &name, part).await?.changed;
            }
            print(global.json, &name, "added", total)
        }
        AllowListCommand::Remove { name, addresses, confirmation } => {
            let (name, first) = name.split()?;
            let addresses = read(addresses.after(first)?)?;
            let mut total = ListChange { changed: 0, withdrawn: 0 };
            allow_lists::get(&state.store, &actor, &name).await?;
            let count = out::count_noun(addresses.len(), "address");
            confirm(confirmation, &format!("remove {count} from {name} and withdraw their Stamps"))?;
            for part in addresses.chunks(MAX_CHANGED) {
                let done = allow_lists::remove(state, &actor, &name, part).await?;
                total.changed += done.changed;
                total.withdrawn += done.withdrawn;
            }
            print(global.json, &name, "removed", total)
        }
        AllowListCommand::Delete { name, confirmation } => {
            let name = name.get()?;
            allow_lists::get(&state.store, &actor, &name).await?;
            confirm(confirmation, &format!("delete the list {name} and withdraw its Stamps"))?;
            let done = allow_lists::delete(state, &actor, &name).await?;
            print(global.json, &name, "removed", done);
            true
        }
    };
    app.gateway.audit.stop().await?;
    Ok(if changed { ExitCode::SUCCESS } else { ExitCode::from(NOTHING_TO_DO) })
}

const COLUMNS: &[&str] = &["name", "addresses", "issued", "valid_days", "description", "created_at"];

fn allow_list_json(list: &AllowList) -> Value {
    json!({
        "name": list.row.provider,
        "description": list.row.description,
        "valid_days": list.row.valid_days,
        "addresses": list.addresses,
        "issued": list.issued,
        "created_at": list.row.created_at.to_rfc3339(),
    })
}

/// Settings of an own Stamp.
pub(super) fn input(name: StampName, options: OwnStampOptions) -> OwnStampInput {
    OwnStampInput {
        description: options.description.unwrap_or_else(|| name.to_string()),
        name,
        valid_days: options.valid_days,
        weight: options.scorer.zip(options.weight),
    }
}

fn read(options: AddressOptions) -> Result<Vec<EvmAddress>> {
    match options.file {
        Some(file) => Ok(address_file::read(&file)?.into_iter().map(|line| line.address).collect()),
        None => Ok(options.addresses),
    }
}

fn plain(address: EvmAddress) -> Holder {
    Holder { address, nullifiers: Vec::new() }
}

/// The addresses with their nullifiers, if the file has some.
fn holders(options: AddressOptions, with_nullifiers: bool) -> Result<Vec<Holder>> {
    match options.file {
        Some(file) if with_nullifiers => stamp_signing::holders(address_file::read(&file)?),
        Some(file) => {
            let found = address_file::read_file(&file)?;
            if found.check_without_nullifiers()? {
                out::notice("warning: only the column of addresses is read; --nullifiers reads the others");
            }
            Ok(found.lines.into_iter().map(|line| plain(line.address)).collect())
        }
        None => Ok(options.addresses.into_iter().map(plain).collect()),
    }
}

/// Prints a change; true if there was any.
fn print(as_json: bool, name: &StampName, done: &str, change: ListChange) -> bool {
    let ListChange { changed, withdrawn } = change;
    let value = json!({ "name": name, "changed": changed, "withdrawn": withdrawn });
    let (addresses, stamps) = (out::count_noun(changed, "address"), out::count_noun(withdrawn, "Stamp"));
    let text = format!("{name}: {addresses} {done}, {stamps} withdrawn");
    out::outcome(as_json, &value, text);
    changed > 0
}

async fn print_addresses(state: &State, actor: &Actor, name: &StampName) -> Result<()> {
    let mut after = None;
    loop {
        let page = allow_lists::addresses(&state.store, actor, name, after, PAGE).await?;
        for row in &page {
            out::line(row.address);
        }
        match page.last() {
            Some(last) if page.len() >= PAGE as usize => after = Some(last.address),
            _ => return Ok(()),
        }
    }
}
