//! A registered chat platform is everywhere: in the settings, policies, the API description and the documents
//! (`docs/guides/add-a-chat-platform.md`).

use std::path::Path;

use pyxis::config::keys;
use pyxis::openapi::document;
use pyxis_core::approval_mode::Channel;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::policy::Policy;
use pyxis_gateway::channels::PLATFORMS;
use serde_json::{Value, json};

#[test]
fn the_settings_of_every_platform_can_be_set() {
    for key in PLATFORMS.iter().flat_map(|described| described.settings) {
        assert_eq!(keys::default(key.name), Some(key.default), "{}", key.name);
    }
}

#[test]
fn a_policy_announces_on_every_platform_and_names_a_room_there() {
    for platform in ChatPlatform::ALL {
        let spec = platform.spec();
        let written = json!({ "channel": spec.channel, spec.room_field: "a-room" }).to_string();
        let policy = Policy::from_json(written.as_bytes()).unwrap();
        assert_eq!(policy.channel, Channel::Chat(*platform));
        assert_eq!(policy.rooms.iter().collect::<Vec<_>>(), [(*platform, "a-room")]);
        let stored = serde_json::to_value(&policy).unwrap();
        for other in ChatPlatform::ALL {
            let room = if other == platform { json!("a-room") } else { Value::Null };
            assert_eq!(stored[other.spec().room_field], room);
        }
    }
}

#[test]
fn the_api_description_has_the_channel_and_the_room_of_every_platform() {
    let document = document("https://pyxis.example.org").unwrap();
    let schemas = &document["components"]["schemas"];
    let has = |list: &Value, name: &str| list.as_array().unwrap().contains(&json!(name));
    for spec in ChatPlatform::ALL.iter().map(|platform| platform.spec()) {
        assert!(has(&schemas["Channel"]["enum"], spec.channel), "{}", spec.channel);
        assert!(schemas["Policy"]["properties"][spec.room_field].is_object(), "{}", spec.room_field);
    }
}

#[test]
fn the_page_about_notifications_has_every_platform() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/notifications.md");
    let page = std::fs::read_to_string(path).unwrap();
    for spec in ChatPlatform::ALL.iter().map(|platform| platform.spec()) {
        let named = format!(" | `{}` | `{}` | `{}` | ", spec.name, spec.channel, spec.room_field);
        assert!(page.contains(&named), "the table of platforms lacks {named}");
        assert!(page.contains(&format!("\n## {}\n", spec.label)), "there is no section about {}", spec.label);
        assert!(page.contains(&format!("\n| {} |", spec.label)), "the table of brands lacks {}", spec.label);
    }
}
