//! Queries that a server remembers in performance_schema: the last statements of all sessions
//! (`events_statements_history_long`), and on MySQL one example of each statement (`QUERY_SAMPLE_TEXT`).

use super::sample::Sample;
use base::{Error, Kind, Result};
use run::{Run, failure};
use server::Identity;
use wire::Conn;

const HISTORY: &str = "SELECT CURRENT_SCHEMA, SQL_TEXT FROM performance_schema.events_statements_history_long \
                       WHERE SQL_TEXT IS NOT NULL AND END_EVENT_ID IS NOT NULL";

const EXAMPLES: &str = "SELECT SCHEMA_NAME, QUERY_SAMPLE_TEXT FROM performance_schema.events_statements_summary_by_digest \
                        WHERE QUERY_SAMPLE_TEXT IS NOT NULL";

const CONSUMER: &str = "SELECT ENABLED FROM performance_schema.setup_consumers WHERE NAME = 'events_statements_history_long'";

/// Adds what the server remembers.
pub fn add(
    run: &Run,
    conn: &mut Conn,
    id: &Identity,
    schema: Option<&str>,
    to: &mut Sample,
) -> Result<()> {
    let is_on = |value: &str| value.eq_ignore_ascii_case("ON") || value == "1";
    if !id.variable("performance_schema").is_some_and(is_on) {
        return Err(Error::new(
            Kind::Target,
            format!("{id} remembers no queries: performance_schema is off"),
        )
        .hint("it is set when the server starts; use its slow log or general log (--slow-log, --general-log), or a list (--queries)"));
    }
    let mut ask = |sql: &str| {
        conn.fetch(sql)
            .map_err(|e| failure::wire("cannot read performance_schema", e))
    };
    let consumer = ask(CONSUMER)?;
    let consumer = consumer.first().and_then(|r| r.first()?.as_deref());
    let remembers = consumer.is_some_and(|c| c.eq_ignore_ascii_case(b"YES"));
    if !remembers {
        run.observer.note(
            "the server does not remember its last statements (performance_schema.setup_consumers: events_statements_history_long is off)".to_owned(),
        );
    }
    let mut all = ask(HISTORY)?;
    if id.mysql_at_least(8, 0, 0) {
        all.extend(ask(EXAMPLES)?);
    }
    for row in &all {
        let cell = |at: usize| row.get(at).and_then(Option::as_deref);
        let known = cell(0).map(String::from_utf8_lossy);
        if let Some(text) = cell(1) {
            // What is none is counted.
            let _ = to.add(known.as_deref().or(schema), text);
        }
    }
    Ok(())
}
