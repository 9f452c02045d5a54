//! A repository with backups of a scene's server.

use super::scene::Scene;
use crate::kit::Tool;
use crate::stores::Access;
use serde_json::Value;

/// A repository for the server of a scene.
pub struct Repo<'a> {
    pub scene: &'a Scene,
    pub url: String,
    pub access: Access,
    /// Words that encrypt, and words that open.
    pub keys: (Vec<String>, Vec<String>),
}

impl<'a> Repo<'a> {
    pub fn local(scene: &'a Scene) -> Repo<'a> {
        Repo {
            scene,
            url: scene.path("repo").display().to_string(),
            access: Access::new(),
            keys: Default::default(),
        }
    }

    pub fn tool(&self, words: &[&str]) -> Tool {
        let tool = self.scene.tool(words);
        let with = |tool: Tool, (name, value): &(&'static str, String)| tool.env(name, value);
        self.access.iter().fold(tool, with)
    }

    pub fn verb(&self, words: &[&str]) -> Tool {
        self.tool(words).args(["--repository", &self.url])
    }

    pub fn init(&self) {
        self.tool(&["init", &self.url]).run().ok();
    }

    /// A backup by this method.
    pub fn snapshot(&self, method: &str) -> Tool {
        let uri = self.scene.server.uri();
        self.verb(&["backup", "shop", &uri, "--json", "--snapshot", method])
            .args(self.keys.0.clone())
    }

    /// A dump of the same server, which has a table without transactions; its identifier.
    #[track_caller]
    pub fn dumped(&self) -> String {
        let uri = self.scene.server.uri();
        let backup = self.verb(&["backup", "shop", &uri, "--json"]);
        id(&backup.run().code(3).summary())
    }

    #[track_caller]
    pub fn list(&self, more: &[&str]) -> Value {
        let list = self.verb(&["list", "--json"]).args(more.iter().copied());
        list.run().ok().summary()
    }

    /// Identifiers and kinds.
    #[track_caller]
    pub fn listed(&self) -> Vec<(String, String)> {
        let list = self.list(&[]);
        let all = list["backups"].as_array().expect("backups");
        let text = |v: &Value| v.as_str().expect("text").to_owned();
        all.iter()
            .map(|b| (text(&b["id"]), text(&b["kind"])))
            .collect()
    }

    /// A restore into a new data directory.
    pub fn restore(&self, words: &[&str], to: &str) -> Tool {
        let tool = self
            .verb(&["restore", "--json"])
            .args(words.iter().copied());
        let tool = self.scene.restoring(tool, to);
        tool.args(self.keys.1.clone())
    }

    pub fn drill(&self, words: &[&str]) -> Tool {
        let scratch = self.scene.path("scratch");
        std::fs::create_dir_all(&scratch).expect("made");
        self.verb(&["drill", "--json"])
            .args(words.iter().copied())
            .args(["--mysqld".into(), self.scene.program()])
            .args(["--scratch".into(), scratch])
            .args(self.keys.1.clone())
    }

    /// Nothing of a drill stays.
    #[track_caller]
    pub fn no_scratch(&self) {
        let left: Vec<_> = std::fs::read_dir(self.scene.path("scratch"))
            .expect("a directory")
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

pub fn id(done: &Value) -> String {
    done["backup"]["id"].as_str().expect("an id").to_owned()
}
