//! What directories can do as places of a server's files.

mod charts;

use super::shared::things;
use super::{Item, Line, Summary, Table};
use crate::html::show;
use crate::record::{Better, Figure};
use base::units::{bytes, count, rate, rounded, seconds};
use bench::disk::estimate::{self, Carries, MODEL};
use bench::disk::{Pattern, Spread, Volume, group_limits};
use serde_json::{Map, Value, json};

/// Describes the benchmark.
pub fn disk(d: &bench::disk::Summary) -> Summary {
    let mut s = Summary::new("bench disk", "What the disks can do");
    let names: Vec<&str> = d.volumes.iter().map(|v| v.name.as_str()).collect();
    s.title = format!("What the disks can do: {}", names.join(", "));
    let server = Item::new("server").key("server", &d.server);
    s.add(match &d.server {
        Some(text) => server.shown(text),
        None => server,
    });
    for v in &d.volumes {
        let cache = match v.direct {
            true => "around the page cache (O_DIRECT)",
            false => "through the page cache: this file system has no O_DIRECT",
        };
        let file = match v.patterns().any(|p| p.needs_data() || p.needs_new()) {
            true => format!("; a file of {}, {cache}", bytes(v.size)),
            false => String::new(),
        };
        s.add(Item::new("directory").shown(format!(
            "{}: {}, {} free of {}{file}",
            v.name,
            v.file_system,
            bytes(v.file_system.free),
            bytes(v.file_system.size)
        )));
    }
    let engine = match &d.no_ring {
        Some(why) => format!("{}, because io_uring is refused: {why}", d.engine),
        None => d.engine.to_string(),
    };
    s.add(
        Item::new("pages by")
            .shown(&engine)
            .key("engine", d.engine.to_string())
            .key("no_io_uring", &d.no_ring),
    );
    let (fewest, most) = runs_made(d);
    s.add(
        Item::new("measured")
            .shown(format!(
                "{} of each pattern, each {} after {}",
                made(d.runs, fewest, most),
                seconds(d.windows.1.as_secs_f64()),
                seconds(d.windows.0.as_secs_f64())
            ))
            .key("runs", d.runs)
            .key("fewest_runs", fewest)
            .number("ramp", d.windows.0.as_secs_f64())
            .number("measured", d.windows.1.as_secs_f64()),
    );
    let limits = group_limits();
    let limited = limits.is_some() || d.max_rate.is_some();
    for (label, key, value) in [
        ("rate limit", "max_rate", d.max_rate.map(rate)),
        ("control group", "control_group", limits),
    ] {
        let item = Item::new(label).key(key, &value);
        s.add(match value {
            Some(text) => item.shown(format!("{text}; the figures cannot be above it")),
            None => item,
        });
    }
    s.add(
        Item::keys()
            .with(Line::Blank)
            .with(Line::Table(rates(d)))
            .with(Line::Blank)
            .with(Line::Table(latencies(d))),
    );
    s.add(Item::keys().with(Line::Blank));
    for v in &d.volumes {
        for text in words(v, limited) {
            s.story.push(format!("{}: {text}.", v.name));
            s.add(Item::keys().with(Line::Plain(format!("{}: {text}", v.name))));
        }
    }
    let mut doubts: Vec<String> = d.volumes.iter().flat_map(doubts).collect();
    if fewest < 3 {
        doubts.push(format!(
            "how far runs differ cannot be seen from {}: the usual number is 5",
            things(fewest as u64, "run")
        ));
    }
    doubts.extend(on_one_device(d));
    s.add(Item::new("doubts").list(&doubts).key("doubts", &doubts));
    if !doubts.is_empty() {
        let few = "Some figures are doubtful: what was not steady, or differed between the runs, is listed below.";
        s.story.push(few.to_owned());
    }
    let left = Item::new("not measured, because of a limit");
    s.add(left.list(&d.left_out).key("not_measured", &d.left_out));
    let not_removed = Item::new("not removed").key("not_removed", &d.not_removed);
    s.add(not_removed.list(&d.not_removed));
    s.exceptions = [&d.left_out[..], &d.not_removed[..]].concat();
    for v in &d.volumes {
        s.items.extend(figures(v, d.volumes.len() > 1));
    }
    let volumes: Vec<Value> = d.volumes.iter().map(volume_json).collect();
    s.add(Item::keys().key("volumes", volumes).key(
        "model",
        json!({"reads": MODEL.reads, "writes": MODEL.writes, "commits": MODEL.commits, "syncs": MODEL.syncs}),
    ));
    s.only_own_sections = true;
    s.sections = charts::sections(d, &doubts);
    s
}

