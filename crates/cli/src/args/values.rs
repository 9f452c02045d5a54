//! Values of options: the choices by name, and the quantities that clap has no parser for.

use base::typed;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, ValueEnum};
use rows::accounts::Name;
use std::time::Duration;

/// `--consistency`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// The first of lock, compare, tables and transaction that server and account allow
    Auto,
    /// One snapshot for all workers, taken under a read lock that is held for milliseconds
    Lock,
    /// One snapshot for all workers without a lock, taken again until GTIDs (MySQL) or places in the binary log (MariaDB)
    /// prove that nothing was committed in between
    Compare,
    /// One snapshot for all workers, taken under LOCK TABLES on everything that is dumped
    Tables,
    /// One worker, so that one transaction is enough; the position only where it can be proven
    Transaction,
    /// No lock and no common snapshot, for accounts that may not lock
    None,
}

/// `--verify`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyMode {
    /// Tables that were imported as tablespaces: from their files, and a sample from the server; the others by SQL
    Auto,
    /// All tables by SQL
    Sql,
    /// Only tables that were imported as tablespaces, as with auto; the others are not compared
    Files,
    /// As files: tablespaces are never used without a comparison
    None,
}

/// `--tune`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tune {
    /// Change no setting for speed
    Off,
    /// Change session settings only
    Safe,
    /// Change global settings and put them back, on a server that is not in service: a crash
    /// meanwhile may cost all its data
    Max,
}

/// `--engine` of `bench disk`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// io_uring where the kernel allows it, else threads
    Auto,
    /// io_uring, or an error
    #[value(name = "io_uring")]
    IoUring,
    /// One thread for each operation of the queue
    Threads,
}

/// `--import-mode`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// Big tables as tablespaces where server and table allow it, the others by SQL
    Auto,
    /// All tables by SQL (LOAD DATA)
    Sql,
    /// As tablespaces (.ibd files, built here, then IMPORT TABLESPACE) wherever possible
    Tablespace,
    /// As tablespaces wherever possible, moved into place while the server is stopped; needs
    /// --server-command
    Offline,
}

/// `--defer-indexes`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferIndexes {
    /// Of big tables
    Auto,
    /// Of all tables
    All,
    /// Of none
    Off,
}

/// One `--definer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definer {
    /// As they were.
    Keep,
    /// The account that loads.
    Strip,
    /// Another account for this one.
    Map(Name, Name),
}

/// `keep`, `strip`, or `map=USER@HOST=USER@HOST`.
pub fn definer(text: &str) -> Result<Definer, String> {
    let form = || {
        "keep, strip, or map=USER@HOST=USER@HOST, for instance \"map='app'@'%'='app'@'10.%'\""
            .to_owned()
    };
    match text {
        "keep" => return Ok(Definer::Keep),
        "strip" => return Ok(Definer::Strip),
        _ => {}
    }
    let both = text.strip_prefix("map=").ok_or_else(form)?;
    let mut quoted = None;
    let at = both.bytes().position(|b| {
        match (quoted, b) {
            (None, b'\'' | b'"' | b'`') => quoted = Some(b),
            (Some(quote), b) if quote == b => quoted = None,
            (None, b'=') => return true,
            _ => {}
        }
        false
    });
    let at = at.ok_or_else(form)?;
    let name = |text: &str| account(text).ok_or_else(form);
    Ok(Definer::Map(name(&both[..at])?, name(&both[at + 1..])?))
}

/// `user@host`, with or without quotes; without a host it is the one of all hosts.
fn account(text: &str) -> Option<Name> {
    let bare = |part: &str| {
        let quote = part.chars().next().filter(|c| "'\"`".contains(*c));
        match quote {
            Some(quote) => part
                .strip_prefix(quote)?
                .strip_suffix(quote)
                .map(str::to_owned),
            None => Some(part.to_owned()),
        }
    };
    let (user, host) = text.rsplit_once('@').unwrap_or((text, "%"));
    let (user, host) = (bare(user)?, bare(host)?);
    (!user.is_empty()).then(|| Name::account(user, host))
}

/// `--gtid-purged`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum GtidPurged {
    /// No: it is left as it is
    None,
    /// Yes, on a target that has executed nothing
    Set,
    /// Yes, besides those that it has executed
    Append,
}

/// `--only`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Views, triggers, routines and events; those that are there are refused, left or replaced, as --existing says
    Objects,
    /// Indexes and foreign keys that tables of the target lack, by name
    Indexes,
    /// Accounts with their grants; those that are there are left as they are
    Users,
}

/// `--existing`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The load is refused
    Refuse,
    /// They are left as they are; what is missing is loaded
    Skip,
    /// They are dropped, and loaded from the archive
    Replace,
    /// Tables are emptied and filled, and keep their definitions; all else is left as it is
    Truncate,
}

