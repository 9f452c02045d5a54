//! Transactions that are open for long.

use crate::check::{Check, Group, Seen, Severity, shown};
use crate::facts::{Facts, Known, Transaction};
use base::units::count;

pub const CHECK: Check = Check {
    name: "long-transactions",
    group: Group::Jobs,
    job: None,
    needs: None,
    reason: "a transaction that stays open keeps old rows (the history list) and the definitions of its tables: ALTER, DROP and a load beside it wait for its end, and each query becomes slower",
    source: "MySQL Reference Manual, \"InnoDB Multi-Versioning\" and \"The INFORMATION_SCHEMA INNODB_TRX Table\"",
    look,
};

/// Seconds after which a transaction is long.
const LONG: u64 = 300;

/// Entries of the history list that are many.
const MANY: u64 = 1_000_000;

fn look(facts: &Facts) -> Known<Seen> {
    let all = facts.transactions.as_ref().map_err(Clone::clone)?;
    let mut seen = Seen::fine(format!("open transactions: {}", all.len()));
    let mut long: Vec<&Transaction> = all.iter().filter(|t| t.seconds >= LONG).collect();
    long.sort_by_key(|t| std::cmp::Reverse(t.seconds));
    if let Some(first) = long.first() {
        let kill = format!("KILL {};", first.connection);
        let words: Vec<String> = long
            .iter()
            .map(|t| {
                format!(
                    "connection {}, {} s, {} rows changed",
                    t.connection,
                    t.seconds,
                    count(t.changed)
                )
            })
            .collect();
        seen.found(
            Severity::Warning,
            format!(
                "transactions that are open for more than five minutes: {}",
                shown(&words)
            ),
        )
        .todo(format!(
            "have the application end them, or {kill} (what they changed is rolled back)"
        ));
    }
    if let Some(history) = facts.counter("innodb_history_list_length")? {
        seen.saw(format!("the history list has {} entries", count(history)));
        if history > MANY {
            seen.found(Severity::Warning, format!("the history list has {} entries: old rows are kept for a transaction, or the purge does not keep up", count(history)));
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    fn open(seconds: u64) -> Made {
        let transaction = Transaction {
            connection: 9,
            seconds,
            changed: 1200,
        };
        Made::new(&[]).but(|f| f.transactions = Ok(vec![transaction]))
    }

    #[test]
    fn it_fires_on_long_transactions() {
        Made::new(&[]).remote().fine(&CHECK);
        open(299).fine(&CHECK);
        open(301).fires(
            &CHECK,
            Severity::Warning,
            "connection 9, 301 s, 1,200 rows changed",
        );
        let history = |n: &str| Made::new(&[]).status(&[("innodb_history_list_length", n)]);
        history("2000000").fires(&CHECK, Severity::Warning, "2,000,000 entries");
        history("20").fine(&CHECK);
        Made::new(&[])
            .but(|f| f.transactions = Err("GRANT PROCESS".to_owned()))
            .unseen(&CHECK, "GRANT PROCESS");
    }
}