/// The fewest and the most runs that a pattern has in a directory.
fn runs_made(d: &bench::disk::Summary) -> (usize, usize) {
    let of = |v: &Volume| {
        d.patterns
            .iter()
            .map(|p| v.runs(*p).len())
            .collect::<Vec<_>>()
    };
    let counts: Vec<usize> = d.volumes.iter().flat_map(of).collect();
    let (fewest, most) = (counts.iter().min(), counts.iter().max());
    (fewest.copied().unwrap_or(0), most.copied().unwrap_or(0))
}

/// How many runs were made, and of how many.
fn made(asked: u32, fewest: usize, most: usize) -> String {
    let all = things(asked.into(), "run");
    if fewest == asked as usize {
        return all;
    }
    match fewest == most {
        true => format!("{fewest} of {all}"),
        false => format!("{fewest} to {most} of {all}"),
    }
}

/// Directories that share a device, and with it what that can do.
fn on_one_device(d: &bench::disk::Summary) -> Vec<String> {
    let mut said = Vec::new();
    for (n, v) in d.volumes.iter().enumerate() {
        let same = |o: &&Volume| o.file_system.device == v.file_system.device;
        if d.volumes[..n].iter().any(|o| same(&o)) {
            continue;
        }
        let all: Vec<&str> = d
            .volumes
            .iter()
            .filter(same)
            .map(|v| v.name.as_str())
            .collect();
        if all.len() > 1 {
            said.push(format!(
                "{} are on one file system: what differs between them is noise",
                all.join(" and ")
            ));
        }
    }
    said
}

/// Patterns that any of the volumes has, in their order.
fn patterns(d: &bench::disk::Summary) -> Vec<Pattern> {
    let has = |p: &Pattern| d.volumes.iter().any(|v| !v.runs(*p).is_empty());
    Pattern::all().into_iter().filter(has).collect()
}

/// `pattern, unit`; bytes as megabytes.
fn unit(p: Pattern) -> (&'static str, f64) {
    match p.unit() {
        "B/s" => ("MB/s", 1e-6),
        unit => (unit, 1.0),
    }
}

fn number(v: f64) -> String {
    show(v, "").trim().to_owned()
}

/// A median, followed by the least and the most if there are several runs.
fn spread(s: Spread, runs: usize) -> String {
    match runs {
        1 => number(s.median),
        _ => format!(
            "{} ({} … {})",
            number(s.median),
            number(s.low),
            number(s.high)
        ),
    }
}

fn head(d: &bench::disk::Summary, first: &str) -> Vec<String> {
    let names = d.volumes.iter().map(|v| v.name.clone());
    std::iter::once(first.to_owned()).chain(names).collect()
}

fn rates(d: &bench::disk::Summary) -> Table {
    let name = |p: Pattern| format!("{p}, {}", unit(p).0);
    table(d, "median (least … most of the runs)", name, |p, v| {
        let s = v.spread(p).map(|s| s.times(unit(p).1));
        s.map(|s| spread(s, v.runs(p).len()))
    })
}

fn latencies(d: &bench::disk::Summary) -> Table {
    let name = |p: Pattern| format!("{p}, {}", p.operation());
    table(d, "ms: p50 / p99 / longest", name, |p, v| {
        let l = v.latency(p)?;
        Some(format!("{} / {} / {}", ms(l.p50), ms(l.p99), ms(l.max)))
    })
}

/// A line for each pattern, and a column for each volume.
fn table(
    d: &bench::disk::Summary,
    title: &str,
    name: impl Fn(Pattern) -> String,
    cell: impl Fn(Pattern, &Volume) -> Option<String>,
) -> Table {
    let row = |p: &Pattern| {
        let cells = d.volumes.iter().map(|v| cell(*p, v));
        std::iter::once(name(*p))
            .chain(cells.map(|c| c.unwrap_or_else(|| "-".to_owned())))
            .collect()
    };
    Table {
        indent: 2,
        numbers: true,
        rows: std::iter::once(head(d, title))
            .chain(patterns(d).iter().map(row))
            .collect(),
    }
}

fn ms(seconds: f64) -> String {
    number(seconds * 1e3)
}

