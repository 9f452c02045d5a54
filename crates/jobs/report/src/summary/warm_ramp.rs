//! After `penstock warm ramp`.

use super::{Item, Line, Summary, Table};
use base::units::{count, printable, rounded, seconds};
use serde_json::json;
use warm::ramp::{self, Ended};

/// Describes how a ramp went.
pub fn warm_ramp(d: &ramp::Summary) -> Summary {
    let heading = match d.ended {
        Ended::Steady => "The server has all of the traffic",
        Ended::GaveUp => "The server was not steady at 100 % in time",
        Ended::Hook(_) => "The command failed",
        Ended::Stopped => "Stopped on request",
    };
    let mut s = Summary::new("warm ramp", heading);
    s.add(
        Item::new("server")
            .line(printable(&d.server))
            .key("server", &d.server),
    );
    let (ended, why) = match &d.ended {
        Ended::Steady => ("steady", None),
        Ended::GaveUp => ("limit", None),
        Ended::Hook(why) => ("hook", Some(why)),
        Ended::Stopped => ("stopped", None),
    };
    let last = match d.last() {
        Some(percent) => format!("{percent} %"),
        None => "none: the command did not succeed once".to_owned(),
    };
    s.add(
        Item::new("last step")
            .line(last)
            .key("last_step", d.last())
            .key("ended", ended),
    );
    let hook = Item::new("command").key("hook_failed", why);
    s.add(match why {
        Some(why) => hook.line(printable(why)),
        None => hook,
    });
    let item = Item::new("latency").key("latency_ms", d.latency.map(|l| rounded(l * 1e3)));
    s.add(match d.latency {
        Some(latency) => item.line(format!("{:.2} ms ({})", latency * 1e3, d.measured)),
        None => item.line("not measured: no query ran"),
    });
    s.add(
        Item::new("read from disk")
            .line(format!("{} pages a second", count(d.reads.round() as u64)))
            .key("reads_per_second", rounded(d.reads)),
    );
    let mut rows = vec![["after", "step", "why"].map(str::to_owned).to_vec()];
    for step in &d.steps {
        rows.push(vec![
            seconds(step.at),
            format!("{} %", step.percent),
            printable(&step.why),
        ]);
    }
    let steps: Vec<_> = (d.steps.iter())
        .map(|s| json!({"at": rounded(s.at), "percent": s.percent, "why": s.why}))
        .collect();
    s.add(
        Item::keys()
            .key("steps", steps)
            .with(Line::Blank)
            .with(Line::Table(Table {
                indent: 2,
                numbers: false,
                rows,
            })),
    );
    s.add(
        Item::new("duration")
            .line(seconds(d.seconds))
            .number("duration", d.seconds),
    );
    s
}
