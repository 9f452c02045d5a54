//! What a configuration means, and what came of the backups of all its servers.

use super::{Item, Line, Summary};
use base::Kind;
use serde_json::{Value, json};

/// A configuration, explained.
#[derive(Debug, Default)]
pub struct Configuration {
    /// Its file.
    pub file: String,
    /// Commands that it completes.
    pub commands: Vec<Completed>,
    /// Hooks, each with its name.
    pub hooks: Vec<String>,
    /// Files and URLs of the heartbeat.
    pub heartbeat: Vec<String>,
}

/// A command that a configuration completes.
#[derive(Debug)]
pub struct Completed {
    /// `backup shop`, or `prune`.
    pub command: String,
    /// The server that it connects to.
    pub server: Option<String>,
    /// Each word that is added, with its place.
    pub words: Vec<(String, String)>,
}

/// Describes a configuration that can be used.
pub fn configuration(c: &Configuration) -> Summary {
    let mut s = Summary::new("config check", "The configuration can be used");
    s.add(Item::new("file").line(&c.file).key("file", &c.file));
    let mut item = Item::keys();
    let mut all = Vec::new();
    for of in &c.commands {
        let server = of.server.iter().map(|s| format!(", of {s}"));
        let title = format!("penstock {}{}", of.command, server.collect::<String>());
        item = item.with(Line::Blank).with(Line::Plain(title));
        for (word, place) in &of.words {
            item = item.with(Line::Plain(format!("  {word}  {place}")));
        }
        let word = |(word, place): &(String, String)| json!({"word": word, "from": place});
        let words: Vec<Value> = of.words.iter().map(word).collect();
        all.push(json!({"command": of.command, "server": of.server, "words": words}));
    }
    s.add(item.with(Line::Blank).key("commands", all));
    s.add(Item::new("hooks").list(&c.hooks).key("hooks", &c.hooks));
    let beats = Item::new("heartbeat").list(&c.heartbeat);
    s.add(beats.key("heartbeat", &c.heartbeat));
    s
}

/// Describes the backups of several servers: each with its exit code, of so many.
pub fn servers(codes: &[(&str, u8)], asked: usize) -> Summary {
    let is_made = |code: u8| code == 0 || code == Kind::Exceptions.exit_code();
    let made = codes.iter().filter(|(_, code)| is_made(*code)).count();
    let mut s = Summary::new("backups", format!("{made} of {asked} servers backed up"));
    let failed: Vec<String> = codes
        .iter()
        .filter(|(_, code)| !is_made(*code))
        .map(|(name, code)| format!("{name}: code {code}"))
        .collect();
    let servers: Vec<Value> = codes
        .iter()
        .map(|(name, code)| json!({"server": name, "code": code}))
        .collect();
    s.add(Item::new("failed").list(&failed).key("servers", servers));
    s
}