/// What the figures of a volume mean; `limited`: this run was kept below what it can do.
fn words(v: &Volume, limited: bool) -> Vec<String> {
    let carries = estimate::carries(v);
    let under = match limited {
        true => "under the limit of this run, ",
        false => "",
    };
    let mut words = Vec::new();
    if let (Some(commit), Some(one)) = (carries.commit, carries.one) {
        let many = carries.many.map_or(String::new(), |(n, s)| {
            format!(", {} from {n} with group commit", about(s.median))
        });
        words.push(format!(
            "{under}a commit here waits {} (mean {}, p99 {}): about {} durable commits a second from one session{many}",
            show(commit.p50, "s"),
            show(commit.mean, "s"),
            show(commit.p99, "s"),
            about(one.median)
        ));
    }
    if let Some(n) = carries.new_orders {
        words.push(format!(
            "{under}this volume carries about {} TPC-C New-Orders a minute ({} … {}) before it is the bottleneck, if each reads {} pages from the disk, writes {} and waits for {} commits with two syncs each; a server with more in memory reads and writes less",
            about(n.median),
            about(n.low),
            about(n.high),
            MODEL.reads,
            MODEL.writes,
            MODEL.commits
        ));
    }
    words
}

/// Two digits: more would not be repeatable.
fn about(v: f64) -> String {
    if v < 10.0 {
        return number((v * 10.0).round() / 10.0);
    }
    let digits = 10_f64.powf(v.log10().floor() - 1.0);
    count(((v / digits).round() * digits) as u64)
}

/// What makes the figures of a volume doubtful.
fn doubts(v: &Volume) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Some(remark) = v.file_system.remark() {
        doubts.push(format!("{}: {remark}", v.name));
    }
    if v.file_system.source.starts_with("/dev/loop") {
        doubts.push(format!(
            "{}: a loop device, a file in another file system: what is read may come from the memory of this host",
            v.name
        ));
    }
    let noisy = v.patterns().filter_map(|p| {
        let width = v.noise(p)?;
        Some(format!("{p} ({:.0} %)", width * 100.0))
    });
    let noisy: Vec<String> = noisy.collect();
    if !noisy.is_empty() {
        doubts.push(format!(
            "{}: a noisy machine, or a volume with bursts: from the least to the most of the runs it is more than 10 % of the median for {}",
            v.name,
            noisy.join("; ")
        ));
    }
    let unsteady: Vec<String> = v.patterns().filter_map(|p| unsteady(v, p)).collect();
    if !unsteady.is_empty() {
        doubts.push(format!(
            "{}: not steady: the second half of a run differs from its first by more than 10 % for {}",
            v.name,
            unsteady.join("; ")
        ));
    }
    let unsettled = v.patterns().filter_map(|p| {
        let s = v.settled_after(p).filter(|s| !s.steady)?;
        Some(format!("{p} ({})", seconds(s.after.as_secs_f64())))
    });
    let unsettled: Vec<String> = unsettled.collect();
    if !unsettled.is_empty() {
        doubts.push(format!(
            "{}: a steady state was waited for in vain before the first run of {}",
            v.name,
            unsettled.join("; ")
        ));
    }
    let too_short = v.patterns().filter(|p| v.is_steady(*p).is_none()).count();
    if too_short > 0 {
        doubts.push(format!(
            "{}: whether the rate was steady cannot be seen for {}: the runs were too short",
            v.name,
            things(too_short as u64, "pattern")
        ));
    }
    if !v.direct {
        doubts.push(format!(
            "{}: reads may come from the page cache, and writes go through it: their figures are those of memory where the file ({}) fits into it",
            v.name,
            bytes(v.size)
        ));
    }
    doubts
}

/// A pattern with runs that were not steady, and in which direction they went.
fn unsteady(v: &Volume, p: Pattern) -> Option<String> {
    let changes = v.unsteady(p);
    let direction = match (
        changes.iter().any(|c| *c < 0.0),
        changes.iter().any(|c| *c > 0.0),
    ) {
        (false, false) => return None,
        (true, false) => "falling",
        (false, true) => "rising",
        (true, true) => "up and down",
    };
    let runs = things(v.runs(p).len() as u64, "run");
    Some(format!("{p} ({} of {runs}, {direction})", changes.len()))
}

