//! The stand-in for Discord as a program of its own, for Discord's own tools (`ci/chat-clients.sh`).
//!
//! It prints its address, then answers one JSON command per line with one line.

use std::io::{BufRead, Write, stdin, stdout};

use pyxis_core::hex;
use pyxis_testkit::discord::{
    APPLICATION, BOT_TOKEN, CATEGORY, CHANNEL, CLOSED_PERSON, DELETED_CHANNEL, Discord, DiscordMessage,
    HIDDEN_CHANNEL, public_key, signature,
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let discord = runtime.block_on(Discord::start());
    print_line(&json!({
        "base": discord.base(), "bot_token": BOT_TOKEN, "application": APPLICATION,
        "public_key": hex::encode(&public_key()), "channel": CHANNEL, "hidden_channel": HIDDEN_CHANNEL,
        "category": CATEGORY, "deleted_channel": DELETED_CHANNEL, "closed_person": CLOSED_PERSON,
    }))?;
    for line in stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        print_line(&obey(&discord, &command))?;
    }
    Ok(())
}

fn print_line(value: &Value) -> std::io::Result<()> {
    writeln!(stdout(), "{value}")?;
    stdout().flush()
}

fn obey(discord: &Discord, command: &Value) -> Value {
    let text = |name: &str| command[name].as_str().unwrap_or_default();
    match text("do") {
        "ping" => discord.ping(),
        "press" => {
            let message = discord.messages().into_iter().find(|message| message.id == text("id"));
            discord.press(&message.expect("a message with this id"), text("label"), text("person"))
        }
        "submit" => discord.submit(&command["window"], text("person"), text("text")),
        "link" => discord.link(text("person"), text("code")),
        "sign" => json!(signature(text("timestamp"), text("body"))),
        "limit" => {
            discord.limit(&[command["seconds"].as_f64().unwrap_or(1.0)]);
            Value::Null
        }
        "state" => json!({
            "messages": discord.messages().iter().map(message_json).collect::<Vec<_>>(),
            "commands": discord.commands(),
        }),
        other => panic!("no command {other}"),
    }
}

fn message_json(message: &DiscordMessage) -> Value {
    json!({
        "channel": message.channel, "id": message.id, "text": message.text, "edits": message.edits,
        "labels": message.labels(), "has_markup": message.has_markup,
    })
}