/// `--ssl-mode`, with the mysql client's values.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// Never TLS
    Disabled,
    /// TLS if the server offers it
    Preferred,
    /// TLS, without checking the certificate
    Required,
    /// TLS, and an authority of --ssl-ca signed the certificate
    #[value(name = "verify_ca", alias = "verify-ca")]
    VerifyCa,
    /// As verify_ca, and the certificate names the host
    #[value(name = "verify_identity", alias = "verify-identity")]
    VerifyIdentity,
}

/// The parser of `--compression`: a method with or without a level.
#[derive(Clone, Debug)]
pub struct Compression;

impl TypedValueParser for Compression {
    type Value = dump::Compression;

    fn parse_ref(
        &self,
        cmd: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let parser = StringValueParser::new().try_map(|text| compression(&text));
        parser
            .parse_ref(cmd, arg, value)
            .map_err(|e| match e.kind() {
                ErrorKind::ValueValidation => e.with_cmd(cmd),
                _ => e,
            })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = [
            ("zstd", "zstd at level 1"),
            ("zstd:LEVEL", "zstd at this level, 1 (fast) to 22 (small)"),
            ("none", "no compression"),
        ];
        let values = values.map(|(name, help)| PossibleValue::new(name).help(help));
        Some(Box::new(values.into_iter()))
    }
}

fn compression(text: &str) -> Result<dump::Compression, String> {
    match text.split_once(':') {
        None if text == "none" => Ok(dump::Compression::None),
        None if text == "zstd" => Ok(dump::Compression::Zstd(1)),
        Some(("zstd", level)) => match level.parse() {
            Ok(level @ 1..=22) => Ok(dump::Compression::Zstd(level)),
            _ => Err(format!("{text:?}: the level must be from 1 to 22")),
        },
        _ => Err(format!(
            "{text:?} is not a compression: one of zstd, zstd:LEVEL (1 to 22), none"
        )),
    }
}

/// A long time with its unit: 36h, 30d, 8w.
pub fn period(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is not a time: write 36h, 30d or 8w");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let number = &text[..text.len() - unit.len_utf8()];
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 7 * 24,
        _ => return Err(wrong()),
    };
    let seconds = number.checked_mul(hours * 3600);
    let seconds = seconds.filter(|s| *s > 0 && *s < 1 << 40);
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// `64M`, `1G`, `500k`, `1000000`: binary multiples, as in the server's own options.
pub fn size(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is not a size; write a number with k, M or G, e.g. 64M");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = typed::multiple(&text[digits.len()..]).ok_or_else(bad)?;
    digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(factor))
        .ok_or_else(bad)
}

/// The value of `--sort-memory`.
pub fn sort_memory(text: &str) -> Result<usize, String> {
    match size(text)? {
        n if n < 1 << 20 => Err("the least is 1M".to_owned()),
        n => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
    }
}

/// `40M`, `40M/s`, `1.5G`: as a size, in a second.
pub fn rate(text: &str) -> Result<u64, String> {
    run::control::rate(text)
        .map_err(|why| format!("{why}; write bytes per second with k, M or G, e.g. 40M or 1.5G"))
}

/// `60s`, `10m`, `1h`, `500ms`, `60`: seconds unless a unit is named.
pub fn duration(text: &str) -> Result<Duration, String> {
    // More than a year is a slip.
    let seconds = typed::time(text).filter(|s| *s <= 3.2e7);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        format!("{text:?} is not a time; write a number with ms, s, m or h, e.g. 90s")
    })
}

/// A time, as microseconds since 1970; without a zone it is in that of this host. A day alone is none: of the moments that could
/// be meant, its first and its last are a day apart.
pub fn moment(text: &str) -> Result<u64, String> {
    let text = text.trim();
    if text.parse::<jiff::civil::Date>().is_ok() && !text.contains(':') && text.len() <= 10 {
        return Err(format!(
            "{text:?} is a day and no moment; write the time as well: '{text} 00:00:00' is its beginning, '{text} 23:59:59' its last second"
        ));
    }
    let stamp = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let civil = text.parse::<jiff::civil::DateTime>().ok()?;
        let zoned = civil.to_zoned(jiff::tz::TimeZone::system()).ok()?;
        Some(zoned.timestamp())
    });
    let micros = stamp.and_then(|t| u64::try_from(t.as_microsecond()).ok());
    micros.ok_or_else(|| {
        format!("{text:?} is not a time; write it like 2026-11-21 12:00:00+09:00 or 2026-11-21T03:00:00Z")
    })
}

