//! The guide that connects programs to an agent's key.

use pyxis_core::agent_client::ALL;

use super::read;

/// The part of the guide about MCP.
fn chapter() -> String {
    let guide = read("docs/guides/connect-an-agent.md");
    let (_, chapter) = guide.split_once("\n## 6. Or connect it by MCP\n").expect("the chapter");
    chapter.split("\n## ").next().unwrap_or_default().to_owned()
}

#[test]
fn every_program_has_a_section_with_its_configuration_and_its_first_call() {
    let chapter = chapter();
    let mut sections = chapter.split("\n### ").skip(1);
    for client in ALL {
        let section = sections.next().unwrap_or_else(|| panic!("no section of {}", client.label));
        let (heading, text) = section.split_once('\n').unwrap();
        assert_eq!(heading, client.label, "sections are in the order of the list");
        let configuration = client.configuration("http://localhost:8700/mcp", "PX_AGENT_KEY");
        assert!(text.contains(configuration.trim_end()), "{}: another configuration", client.label);
        assert!(text.contains(&format!("`pyxis connect {}", client.name)), "{}: the command", client.label);
        let (_, call) =
            text.split_once("\nFirst call").unwrap_or_else(|| panic!("{}: no first call", client.label));
        assert!(call.contains("services"), "{}: the first call lists the services", client.label);
    }
    assert_eq!(sections.next(), None, "a section of a program that nobody can connect");
}
