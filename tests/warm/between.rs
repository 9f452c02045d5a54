//! `warm copy`, and `warm status` of a server: how much of a file is in memory there.

use super::scene::{HOT, Scene};
use crate::kit::{Tool, both};
use serde_json::Value;
use testkit::Kind;

fn status(scene: &Scene) -> Value {
    let args = ["warm", "status", "--no-defaults", "--json", "--from"];
    let tool = Tool::new(args).arg(scene.file()).arg(scene.server.uri());
    tool.run().ok().summary()
}

both!(one_command_saves_and_loads; Scene::new);
fn one_command_saves_and_loads(scene: &mut Scene) {
    let Some(mut target) = Scene::new(scene.server.kind()) else {
        return;
    };
    scene.chill();
    for sql in HOT {
        scene.ask(sql);
    }
    scene.save().run().code(3);
    target.chill();
    std::fs::copy(scene.file(), target.file()).expect("a file");
    let cold = status(&target);
    let share = |s: &Value| s["hot_share"].as_f64().expect("a share");
    assert!(share(&cold) < 0.5, "{cold}");
    assert!(
        cold["data_pages"].as_u64() < cold["pool_pages"].as_u64(),
        "{cold}"
    );
    target.chill();
    let mut copied = Value::Null;
    // A server that has just started reads pages of its own, which may leave less room for a moment.
    for _ in 0..5 {
        let copy = ["warm", "copy", "--no-defaults", "--json"];
        let copy = Tool::new(copy)
            .arg(scene.server.uri())
            .arg(target.server.uri());
        let done = scene.tool(copy).run().code(3).says(&["no_key"]);
        copied = target_summary(&done.out);
        assert!(copied["pages"]["placed"].as_u64() > Some(100), "{copied}");
        if copied["no_room_bytes"] == 0 {
            break;
        }
    }
    let misses: u64 = HOT.iter().map(|sql| target.reads_of(sql)).sum();
    assert_eq!(misses, 0, "{copied}");
    let warm = status(&target);
    assert!(share(&warm) > 0.95, "{warm}");
    match scene.server.kind() {
        Kind::MySql => {
            let each = warm["each_index"].as_array().expect("indexes");
            assert!(
                each.iter()
                    .any(|i| i["table"] == "tab`le" && i["index"] == "s"),
                "{warm}"
            );
        }
        _ => assert!(warm["each_index"].is_null(), "{warm}"),
    }
}

fn target_summary(out: &str) -> Value {
    let lines = out
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
    let found: Vec<Value> = lines.filter(|v| v["event"] == "summary").collect();
    assert_eq!(found.len(), 1, "{out}");
    found.into_iter().next().expect("a summary")
}

#[test]
fn a_file_is_looked_at_without_a_server() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("x");
    for more in [&["--no-defaults"][..], &["-h", "db"], &["--from", "y"]] {
        let tool = Tool::new(["warm", "status"])
            .arg(&file)
            .args(more.iter().copied());
        tool.run().code(2).says(&["a file is looked at by itself"]);
    }
}

#[test]
fn a_server_is_not_warmed_by_itself() {
    let uri = "mysql://root@localhost/?socket=/nowhere";
    let copy = Tool::new(["warm", "copy", "--no-defaults", uri, uri]);
    copy.run().code(2).says(&["would be warmed by itself"]);
}
