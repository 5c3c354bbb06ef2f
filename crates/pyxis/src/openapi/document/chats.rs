//! Members that chat platforms add to the schemas: a room each in policies.

use pyxis_core::chat::ChatPlatform;
use serde_json::{Value, json};

/// Longest room, in bytes.
const ROOM_MAX: usize = 255;

/// Adds the members of every platform.
pub(super) fn add(document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    for platform in ChatPlatform::ALL {
        let spec = platform.spec();
        let meaning = format!("Overrides the default {} of `{}`.", spec.room_noun, spec.channel);
        let room = json!({ "type": ["string", "null"], "maxLength": ROOM_MAX, "description": meaning, "example": null });
        for policy in ["Policy", "PolicyInput"] {
            schemas[policy]["properties"][spec.room_field] = room.clone();
        }
        let room = json!({ "type": "string", "maxLength": ROOM_MAX, "description": format!("A {} to ask.", spec.room_noun) });
        schemas["EscalationStep"]["properties"][spec.room_field] = room;
        if let Some(required) = schemas["Policy"]["required"].as_array_mut() {
            required.push(spec.room_field.into());
        }
    }
}
