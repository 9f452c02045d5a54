//! Replays log files of a directory into a server: for `./dev bench pitr` and for work by hand.
//!
//! `replay SOCKET STATE-DIRECTORY LOG-DIRECTORY FROM-FILE:OFFSET TO-FILE:OFFSET [workers=N] [tune] [ahead=BYTES]`

#![allow(clippy::print_stdout, clippy::print_stderr)]

use base::{Cancel, Event, Observer};
use replay::{Directory, Options, Place, Request};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

struct Screen;

impl Observer for Screen {
    fn event(&self, event: Event) {
        match event {
            Event::Note(text) => eprintln!("note: {text}"),
            Event::Warning(text) => eprintln!("WARNING: {text}"),
            _ => {}
        }
    }
}

fn place(text: &str, names: &[String]) -> Option<Place> {
    let (file, offset) = text.rsplit_once(':')?;
    Some(Place {
        file: names.iter().position(|n| n == file)?,
        offset: offset.parse().ok()?,
    })
}

fn run(args: &[String]) -> Result<(), String> {
    let [socket, state, logs, from, to, options @ ..] = args else {
        return Err("see the first lines of this file for its arguments".to_owned());
    };
    let mut names: Vec<String> = std::fs::read_dir(logs)
        .map_err(|e| e.to_string())?
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|n| {
            n.rsplit_once('.')
                .is_some_and(|(_, n)| n.parse::<u32>().is_ok())
        })
        .collect();
    names.sort();
    let log = Directory::open(Path::new(logs), &names).map_err(|e| e.to_string())?;
    let wire = wire::Options::new(wire::Endpoint::Unix(socket.into()), "root");
    let mut wanted = Options::new(wire, state.into());
    for option in options {
        match option.split_once('=') {
            Some(("workers", n)) => wanted.workers = n.parse().ok(),
            Some(("ahead", n)) => wanted.ahead = n.parse().unwrap_or(replay::AHEAD),
            _ => wanted.tune |= option == "tune",
        }
    }
    let request = Request {
        log: &log,
        from: place(from, &names).ok_or("no such place to begin at")?,
        to: place(to, &names).ok_or("no such place to stop at")?,
        executed: None,
    };
    let run = run::Run::new(Arc::new(Screen), Cancel::new());
    match replay::replay(&run, &wanted, &request) {
        Ok(done) => {
            println!("{done:#?}");
            Ok(())
        }
        Err(e) => Err(format!("{:?}: {} ({:?})", e.kind, e.what, e.hint)),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