/// The name of a transaction.
pub fn gtid(text: &str) -> Result<binlog::gtid::Gtid, String> {
    binlog::gtid::Gtid::parse(text).ok_or_else(|| {
        format!(
            "{text:?} is not a GTID; write UUID:NUMBER, UUID:TAG:NUMBER or DOMAIN-SERVER-NUMBER"
        )
    })
}

/// A place in a binary log.
pub fn log_place(text: &str) -> Result<binlog_archive::Place, String> {
    let place = text.rsplit_once(':').and_then(|(file, offset)| {
        let offset = offset.parse().ok().filter(|_| !file.is_empty())?;
        Some(binlog_archive::Place {
            file: file.to_owned(),
            offset,
        })
    });
    place.ok_or_else(|| format!("{text:?} is not a place in a binary log; write binlog.000012:345"))
}

/// Where a part of a binary log begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// At a place.
    Place(binlog_archive::Place),
    /// With a transaction.
    Gtid(binlog::gtid::Gtid),
    /// At a time, in microseconds since 1970.
    Time(u64),
}

/// A place in a binary log, a GTID or a time.
pub fn point(text: &str) -> Result<Point, String> {
    if let Some(gtid) = binlog::gtid::Gtid::parse(text) {
        return Ok(Point::Gtid(gtid));
    }
    // The places of two files' names and offsets look like times that lack something, and not the other way round.
    if let Ok(time) = moment(text) {
        return Ok(Point::Time(time));
    }
    log_place(text).map(Point::Place).map_err(|_| {
        format!(
            "{text:?} is neither a place (binlog.000012:345), nor a GTID, nor a time (2026-11-21 12:00:00+09:00)"
        )
    })
}

/// `5%`: a share above 0 and below 1.
pub fn share(text: &str) -> Result<f64, String> {
    run::throttle::limits::percent(text)
        .filter(|p| *p < 1.0)
        .ok_or_else(|| format!("{text:?} is not a share above 0 and below 100 per cent, e.g. 5%"))
}

/// `running=64`, `lag=60s`, `history=1000000`, `impact=20%`.
pub fn limit(text: &str) -> Result<run::throttle::Limit, String> {
    run::throttle::Limit::parse(text).map_err(sentence)
}

/// `NAME=VALUE` of a server option.
pub fn mysqld_option(text: &str) -> Result<String, String> {
    instance::managed::options::checked(text).map_err(|e| e.to_string())
}

/// Transactions in a second.
pub fn transactions(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("not a number above 0".to_owned()),
    }
}

/// An error and its way out on one line.
fn sentence(e: base::Error) -> String {
    match e.hint {
        Some(hint) => format!("{}; {hint}", e.what),
        None => e.what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("64M"), Ok(64 << 20));
        assert_eq!(size("1000"), Ok(1000));
        for wrong in ["M", "12X", "99999999999G", "", "-1"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(sort_memory("1M"), Ok(1 << 20));
        assert!(sort_memory("1023k").is_err());
    }

    #[test]
    fn times() {
        let seconds = |text| duration(text).map(|d| d.as_secs_f64()).ok();
        assert_eq!(seconds("90s"), Some(90.0));
        assert_eq!(seconds("2"), Some(2.0));
        assert_eq!(seconds("1.5m"), Some(90.0));
        assert_eq!(seconds("500ms"), Some(0.5));
        assert_eq!(seconds("1h"), Some(3600.0));
        for wrong in ["", "s", "-1s", "10 parsecs", "1e300", "NaN", "infs"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn moments() {
        let at = moment("2026-11-21T03:00:00Z").unwrap();
        assert_eq!(moment("2026-11-21 12:00:00+09:00"), Ok(at));
        assert_eq!(moment(" 2026-11-21 03:00:00.5Z "), Ok(at + 500_000));
        assert!(moment("2026-11-21 03:00").is_ok());
        for day in ["2026-11-21", "20261121"] {
            assert!(moment(day).unwrap_err().contains("is a day"), "{day}");
        }
        for wrong in ["", "yesterday", "12:00", "2026-13-01 00:00:00"] {
            assert!(
                moment(wrong).unwrap_err().contains("is not a time"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn rates() {
        assert_eq!(rate("40M/s"), Ok(40 << 20));
        assert!(
            rate("fast")
                .unwrap_err()
                .starts_with("\"fast\" is not a rate")
        );
        assert!(rate("1").unwrap_err().contains("too low"));
    }

    #[test]
    fn compressions() {
        assert_eq!(compression("none"), Ok(dump::Compression::None));
        assert_eq!(compression("zstd"), Ok(dump::Compression::Zstd(1)));
        assert_eq!(compression("zstd:22"), Ok(dump::Compression::Zstd(22)));
        for wrong in ["", "gzip", "zstd:", "zstd:0", "zstd:23", "lz4:1"] {
            assert!(compression(wrong).is_err(), "{wrong}");
        }
    }
}
