//! What stands in the way of a server, of its host, and of the jobs on it.

use super::shared::things;
use super::{Item, Line, Summary};
use crate::record::{Better, Cell, Column, Figure, Section, Table};
use base::units::{bytes, printable};
use preflight::stripe::Plan;
use preflight::{Check, Finding, Looked, Severity};
use serde_json::{Value, json};

/// From the worst on.
const SEVERITIES: [Severity; 3] = [Severity::Serious, Severity::Warning, Severity::Info];

/// Describes it. Exceptions are what is serious, and what could not be looked at.
pub fn preflight(p: &preflight::Summary) -> Summary {
    let count = |s| p.findings(s).count() as u64;
    let (serious, warnings) = (count(Severity::Serious), count(Severity::Warning));
    let not_run = p.not_run();
    let mut heading = match (serious, warnings) {
        (0, 0) => "Nothing stands in the way, as far as it was looked at".to_owned(),
        (0, n) => format!("Nothing serious was found, and {}", things(n, "warning")),
        (s, w) => format!("{}, {}", things(s, "serious finding"), things(w, "warning")),
    };
    if !not_run.is_empty() {
        heading += "; not all checks were made";
    }
    let mut s = Summary::new("preflight", heading);
    s.title = format!("Preflight of {}", p.server);
    s.add(
        Item::new("server")
            .shown(&p.server)
            .key("server", &p.server),
    );
    let host = match &p.host {
        Ok(host) => Item::new("host").shown(host).key("local", true),
        Err(why) => Item::new("host")
            .shown(format!("not looked at: {why}"))
            .key("local", false),
    };
    s.add(host);
    for severity in SEVERITIES {
        s.add(findings(p, severity));
        let name = match severity {
            Severity::Serious => "serious findings",
            Severity::Warning => "warnings",
            Severity::Info => "notes",
        };
        let figure = Figure::new(name, count(severity) as f64, "", Better::Lower);
        s.add(Item {
            figures: vec![figure],
            ..Item::default()
        });
    }
    s.add(seen(p));
    let named = by_reason(&not_run);
    s.add(Item::new("not run").list(&named));
    let not_asked: Vec<String> = p
        .not_asked
        .iter()
        .map(|(name, option)| format!("{name}: {option}"))
        .collect();
    s.add(
        Item::new("not asked for")
            .list(&not_asked)
            .key("not_asked", &not_asked),
    );
    let silenced: Vec<String> = p.silenced.iter().map(|s| (*s).to_owned()).collect();
    s.add(
        Item::new("silenced")
            .list(&silenced)
            .key("silenced", &silenced),
    );
    s.add(
        Item::keys()
            .key("serious", serious)
            .key("warnings", warnings)
            .key("notes", count(Severity::Info))
            .key("not_run", not_run_json(&not_run))
            .key(
                "checks",
                p.looked.iter().map(check_json).collect::<Vec<_>>(),
            )
            .with(Line::Plain(
                "nothing was changed; penstock preflight --list says why each is looked at"
                    .to_owned(),
            )),
    );
    let of_findings = p
        .findings(Severity::Serious)
        .map(|(c, f)| format!("{}: {}", c.name, f.what));
    s.exceptions = of_findings
        .chain(named.iter().map(|n| format!("not run: {n}")))
        .collect();
    s.story = vec![
        format!("{}.", s.heading),
        format!(
            "{} made, {} not run or in part, {} silenced.",
            things(p.looked.len() as u64, "check"),
            not_run.len(),
            p.silenced.len()
        ),
    ];
    s.only_own_sections = true;
    s.sections = sections(p);
    s
}

fn findings(p: &preflight::Summary, severity: Severity) -> Item {
    let mut item = Item::keys();
    for (check, finding) in p.findings(severity) {
        let text = format!("{:<10}{}: {}", severity.name(), check.name, finding.what);
        item = item.with(Line::Plain(text));
        for todo in &finding.todo {
            item = item.with(Line::Plain(format!("{:<12}{todo}", "")));
        }
    }
    item
}

/// The figures of each check.
fn seen(p: &preflight::Summary) -> Item {
    let mut item = Item::keys().with(Line::Plain("seen:".to_owned()));
    for l in &p.looked {
        let Ok(seen) = &l.seen else { continue };
        let mut name = l.check.name;
        for evidence in &seen.evidence {
            item = item.with(Line::Plain(format!("  {name:<20}{evidence}")));
            name = "";
        }
    }
    item
}

