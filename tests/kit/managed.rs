//! A server that is stopped and started by a script, as an init script would do it.

use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::Server;

/// `start` of a server that is already starting does nothing, as with every service manager.
const SCRIPT: &str = r#"#!/bin/sh
cd FOLDER || exit 9
echo "$1" >> calls
alive() {
    [ -n "$1" ] && grep -qas DATADIR "/proc/$1/cmdline"
}
down() {
    for file in SERVER/pid started; do
        pid=$(cat "$file" 2>/dev/null)
        alive "$pid" && kill "$pid"
        while alive "$pid"; do sleep 0.02; done
    done
}
up() {
    [ -e dead ] && { echo 'it is dead'; exit 3; }
    [ -e picky ] && [ -e conf.d/penstock-tune.cnf ] && { echo 'what is penstock-tune.cnf'; exit 4; }
    alive "$(cat started 2>/dev/null)" && exit 0
    xargs -0 sh -c '"$@" >> log 2>&1 & echo $! > started' sh < args
}
case "$1" in
    restart) [ -e lazy ] && exit 0; down; up ;;
    stop) [ -e lazy ] && exit 7; down ;;
    start) up ;;
    *) exit 2 ;;
esac
"#;

/// The script, next to the files that it writes.
pub struct Managed {
    directory: PathBuf,
    datadir: PathBuf,
}

impl Managed {
    /// For a server that runs; `arg` may change an argument of its command line.
    pub fn new(server: &Server, directory: &Path, arg: impl Fn(&[u8]) -> Vec<u8>) -> Managed {
        let datadir = server.datadir();
        let pid = server.pid().expect("a process");
        let args = std::fs::read(format!("/proc/{pid}/cmdline")).expect("arguments");
        let args: Vec<Vec<u8>> = args.split(|b| *b == 0).map(arg).collect();
        std::fs::write(directory.join("args"), args.join(&0)).expect("written");
        let home = datadir.parent().expect("the server's directory");
        let script = SCRIPT
            .replace("FOLDER", &directory.display().to_string())
            .replace("DATADIR", &datadir.display().to_string())
            .replace("SERVER", &home.display().to_string());
        std::fs::write(directory.join("ctl"), script).expect("written");
        Managed {
            directory: directory.to_owned(),
            datadir,
        }
    }

    /// A file next to the script.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// What `--server-command` gets.
    pub fn command(&self) -> String {
        format!("sh {}", self.path("ctl").display())
    }

    /// Runs the script.
    #[track_caller]
    pub fn run(&self, word: &str) {
        let mut command = Command::new("sh");
        let status = command.arg(self.path("ctl")).arg(word).status();
        assert!(status.expect("a shell").success());
    }

    /// Makes the script misbehave for as long as the flag exists.
    pub fn flag(&self, name: &str) -> Flag {
        let path = self.path(name);
        std::fs::write(&path, "").expect("written");
        Flag(path)
    }

    /// What the script was called with.
    pub fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Kills the server as a power cut would.
    pub fn kill9(&self) {
        let home = self.datadir.parent().map(|p| p.join("pid"));
        for file in [home, Some(self.path("started"))].into_iter().flatten() {
            let pid = std::fs::read_to_string(file).ok();
            let pid = pid.and_then(|p| p.trim().parse::<i32>().ok());
            // Only if it is still this server.
            if let Some(pid) = pid
                && self.is_server(pid)
                && let Some(raw) = rustix::process::Pid::from_raw(pid)
            {
                let _ = rustix::process::kill_process(raw, rustix::process::Signal::KILL);
                while self.is_server(pid) {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
            }
        }
        // The process may stay a zombie, and look alive to the next server: its lock file goes.
        let lock = self.datadir.parent().map(|p| p.join("sock.lock"));
        let _ = lock.map(std::fs::remove_file);
    }

    fn is_server(&self, pid: i32) -> bool {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&self.datadir.display().to_string())
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        self.kill9();
    }
}

/// A file that makes the script misbehave for as long as it exists.
pub struct Flag(PathBuf);

impl Drop for Flag {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
