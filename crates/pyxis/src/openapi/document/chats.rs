//! Members that chat platforms add to the schemas: a channel each, and a room in policies.

use pyxis_core::approval_mode::Channel;
use pyxis_core::chat::ChatPlatform;
use serde_json::{Value, json};

/// Longest room, in bytes.
const ROOM_MAX: usize = 255;

/// Adds the members of every platform.
pub(super) fn add(document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    schemas["Channel"]["enum"] = Channel::all().map(Channel::as_str).collect();
    for platform in ChatPlatform::ALL {
        let spec = platform.spec();
        let meaning = format!("Overrides the default {} of `{}`.", spec.room_noun, spec.channel);
        let room = json!({ "type": ["string", "null"], "maxLength": ROOM_MAX, "description": meaning });
        schemas["Policy"]["properties"][spec.room_field] = room;
        let stored = &mut schemas["StoredPolicy"];
        stored["properties"][spec.room_field] = json!({ "type": ["string", "null"] });
        if let Some(required) = stored["required"].as_array_mut() {
            required.push(spec.room_field.into());
        }
    }
}
