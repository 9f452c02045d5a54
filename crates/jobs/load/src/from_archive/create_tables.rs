//! Many tables of a schema, created by several connections at the same time: a server spends most of a CREATE waiting for
//! files to be synced.
//!
//! This is only the first attempt. What came of it goes to `create_table`, which does the rest for each table in its order,
//! as if it had sent the statement itself. Invariant: no table is created here that needs another one.

use super::LoadPlan;
use super::attempt::{Attempt, Outcome, create_on};
use super::create_table::wanted;
use super::definitions::statements;
use crate::script::{self, Allowed, Statement};
use crate::{MethodPlan, Target};
use archive::open::Table;
use base::{Result, failpoint, lock};
use run::{connect, failure};
use server::{quote, session};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use wire::Conn;

/// Tables of one schema from which on it is worth the connections.
const FROM: usize = 16;

/// Lock wait timeout and deadlock: another attempt may succeed.
const AGAIN: [u16; 2] = [1205, 1213];

/// The connections, which are opened when a schema first needs them.
#[derive(Default)]
pub(super) struct Creators(Vec<Conn>);

impl Creators {
    /// Creates those of a schema's tables that can be created in any order; by their place in `tables`.
    pub(super) fn create(
        &mut self,
        t: &mut Target<'_>,
        plan: &LoadPlan,
        schema: &str,
        tables: &[&Table],
        methods: &MethodPlan,
    ) -> Result<HashMap<usize, Attempt>> {
        // Of an interrupted load most are there, and what its journal says of one that is not goes with its creation.
        if tables.len() < FROM || t.options.threads < 2 || t.resuming {
            return Ok(HashMap::new());
        }
        self.open(t)?;
        let (next, done) = (AtomicUsize::new(0), Mutex::new(HashMap::new()));
        let (run, options, id) = (t.run, t.options, &t.id);
        let conns = self.0.iter_mut().collect();
        let worked = run.workers(conns, |_, conn: &mut Conn, stop| {
            conn.execute(format!("USE {}", quote::ident(schema)))
                .map_err(|e| failure::wire("cannot use the schema", e))?;
            while let Some((at, table)) = next_of(tables, &next) {
                stop.check()?;
                let Some(statements) = alone(plan, table)? else {
                    continue;
                };
                let mut said = None;
                for s in &statements {
                    if s.kind == Allowed::Table {
                        let text = wanted((options, id), plan, table, methods, s).text;
                        let name = quote::qualified(schema, &table.name);
                        failpoint::reached("a table is about to be created");
                        let doing = format!("cannot create table {name}");
                        said = Some(create_on(conn, false, &text, &doing)?);
                        failpoint::reached("a table is created");
                    } else if s.kind == Allowed::Set {
                        conn.execute(&s.text)
                            .map_err(|e| failure::wire("cannot prepare the session", e))?;
                    }
                }
                let again = |o: &Outcome| o.as_ref().is_err_and(|e| AGAIN.contains(&e.code));
                if let Some(outcome) = said.filter(|o| !again(o)) {
                    lock(&done).insert(
                        at,
                        Attempt {
                            statements,
                            outcome,
                        },
                    );
                }
            }
            Ok(())
        });
        let done = base::lock::into_inner(done);
        t.report.touched |= done.values().any(|a| matches!(a.outcome, Ok(true)));
        worked.map(|()| done)
    }

    fn open(&mut self, t: &Target<'_>) -> Result<()> {
        while self.0.len() < t.options.threads {
            let mut conn = connect::connection(t.run, &t.options.target)?;
            session::for_ddl(&mut conn, &t.id)
                .map_err(|e| failure::server("cannot prepare a session", e))?;
            if t.options.skip_binlog {
                session::skip_binlog(&mut conn, &t.id).map_err(|e| {
                    failure::server("cannot keep the load out of the binary log", e)
                })?;
            }
            self.0.push(conn);
        }
        Ok(())
    }
}

fn next_of<'a>(tables: &[&'a Table], next: &AtomicUsize) -> Option<(usize, &'a Table)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    tables.get(at).map(|table| (at, *table))
}

/// The statements of a table that needs no other one.
fn alone(plan: &LoadPlan, table: &Table) -> Result<Option<Vec<Statement>>> {
    let Some(file) = &table.ddl else {
        return Ok(None);
    };
    let statements = statements(plan, None, file)?;
    let usual = |s: &Statement| {
        let kind = matches!(
            s.kind,
            Allowed::Table | Allowed::Set | Allowed::Drop | Allowed::Use | Allowed::Empty
        );
        // Those show rows of other tables, or take values of a sequence.
        let engine = script::engine(&s.text).unwrap_or_default();
        let others = matches!(engine.as_str(), "MRG_MYISAM" | "MERGE")
            || s.text.to_ascii_lowercase().contains("nextval");
        kind && s.unsure.is_none() && !(s.kind == Allowed::Table && others)
    };
    let creates = statements.iter().filter(|s| s.kind == Allowed::Table);
    let fits = creates.count() == 1 && statements.iter().all(usual);
    Ok(fits.then_some(statements))
}
