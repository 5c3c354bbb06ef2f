//! Suspected groups as files: members and evidence as CSV, members and transfers as GraphML.

use std::fmt::Write;

use bytes::Bytes;
use futures_util::{Stream, stream};
use pyxis_core::address::EvmAddress;
use pyxis_models::clusters::{ClusterMember, Group, GroupExtent, SharedCounterparty};
use pyxis_store::{Store, models};

use super::{Error, Result};
use crate::models::whole_group;
use crate::tabular::{ColumnKind, TableCell, TableColumn, TableFormat, TableWriter};

/// Format of a file of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterFormat {
    /// A line for each member.
    Csv,
    /// A node for each member and common address, an edge for each pair that transferred.
    GraphMl,
}

impl ClusterFormat {
    /// The format of this name: `csv` or `graphml`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "graphml" => Some(Self::GraphMl),
            _ => None,
        }
    }

    /// Name, which is also the extension of files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::GraphMl => "graphml",
        }
    }

    /// Media type.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Csv => TableFormat::Csv.content_type(),
            Self::GraphMl => "application/graphml+xml",
        }
    }
}

/// All suspected groups with all their members, group by group. A failure midway is the last item.
pub fn export(
    store: Store,
    format: ClusterFormat,
) -> Result<impl Stream<Item = Result<Bytes>> + Send + use<>> {
    let writer = match format {
        ClusterFormat::Csv => {
            Writer::Table(TableWriter::new(TableFormat::Csv, columns()).map_err(Error::internal)?)
        }
        ClusterFormat::GraphMl => Writer::Graph(HEAD.to_owned()),
    };
    Ok(stream::try_unfold(Some((store, writer, 1)), |place| async move {
        let Some((store, mut writer, from)) = place else { return Ok(None) };
        let Some(row) = models::next_group(&store, from).await? else {
            return Ok(Some((writer.finish()?, None)));
        };
        let next = row.position + 1;
        let (group, extent) = whole_group(&row).map_err(Error::internal)?;
        let piece = writer.group(row.position, &group, &extent)?;
        Ok(Some((piece, Some((store, writer, next)))))
    }))
}

enum Writer {
    Table(TableWriter),
    /// The start of the document, until it is written.
    Graph(String),
}

impl Writer {
    fn group(&mut self, position: i64, group: &Group, extent: &GroupExtent) -> Result<Bytes> {
        match self {
            Self::Table(table) => {
                let rows: Vec<Vec<TableCell>> =
                    extent.members.iter().map(|member| line(group, member)).collect();
                table.rows(&rows).map_err(Error::internal)
            }
            Self::Graph(head) => {
                let mut text = std::mem::take(head);
                // Writing to a String does not fail.
                let _ = graph(&mut text, position, group, extent);
                Ok(Bytes::from(text))
            }
        }
    }

    fn finish(self) -> Result<Bytes> {
        match self {
            Self::Table(table) => table.finish().map_err(Error::internal),
            Self::Graph(head) => Ok(Bytes::from(head + "  </graph>\n</graphml>\n")),
        }
    }
}

fn columns() -> Vec<TableColumn> {
    use ColumnKind::{Number, Text, Whole};
    let all = [
        ("cluster", Text),
        ("address", Text),
        ("score", Number),
        ("cluster_users", Whole),
        ("cluster_median_score", Number),
        ("shared_funder", Text),
        ("funded", Whole),
        ("shared_sink", Text),
        ("collected", Whole),
        ("same_day", Whole),
        ("transfers_within", Whole),
    ];
    all.into_iter().map(|(name, kind)| TableColumn::new(name, kind)).collect()
}

fn line(group: &Group, member: &ClusterMember) -> Vec<TableCell> {
    let address = |shared: &Option<SharedCounterparty>| {
        TableCell::text(shared.as_ref().map(|shared| shared.address.to_string()))
    };
    let members = |shared: &Option<SharedCounterparty>| {
        shared.as_ref().map_or(TableCell::Empty, |shared| integer_cell(shared.members))
    };
    vec![
        TableCell::Text(group.id.to_string()),
        TableCell::Text(member.address.to_string()),
        member.score.map_or(TableCell::Empty, TableCell::Number),
        integer_cell(group.size),
        TableCell::Number(group.median_score),
        address(&group.shared_funder),
        members(&group.shared_funder),
        address(&group.shared_sink),
        members(&group.shared_sink),
        integer_cell(group.same_day),
        integer_cell(group.transfers_within),
    ]
}

fn integer_cell(number: usize) -> TableCell {
    TableCell::Whole(i64::try_from(number).unwrap_or(i64::MAX))
}

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="cluster" for="node" attr.name="cluster" attr.type="string"/>
  <key id="address" for="node" attr.name="address" attr.type="string"/>
  <key id="role" for="node" attr.name="role" attr.type="string"/>
  <key id="score" for="node" attr.name="score" attr.type="double"/>
  <key id="kind" for="edge" attr.name="kind" attr.type="string"/>
  <graph id="clusters" edgedefault="directed">
"#;

/// Nodes and edges of a group. Names of nodes start with the group's position, because groups may share a funder.
/// Edges to common addresses are known of the members that are drawn.
fn graph(text: &mut String, position: i64, group: &Group, extent: &GroupExtent) -> std::fmt::Result {
    for (place, member) in extent.members.iter().enumerate() {
        node(text, &format!("g{position}.m{place}"), group, member.address, "member", member.score)?;
    }
    let shared = [("funder", &group.shared_funder), ("sink", &group.shared_sink)];
    for (role, shared) in shared.iter().filter_map(|(role, shared)| Some((role, shared.as_ref()?))) {
        node(text, &format!("g{position}.{role}"), group, shared.address, role, None)?;
    }
    for (from, to) in &extent.links {
        edge(text, &format!("g{position}.m{from}"), &format!("g{position}.m{to}"), "transfer")?;
    }
    if let Some(funder) = &group.shared_funder {
        for member in funder.who.iter().filter(|member| **member < extent.members.len()) {
            edge(text, &format!("g{position}.funder"), &format!("g{position}.m{member}"), "funded")?;
        }
    }
    if let Some(sink) = &group.shared_sink {
        for member in sink.who.iter().filter(|member| **member < extent.members.len()) {
            edge(text, &format!("g{position}.m{member}"), &format!("g{position}.sink"), "collected")?;
        }
    }
    Ok(())
}

/// Every value is an address, a number or a word of this file, so nothing is to be escaped.
fn node(
    text: &mut String,
    id: &str,
    group: &Group,
    address: EvmAddress,
    role: &str,
    score: Option<f64>,
) -> std::fmt::Result {
    write!(text, "    <node id=\"{id}\"><data key=\"cluster\">{}</data>", group.id)?;
    write!(text, "<data key=\"address\">{address}</data><data key=\"role\">{role}</data>")?;
    if let Some(score) = score {
        write!(text, "<data key=\"score\">{score}</data>")?;
    }
    writeln!(text, "</node>")
}

fn edge(text: &mut String, from: &str, to: &str, kind: &str) -> std::fmt::Result {
    writeln!(text, "    <edge source=\"{from}\" target=\"{to}\"><data key=\"kind\">{kind}</data></edge>")
}
