//! What is in `packaging/` calls commands that exist, with options that they have. That the package can be installed
//! and used is shown by `./dev package`.

use crate::kit::Tool;
use std::path::{Path, PathBuf};
use std::process::Command;

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging")
}

fn files(directory: &Path, extension: &str) -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    let mut all: Vec<_> = entries
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == extension))
        .map(|p| (p.clone(), std::fs::read_to_string(&p).expect("text")))
        .collect();
    all.sort();
    assert!(!all.is_empty(), "{}", directory.display());
    all
}

/// A configuration is understood once the files are there that it names.
fn understood(text: &str, commands: &[&str]) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("written");
    let key = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX\n";
    let identity = dir.path().join("key.txt");
    std::fs::write(&identity, key).expect("written");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&identity, private).expect("a mode");
    let mut there = String::new();
    for line in text.lines() {
        let named = line.split('"').nth(1).unwrap_or_default();
        let replaced = match named {
            _ if named.contains("-key.txt") => line.replace(named, &identity.to_string_lossy()),
            _ if named.ends_with(".cnf") || named.ends_with(".pem") => {
                line.replace(named, &file.to_string_lossy())
            }
            _ if named.starts_with("/usr/local/bin/") => line.replace(named, "/bin/true"),
            "age1…" => line.replace(
                named,
                "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj",
            ),
            _ => line.to_owned(),
        };
        there.push_str(&replaced);
        there.push('\n');
    }
    let config = dir.path().join("penstock.toml");
    std::fs::write(&config, &there).expect("written");
    Tool::new(["config", "check", "--config"])
        .arg(&config)
        .run()
        .ok()
        .says(commands);
}

#[test]
fn units_call_commands_that_exist() {
    let services = files(&packaging().join("systemd"), "service");
    assert_eq!(services.len(), 5);
    for (path, text) in services {
        let calls: Vec<&str> = text
            .lines()
            .filter_map(|l| l.strip_prefix("ExecStart=/usr/bin/penstock "))
            .collect();
        assert_eq!(calls.len(), 1, "{}", path.display());
        let words = calls[0].split_whitespace().chain(["--help"]);
        Tool::new(words).run().ok().says(&["Usage: penstock"]);
        // What runs until it is stopped needs no timer, but says so after what all services have in common.
        let of_a_server = path.to_string_lossy().contains('@');
        let beside = match of_a_server {
            true => path.with_extension("service.d").join("service.conf"),
            false => path.with_extension("timer"),
        };
        assert!(beside.is_file(), "{}", path.display());
    }
    let sandbox = packaging().join("systemd/penstock-.service.d/sandbox.conf");
    let sandbox = std::fs::read_to_string(sandbox).expect("text");
    for line in [
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "CapabilityBoundingSet=",
    ] {
        assert!(sandbox.lines().any(|l| l == line), "{line}");
    }
}

#[test]
fn the_example_of_the_configuration_is_understood() {
    let text = std::fs::read_to_string(packaging().join("penstock.toml")).expect("text");
    // As it is, it says nothing.
    assert!(text.lines().all(|l| l.is_empty() || l.starts_with('#')));
    let uncommented = |l: &str| {
        let rest = l.strip_prefix('#')?;
        let begins = rest.starts_with(|c: char| c == '[' || c.is_ascii_lowercase());
        begins.then(|| format!("{rest}\n"))
    };
    let all: String = text.lines().filter_map(uncommented).collect();
    understood(
        &all,
        &[
            "penstock backup local",
            "penstock backup shop",
            "penstock drill",
        ],
    );
}

#[test]
fn kubernetes_gets_commands_and_a_configuration_that_are_understood() {
    for (path, text) in files(&packaging().join("kubernetes"), "yaml") {
        if let Some((_, rest)) = text.split_once("  penstock.toml: |\n") {
            let (toml, _) = rest.split_once("\n---").expect("another document");
            let toml: String = toml.lines().map(|l| format!("{}\n", l.trim())).collect();
            understood(&toml, &["penstock backup db-0", "penstock backup db-2"]);
            continue;
        }
        let args = text.lines().find_map(|l| l.trim().strip_prefix("args: ["));
        let args = args.unwrap_or_else(|| panic!("{}: no args", path.display()));
        let words = args
            .trim_end_matches(']')
            .split(',')
            .map(|w| w.trim().trim_matches('"').to_owned());
        let verb = words.clone().next().expect("a command");
        assert!(["backup", "check", "prune"].contains(&verb.as_str()));
        Tool::new(words.chain(["--help".to_owned()])).run().ok();
    }
}

#[test]
fn scripts_of_the_package_are_scripts() {
    for name in [
        "debian/postinst",
        "debian/prerm",
        "debian/postrm",
        "try.sh",
        "package.sh",
    ] {
        let script = packaging().join(name);
        let shell = if name.ends_with(".sh") { "bash" } else { "sh" };
        let done = Command::new(shell).arg("-n").arg(&script).output();
        let done = done.expect("a shell");
        assert!(done.status.success(), "{name}: {done:?}");
    }
}
