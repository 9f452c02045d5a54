//! `testkit performance`: the tables of docs/performance.md and README.md, made from the recorded runs in `bench/`.
//!
//! Only the text between the two markers is replaced. README.md may have none, and is then left alone. With `--check`
//! nothing is written, and a file whose tables are out of date is an error. Every figure comes from a recording that the
//! page names; none is typed in here.

mod impact;
mod limits;
mod recorded;
mod rows;
mod table;
mod times;

use crate::args::Args;
use std::path::Path;
use testkit::{Error, Result};

const BEGIN: &str = "<!-- performance: begin -->";
const END: &str = "<!-- performance: end -->";
const NOTE: &str =
    "<!-- made by ./dev performance from the recorded runs in bench/; edits are lost -->";
const PAGE: &str = "docs/performance.md";
const README: &str = "README.md";

/// `testkit performance [--check] [--root DIR]`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(args.text("root").unwrap_or("."));
    let runs = times::Runs::read(root)?;
    let page =
        runs.sections()? + &impact::sections(&impact::read(root)?)? + &limits::section(root)?;
    let mut stale = Vec::new();
    for (file, tables, needed) in [(PAGE, page, true), (README, runs.readme()?, false)] {
        let path = root.join(file);
        let text = std::fs::read_to_string(&path).map_err(Error::doing(file))?;
        let Some(new) = replaced(&text, tables.trim_end()).map_err(Error::doing(file))? else {
            if needed {
                return Err(Error(format!("{file}: no line {BEGIN}")));
            }
            continue;
        };
        if new == text {
            continue;
        }
        if args.flag("check") {
            stale.push(file);
        } else {
            std::fs::write(&path, new).map_err(Error::doing(file))?;
            println!("wrote={file}");
        }
    }
    match stale.is_empty() {
        true => Ok(()),
        false => Err(Error(format!(
            "{}: not what the recorded runs in bench/ say; ./dev performance rebuilds the tables",
            stale.join(", ")
        ))),
    }
}

/// The text with `tables` between its markers, or `None` where it has no markers.
fn replaced(text: &str, tables: &str) -> Result<Option<String>> {
    match (text.split_once(BEGIN), text.contains(END)) {
        (None, false) => Ok(None),
        (Some((before, rest)), true) => match rest.split_once(END) {
            Some((_, after)) if !after.contains(BEGIN) && !after.contains(END) => Ok(Some(
                format!("{before}{BEGIN}\n{NOTE}\n\n{tables}\n\n{END}{after}"),
            )),
            Some(_) => Err(Error::new("more than one pair of markers")),
            None => Err(Error(format!("{END} comes before {BEGIN}"))),
        },
        _ => Err(Error(format!("needs both {BEGIN} and {END}, or neither"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_between_the_markers_is_replaced() {
        let text = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let once = replaced(&text, "new").expect("markers").expect("a text");
        assert_eq!(once, format!("a\n{BEGIN}\n{NOTE}\n\nnew\n\n{END}\nb\n"));
        assert_eq!(replaced(&once, "new"), Ok(Some(once.clone())));
    }

    #[test]
    fn a_text_without_markers_is_left_alone_and_half_a_pair_is_an_error() {
        assert_eq!(replaced("a\n", "new"), Ok(None));
        assert!(replaced(BEGIN, "new").is_err());
        assert!(replaced(END, "new").is_err());
        assert!(replaced(&format!("{END}{BEGIN}"), "new").is_err());
        assert!(replaced(&format!("{BEGIN}{END}{BEGIN}{END}"), "new").is_err());
    }
}
