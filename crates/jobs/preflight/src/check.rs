//! What a check is, and what it finds.

use crate::facts::{Facts, Known};

/// One thing that is looked at.
#[derive(Debug)]
pub struct Check {
    /// Its name, by which it is silenced.
    pub name: &'static str,
    /// What it is about.
    pub group: Group,
    /// The only job that it matters to, if it is so.
    pub job: Option<Job>,
    /// What has to be named for it.
    pub needs: Option<Needs>,
    /// Why it is looked at.
    pub reason: &'static str,
    /// The public document that says so, by its title.
    pub source: &'static str,
    /// Looks.
    pub look: fn(&Facts) -> Known<Seen>,
}

/// What checks are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The host of the server: seen there only.
    Host,
    /// The server's settings, and what is left of other runs.
    Server,
    /// What jobs of penstock need, and would miss.
    Jobs,
}

impl Group {
    /// As it is typed and shown.
    pub fn name(self) -> &'static str {
        match self {
            Group::Host => "host",
            Group::Server => "server",
            Group::Jobs => "jobs",
        }
    }
}

/// A job on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// It is dumped.
    Dump,
    /// An archive is loaded into it.
    Load,
    /// A replica is made of it, or it becomes one.
    Replica,
    /// Its binary log is archived.
    Binlog,
}

/// What a check is about, and only whoever calls it can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The place of a dump.
    Place,
    /// The repository with the backups.
    Repository,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// It costs time, or may fail some day.
    Warning,
    /// Data or the job is at risk.
    Serious,
}

impl Severity {
    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Serious => "serious",
        }
    }
}

/// Something that is not as it should be, or worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What it is, with the figures.
    pub what: String,
    /// What to do: statements and commands, each by itself.
    pub todo: Vec<String>,
}

/// What a check saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The figures.
    pub evidence: Vec<String>,
    /// What is not as it should be.
    pub findings: Vec<Finding>,
    /// What of it could not be looked at, each with the reason.
    pub unseen: Vec<String>,
}

impl Seen {
    /// Nothing yet.
    pub(crate) fn new() -> Seen {
        Seen::default()
    }

    /// These figures and nothing else.
    pub(crate) fn fine(evidence: impl Into<String>) -> Seen {
        let mut seen = Seen::new();
        seen.saw(evidence);
        seen
    }

    /// Adds a figure, once.
    pub(crate) fn saw(&mut self, evidence: impl Into<String>) {
        let evidence = evidence.into();
        if !self.evidence.contains(&evidence) {
            self.evidence.push(evidence);
        }
    }

    /// Adds a finding; what to do is added to what it returns.
    pub(crate) fn found(&mut self, severity: Severity, what: impl Into<String>) -> &mut Finding {
        self.findings.push(Finding {
            severity,
            what: what.into(),
            todo: Vec::new(),
        });
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }

    /// Adds what could not be looked at.
    pub(crate) fn not_seen(&mut self, why: impl Into<String>) {
        let why = why.into();
        if !self.unseen.contains(&why) {
            self.unseen.push(why);
        }
    }
}

impl Finding {
    /// Adds what to do.
    pub(crate) fn todo(&mut self, statement: impl Into<String>) -> &mut Finding {
        self.todo.push(statement.into());
        self
    }
}

/// The first of a list, and how many more there are.
pub(crate) fn shown<S: AsRef<str>>(all: &[S]) -> String {
    const NAMED: usize = 5;
    let first: Vec<&str> = all.iter().take(NAMED).map(AsRef::as_ref).collect();
    match all.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
