//! Limits beside the impact budget: replica lag, running statements, history list. A value over a limit
//! of the first kind pauses the run until it is below again; over a limit of the second kind
//! (`--abort-if`) it ends the run.

use base::typed::time;
use base::{Error, Kind, Result};
use server::Version;
use std::fmt;
use std::time::Duration;
use wire::{Conn, Options};

/// The quantity that is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Statements running on the server, without the run's own.
    ThreadsRunning,
    /// Lag of a replica, in seconds.
    Lag,
    /// Length of the history list of InnoDB.
    HistoryList,
    /// Measured effect on the application's latency, in per cent.
    Impact,
}

impl LimitKind {
    fn word(self) -> &'static str {
        match self {
            LimitKind::ThreadsRunning => "threads-running",
            LimitKind::Lag => "lag",
            LimitKind::HistoryList => "history-list",
            LimitKind::Impact => "impact",
        }
    }
}

/// A limit and its figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// What is limited.
    pub what: LimitKind,
    /// The greatest value that is allowed.
    pub most: f64,
}

impl Limit {
    /// Parses `threads-running=64`, `lag=30s`, `history-list=1000000`, `impact=50%`.
    pub fn parse(text: &str) -> Result<Limit> {
        let bad = || {
            Error::new(Kind::Usage, format!("{text:?} is not a limit"))
                .hint("one of threads-running=N, lag=SECONDS, history-list=N, impact=PERCENT, e.g. threads-running=100; for several limits, repeat the option")
        };
        let (name, value) = text.split_once('=').ok_or_else(bad)?;
        let what = [
            LimitKind::ThreadsRunning,
            LimitKind::Lag,
            LimitKind::HistoryList,
            LimitKind::Impact,
        ]
        .into_iter()
        .find(|w| w.word() == name.trim())
        .ok_or_else(bad)?;
        let value = value.trim();
        let most = match what {
            LimitKind::Lag => time(value).ok_or_else(bad)?,
            LimitKind::Impact => percent(value).ok_or_else(bad)?,
            LimitKind::ThreadsRunning | LimitKind::HistoryList => {
                value.parse::<u64>().map_err(|_| bad())? as f64
            }
        };
        Ok(Limit { what, most })
    }

    /// If the value exceeds the limit, a text with both.
    pub fn over(&self, figure: f64) -> Option<String> {
        (figure > self.most).then(|| match self.what {
            LimitKind::ThreadsRunning => {
                format!("{figure:.0} running statements, {:.0} allowed", self.most)
            }
            LimitKind::Lag => format!("a replica lag of {figure:.0} s, {:.0} s allowed", self.most),
            LimitKind::HistoryList => {
                format!("a history list of {figure:.0}, {:.0} allowed", self.most)
            }
            LimitKind::Impact => format!(
                "an impact of {:.1} %, {:.1} % allowed",
                figure * 100.0,
                self.most * 100.0
            ),
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            LimitKind::Lag => write!(f, "lag={}s", self.most),
            LimitKind::Impact => write!(f, "impact={}%", self.most * 100.0),
            _ => write!(f, "{}={}", self.what.word(), self.most),
        }
    }
}

/// `5%` or `5`: a share, 0.05.
pub fn percent(text: &str) -> Option<f64> {
    let text = text.trim();
    let n: f64 = text.strip_suffix('%').unwrap_or(text).trim().parse().ok()?;
    (n.is_finite() && n > 0.0 && n <= 1000.0).then_some(n / 100.0)
}

/// A replica whose lag is measured.
pub struct Replica {
    name: String,
    conn: Conn,
    /// The statement that shows its replication status.
    statement: &'static str,
}

/// The statement that shows the replication status of a server of this version.
fn replication_statement(version: &str) -> &'static str {
    if version.contains("MariaDB") {
        "SHOW ALL SLAVES STATUS"
    } else if Version::parse(version).is_some_and(|v| v < Version::new(8, 0, 22)) {
        "SHOW SLAVE STATUS"
    } else {
        "SHOW REPLICA STATUS"
    }
}

/// The lag of a replica.
#[derive(Clone, Debug, PartialEq)]
pub enum Lag {
    /// This many seconds.
    Seconds(f64),
    /// The replica does not apply changes, or does not report its lag; the reason.
    Unknown(String),
}