/// What could not be looked at, each reason once: a host that is not this one is the reason of half of all checks.
fn by_reason(not_run: &[(&str, &str)]) -> Vec<String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, why) in not_run {
        match all.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, names)) => names.push(name),
            None => all.push((why, vec![name])),
        }
    }
    all.iter()
        .map(|(why, names)| format!("{}: {why}", names.join(", ")))
        .collect()
}

fn not_run_json(all: &[(&str, &str)]) -> Vec<Value> {
    let one = |(name, why): &(&str, &str)| json!({"check": name, "why": why});
    all.iter().map(one).collect()
}

fn finding_json(f: &Finding) -> Value {
    json!({"severity": f.severity.name(), "what": f.what, "todo": f.todo})
}

/// In a word: the worst that was found, "fine", or "not run".
fn state(l: &Looked) -> &'static str {
    match &l.seen {
        Err(_) => "not run",
        Ok(seen) => seen
            .findings
            .iter()
            .map(|f| f.severity)
            .max()
            .map_or("fine", Severity::name),
    }
}

fn check_json(l: &Looked) -> Value {
    let mut all = described_json(l.check);
    all["state"] = state(l).into();
    match &l.seen {
        Err(why) => all["why"] = why.as_str().into(),
        Ok(seen) => {
            all["evidence"] = json!(seen.evidence);
            all["findings"] = seen.findings.iter().map(finding_json).collect();
            all["not_seen"] = json!(seen.unseen);
        }
    }
    all
}

fn described_json(check: &Check) -> Value {
    json!({"name": check.name, "about": check.group.name(), "reason": check.reason, "source": check.source})
}

fn sections(p: &preflight::Summary) -> Vec<Section> {
    let text = |t: &str| Cell::text(printable(t));
    let found = SEVERITIES
        .iter()
        .flat_map(|s| p.findings(*s))
        .map(|(check, f)| {
            vec![
                text(f.severity.name()),
                text(check.name),
                text(&f.what),
                text(&f.todo.join(" ")),
            ]
        });
    let looked = p.looked.iter().map(|l| {
        let evidence = match &l.seen {
            Ok(seen) => seen
                .evidence
                .iter()
                .chain(&seen.unseen)
                .cloned()
                .collect::<Vec<_>>()
                .join("; "),
            Err(why) => why.clone(),
        };
        vec![
            text(l.check.name),
            text(l.check.group.name()),
            text(state(l)),
            text(&evidence),
            text(l.check.reason),
            text(l.check.source),
        ]
    });
    let table = |names: &[&str], rows: Vec<Vec<Cell>>| Table {
        columns: names.iter().map(|n| Column::new(n, "")).collect(),
        rows,
        ..Table::default()
    };
    vec![
        Section {
            title: "Findings".to_owned(),
            tables: vec![table(
                &["severity", "check", "finding", "what to do"],
                found.collect(),
            )],
            ..Section::default()
        },
        Section {
            title: "Checks".to_owned(),
            tables: vec![table(
                &[
                    "check",
                    "about",
                    "state",
                    "figures",
                    "why it is looked at",
                    "source",
                ],
                looked.collect(),
            )],
            ..Section::default()
        },
    ]
}

/// All checks.
pub fn preflight_list() -> Summary {
    let mut s = Summary::new("preflight list", "What a preflight looks at");
    let mut item = Item::keys();
    for check in preflight::all() {
        item = item
            .with(Line::Blank)
            .with(Line::Plain(format!(
                "{} ({})",
                check.name,
                check.group.name()
            )))
            .with(Line::Plain(format!("  {}", check.reason)))
            .with(Line::Plain(format!("  source: {}", check.source)));
    }
    s.add(item.key(
        "checks",
        preflight::all().map(described_json).collect::<Vec<_>>(),
    ));
    s
}

/// How devices are made into a striped volume.
pub fn stripe(plan: &Plan) -> Summary {
    let mut s = Summary::new("preflight stripe", "A striped volume of these devices");
    for (path, size) in &plan.devices {
        s.add(Item::new("device").line(format!("{path}, {}", bytes(*size))));
    }
    let devices: Vec<Value> = plan
        .devices
        .iter()
        .map(|(p, size)| json!({"path": p, "bytes": size}))
        .collect();
    s.add(Item::keys().key("devices", devices));
    s.add(
        Item::new("volume")
            .line(bytes(plan.size))
            .key("bytes", plan.size),
    );
    let mut lines = Item::keys().key("lines", &plan.lines).with(Line::Blank);
    for line in &plan.lines {
        lines = lines.with(Line::Plain(line.clone()));
    }
    s.add(lines.with(Line::Blank));
    s.add(
        Item::new("before they are run")
            .list(&plan.notes)
            .key("notes", &plan.notes),
    );
    s
}