/// The main figures, by which runs are compared.
fn figures(v: &Volume, several: bool) -> Vec<Item> {
    let mut figures = Vec::new();
    let mut add = |name: &str, value: f64, unit: &str, better| {
        let name = match several {
            true => format!("{name}, {}", v.name),
            false => name.to_owned(),
        };
        figures.push(Figure::new(&name, value, unit, better));
    };
    let Carries {
        commit,
        one,
        many,
        new_orders,
    } = estimate::carries(v);
    if let Some(l) = commit {
        add("a commit", l.p50 * 1e3, "ms", Better::Lower);
        add("a commit, p99", l.p99 * 1e3, "ms", Better::Lower);
    }
    if let Some(s) = one {
        add("commits, 1 session", s.median, "/s", Better::Higher);
    }
    if let Some((n, s)) = many {
        add(
            &format!("commits, {n} sessions"),
            s.median,
            "/s",
            Better::Higher,
        );
    }
    if let Some(s) = new_orders {
        add("New-Orders of TPC-C", s.median, "/min", Better::Higher);
    }
    for p in [
        Pattern::RandomRead(16),
        Pattern::RandomWrite(16),
        Pattern::Read,
    ] {
        if let Some(s) = v.spread(p) {
            // The tiles of a page are narrow.
            let unit = if p.unit() == "B/s" { "B/s" } else { "/s" };
            add(&p.to_string(), s.median, unit, Better::Higher);
        }
    }
    let item = |figure| {
        let mut item = Item::keys();
        item.figures.push(figure);
        item
    };
    figures.into_iter().map(item).collect()
}

fn volume_json(v: &Volume) -> Value {
    let patterns: Map<String, Value> = v
        .patterns()
        .map(|p| (p.key(), pattern_json(v, p)))
        .collect();
    let f = &v.file_system;
    let carries = estimate::carries(v);
    json!({
        "name": v.name, "path": v.path.to_string_lossy(), "size": v.size, "o_direct": v.direct,
        "file_system": {"type": f.kind, "source": f.source, "mount": f.mount, "options": f.options, "free": f.free, "size": f.size},
        "commit_ms": carries.commit.map(|l| json!({"p50": rounded(l.p50 * 1e3), "mean": rounded(l.mean * 1e3), "p99": rounded(l.p99 * 1e3)})),
        "new_orders_per_minute": carries.new_orders.map(spread_json),
        "patterns": patterns,
    })
}

fn spread_json(s: Spread) -> Value {
    json!({"median": rounded(s.median), "low": rounded(s.low), "high": rounded(s.high)})
}

fn pattern_json(v: &Volume, p: Pattern) -> Value {
    let list = |values: Vec<f64>| values.into_iter().map(rounded).collect::<Vec<_>>();
    let changes = v.runs(p).iter().map(|m| m.change.map(rounded));
    let latency = v.latency(p).map(|l| {
        let ms = |v: f64| rounded(v * 1e3);
        json!({"of": p.operation(), "mean": ms(l.mean), "p50": ms(l.p50), "p95": ms(l.p95), "p99": ms(l.p99), "max": ms(l.max)})
    });
    let buckets = v.buckets(p).into_iter();
    let buckets: Vec<Value> = buckets
        .map(|b| json!({"from": rounded(b.from * 1e3), "to": rounded(b.to * 1e3), "share": rounded(b.share)}))
        .collect();
    let seconds = v.runs(p).iter().map(|m| rounded(m.seconds));
    let points = |m: &bench::disk::Measured| {
        let points = m
            .curve
            .iter()
            .map(|(t, rate)| [rounded(*t), rounded(*rate)]);
        points.collect::<Vec<_>>()
    };
    let over_time: Vec<Vec<[f64; 2]>> = v.runs(p).iter().map(points).collect();
    json!({
        "pattern": p.to_string(), "unit": p.unit(), "rate": v.spread(p).map(spread_json), "runs": list(v.rates(p)),
        "seconds": seconds.collect::<Vec<_>>(), "change_of_halves": changes.collect::<Vec<_>>(),
        "steady": v.is_steady(p), "settled_after": v.settled_after(p).map(|s| rounded(s.after.as_secs_f64())), "noise": v.noise(p).map(rounded),
        "latency_ms": latency, "histogram_ms": buckets, "over_time": over_time,
        "syncs": list(v.more(p, "syncs")),
    })
}

#[cfg(test)]
mod tests {
    use super::about;

    #[test]
    fn about_has_two_digits() {
        assert_eq!(about(476.0), "480");
        assert_eq!(about(12_345.0), "12,000");
        assert_eq!(about(3.26), "3.3");
        assert_eq!(about(96.0), "96");
        assert_eq!(about(0.0), "0");
    }
}
