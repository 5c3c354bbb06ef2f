//! PostgreSQL's plans of the same statements, for tables large enough to matter.

use pyxis_testkit::postgres::Database;

use super::statements;
use crate::{Engine, OpenOptions, Store};

/// Fills every table, with rows of one workspace, network and kind and of a hundred scorers. References and meaningful
/// values do not matter for a plan.
const FILL: &str = "
    SET session_replication_role = replica;
    DO $$ DECLARE one record; BEGIN
        FOR one IN SELECT conrelid::regclass AS tab, conname FROM pg_constraint
            WHERE contype = 'c' AND connamespace = 'public'::regnamespace
        LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', one.tab, one.conname); END LOOP;
        FOR one IN SELECT attrelid::regclass AS tab, string_agg(quote_ident(attname), ', ') AS columns,
            string_agg(CASE
                WHEN attname IN ('workspace_id', 'network', 'kind') THEN '1'
                WHEN attname = 'scorer_id' THEN 'n % 100'
                WHEN atttypid = 'bytea'::regtype THEN 'sha256(n::text::bytea)'
                WHEN atttypid = 'boolean'::regtype THEN 'false'
                ELSE 'n' END, ', ') AS vals
            FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
            WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
                AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
            GROUP BY attrelid
        LOOP EXECUTE format('INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM generate_series(1, 20000) n '
            'ON CONFLICT DO NOTHING', one.tab, one.columns, one.vals); END LOOP;
    END $$;
    ANALYZE";

/// The generic plan, which serves every call of a statement.
async fn plan(database: &Database, text: &str) -> Vec<String> {
    let parameters = (1..100).filter(|number| text.contains(&format!("${number}"))).count();
    let nothing = vec!["NULL"; parameters].join(", ");
    let generic = "SET plan_cache_mode = force_generic_plan";
    database.run(&format!("{generic}; PREPARE asked AS {text}; EXPLAIN EXECUTE asked({nothing})")).await
}

/// Number of rows that PostgreSQL expects from a step, out of 20,000.
fn expected_rows(step: &str) -> Option<u64> {
    let (_, rows) = step.split_once(" rows=")?;
    rows.split_once(' ')?.0.parse().ok()
}

/// True if a plan finds the requested rows through an index and reads little else.
fn is_quick(steps: &[String]) -> bool {
    let having = |part: &str| steps.iter().filter(|step| step.contains(part)).count();
    let through_indexes = having("Index Scan") + having("Index Only Scan");
    // A full index scan has no condition. A page in index order ends with the page.
    let page = steps[0].starts_with("Limit") && having("Sort") == 0;
    let few = |step: &String| expected_rows(step).is_none_or(|rows| rows <= 2000);
    having("Seq Scan") == 0
        && through_indexes > 0
        && having("Index Cond:") == through_indexes
        && (page || steps.iter().all(few))
}

#[tokio::test]
async fn no_statement_that_a_request_waits_for_scans_a_table_in_postgres() {
    let database = Database::migrated("plans").await;
    let store = Store::open(&OpenOptions::new(database.url())).unwrap();
    store.migrate().await.unwrap();
    database.run(FILL).await;
    let statements = statements(Engine::Postgres).await;
    assert_eq!(statements.len(), 44);
    let mut slow = Vec::new();
    for text in statements {
        let steps = plan(&database, &text).await;
        if !is_quick(&steps) {
            slow.push(format!("{text}\n{steps:#?}"));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

#[tokio::test]
async fn no_list_of_tasks_scans_a_table_in_postgres() {
    let database = Database::migrated("task_plans").await;
    let store = Store::open(&OpenOptions::new(database.url())).unwrap();
    store.migrate().await.unwrap();
    database.run(FILL).await;
    for text in super::tasks::statements(Engine::Postgres).await {
        let steps = plan(&database, &text).await;
        assert!(!steps.iter().any(|step| step.contains("Seq Scan")), "{text}\n{steps:#?}");
    }
}
