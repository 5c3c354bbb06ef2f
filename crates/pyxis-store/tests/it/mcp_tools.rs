//! Tools of MCP servers: what a server offers now, and what a person allowed.

use pyxis_core::id::CredentialId;
use pyxis_store::mcp_tools::{self, McpToolRow, ToolMode};
use pyxis_store::{credentials, generations};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_credential};

async fn see(main: &Workspace, credential: CredentialId, fingerprint: &str) {
    let tool = ("search", fingerprint, "{}");
    mcp_tools::see(&main.store, main.id, credential, tool, NOW).await.unwrap();
}

async fn miss(main: &Workspace, credential: CredentialId) {
    let mut tx = main.store.begin().await.unwrap();
    mcp_tools::miss(&mut tx, main.id, credential, "search").await.unwrap();
    tx.commit().await.unwrap();
}

async fn search(main: &Workspace, credential: CredentialId) -> McpToolRow {
    mcp_tools::find(&main.store, main.id, credential, "search").await.unwrap().unwrap()
}

engines! {
    async fn a_permission_is_of_the_definition_that_was_read(main: &Workspace) {
        let credential = add_credential(main, "docs").await;
        see(main, credential, "one").await;
        let new = search(main, credential).await;
        assert_eq!((new.mode, new.has_changed(), new.offered), (ToolMode::Ask, false, true));
        let set = async |fingerprint: &str| {
            mcp_tools::set_mode(&main.store, main.id, credential, "search", fingerprint, ToolMode::Pass).await.unwrap()
        };
        assert!(!set("two").await, "nobody read that definition");
        assert!(set("one").await);
        assert!(!search(main, credential).await.has_changed());
        see(main, credential, "two").await;
        let changed = search(main, credential).await;
        assert_eq!((changed.mode, changed.has_changed()), (ToolMode::Pass, true));
        assert!(set("two").await);
        assert!(!search(main, credential).await.has_changed());
    }

    async fn a_tool_that_is_gone_keeps_its_permission_until_its_credential_goes(main: &Workspace) {
        let credential = add_credential(main, "docs").await;
        see(main, credential, "one").await;
        mcp_tools::set_mode(&main.store, main.id, credential, "search", "one", ToolMode::Deny).await.unwrap();
        miss(main, credential).await;
        let gone = search(main, credential).await;
        assert_eq!((gone.mode, gone.offered), (ToolMode::Deny, false));
        credentials::remove(&main.store, main.id, credential).await.unwrap();
        assert!(mcp_tools::list(&main.store, main.id, credential).await.unwrap().is_empty());
    }

    async fn a_tool_that_is_gone_before_anyone_decided_about_it_is_deleted(main: &Workspace) {
        let credential = add_credential(main, "docs").await;
        see(main, credential, "one").await;
        miss(main, credential).await;
        assert!(mcp_tools::list(&main.store, main.id, credential).await.unwrap().is_empty());
        see(main, credential, "one").await;
        mcp_tools::set_mode(&main.store, main.id, credential, "search", "one", ToolMode::Ask).await.unwrap();
        miss(main, credential).await;
        assert!(!search(main, credential).await.offered, "the default is a decision, too, if a person made it");
    }

    async fn every_change_of_a_tool_raises_the_generation(main: &Workspace) {
        let credential = add_credential(main, "docs").await;
        let mut before = generations::read(&main.store).await.unwrap();
        let mut raised = async || {
            let now = generations::read(&main.store).await.unwrap();
            std::mem::replace(&mut before, now) < now
        };
        see(main, credential, "one").await;
        assert!(raised().await);
        see(main, credential, "two").await;
        assert!(raised().await);
        mcp_tools::set_mode(&main.store, main.id, credential, "search", "two", ToolMode::Pass).await.unwrap();
        assert!(raised().await);
        miss(main, credential).await;
        assert!(raised().await);
        mcp_tools::clear(&main.store, main.id, credential).await.unwrap();
        assert!(raised().await);
        assert!(!raised().await);
    }
}