impl Lag {
    /// The worse of two lags.
    pub fn worse(known: Option<Lag>, other: Lag) -> Lag {
        match (known, other) {
            (Some(Lag::Unknown(why)), _) | (_, Lag::Unknown(why)) => Lag::Unknown(why),
            (Some(Lag::Seconds(a)), Lag::Seconds(b)) => Lag::Seconds(a.max(b)),
            (None, lag) => lag,
        }
    }
}

impl Replica {
    /// Connects to a server, and verifies that it is a replica.
    pub fn open(options: &Options) -> Result<Replica> {
        let conn = server::session::connect(options).map_err(|e| {
            crate::failure::wire(
                format_args!("no connection to replica {}", options.endpoint),
                e,
            )
        })?;
        let ask = replication_statement(conn.server_version());
        let mut replica = Replica {
            name: options.endpoint.to_string(),
            conn,
            statement: ask,
        };
        match replica.lag() {
            Ok(Some(_)) => Ok(replica),
            Ok(None) => Err(Error::new(
                Kind::Usage,
                format!("{} is not a replica, so it has no lag", replica.name),
            )
            .hint("name the replicas whose lag counts: --replica mysql://USER@HOST/ (may be given several times)")),
            Err(e) => Err(crate::failure::wire(
                format_args!("cannot read the lag of {}", replica.name),
                e,
            )),
        }
    }

    /// Its endpoint.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its lag; `None` if it is not a replica.
    pub fn lag(&mut self) -> std::result::Result<Option<Lag>, wire::Error> {
        let mut rows = self.conn.query(self.statement)?;
        let column = |rows: &wire::Rows<'_>, names: [&str; 2]| {
            rows.columns()
                .iter()
                .position(|c| names.iter().any(|n| c.name.eq_ignore_ascii_case(n)))
        };
        let behind = column(&rows, ["Seconds_Behind_Source", "Seconds_Behind_Master"]);
        let mut worst: Option<Lag> = None;
        while let Some(row) = rows.next()? {
            let cells: Result<Vec<_>, wire::Error> = row.cells().collect();
            let cells = cells?;
            let value = behind
                .and_then(|at| *cells.get(at)?)
                .and_then(|v| std::str::from_utf8(v).ok()?.parse::<f64>().ok());
            let lag = value.map_or_else(
                || Lag::Unknown("its applier does not run".to_owned()),
                Lag::Seconds,
            );
            // Each replication channel has its own lag; the slowest counts.
            worst = Some(Lag::worse(worst, lag));
        }
        Ok(worst)
    }
}

/// Default of the longest time that a limit pauses a run before the run ends.
pub const LIMIT_TIMEOUT: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_parsed_and_described() {
        let l = Limit::parse("threads-running=64").unwrap();
        assert_eq!((l.what, l.most), (LimitKind::ThreadsRunning, 64.0));
        assert_eq!(l.over(64.0), None);
        assert_eq!(
            l.over(65.0).as_deref(),
            Some("65 running statements, 64 allowed")
        );
        assert_eq!(Limit::parse("lag=500ms").unwrap().most, 0.5);
        assert_eq!(Limit::parse("impact=50%").unwrap().most, 0.5);
        assert_eq!(
            Limit::parse("impact=50%").unwrap().to_string(),
            "impact=50%"
        );
        for wrong in [
            "",
            "threads-running",
            "running=5",
            "threads-running=",
            "threads-running=-1",
            "load=3",
            "lag=x",
            "impact=0",
            "impact=nan",
        ] {
            assert_eq!(
                Limit::parse(wrong).unwrap_err().kind,
                Kind::Usage,
                "{wrong}"
            );
        }
        assert_eq!(percent("5"), Some(0.05));
    }
    #[test]
    fn the_replication_statement_depends_on_the_version() {
        assert_eq!(replication_statement("9.7.4"), "SHOW REPLICA STATUS");
        assert_eq!(replication_statement("8.0.21-log"), "SHOW SLAVE STATUS");
        assert_eq!(
            replication_statement("5.5.5-10.11.6-MariaDB-1"),
            "SHOW ALL SLAVES STATUS"
        );
    }

    #[test]
    fn the_worst_of_several_replicas_counts() {
        let behind = |s| Lag::Seconds(s);
        assert_eq!(Lag::worse(None, behind(1.0)), behind(1.0));
        assert_eq!(Lag::worse(Some(behind(3.0)), behind(1.0)), behind(3.0));
        let stopped = Lag::Unknown("stopped".into());
        assert_eq!(Lag::worse(Some(stopped.clone()), behind(9.0)), stopped);
    }
}
