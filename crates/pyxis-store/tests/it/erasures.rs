//! The list of columns with addresses, which erasure follows.

use pyxis_store::erasures::ADDRESS_COLUMNS;
use pyxis_testkit::engines;

use crate::support::{Workspace, query_strings};

/// Columns whose names look like those of an address, and are not.
const OTHERS: &[&str] = &[
    "announcements.recipient",
    "chat_messages.recipient",
    "leases.holder",
    "score_jobs.holder",
    "task_announcements.recipient",
    "task_messages.recipient",
];

/// Every column of the schema, as `table.column`.
async fn columns(main: &Workspace) -> Vec<String> {
    let query = if main.database.file().is_some() {
        "SELECT m.name || '.' || p.name FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.type = 'table'"
    } else {
        "SELECT table_name || '.' || column_name FROM information_schema.columns \
         WHERE table_schema = current_schema()"
    };
    query_strings(main, query).await
}

fn is_address(column: &str) -> bool {
    let name = column.split_once('.').map_or(column, |(_, name)| name);
    ["address", "wallet", "holder", "subject", "recipient"].iter().any(|word| name.contains(word))
}

engines! {
    async fn every_column_with_an_address_is_named_for_erasure(main: &Workspace) {
        let columns = columns(main).await;
        let named: Vec<String> =
            ADDRESS_COLUMNS.iter().map(|one| format!("{}.{}", one.table, one.column)).collect();
        for column in columns.iter().filter(|column| is_address(column) && !OTHERS.contains(&column.as_str())) {
            assert!(
                named.contains(column),
                "{column} may hold an address: add it to ADDRESS_COLUMNS, so that erasure removes it"
            );
        }
        for column in &named {
            assert!(columns.contains(column), "{column} is not in the schema");
        }
    }
}
