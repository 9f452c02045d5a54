//! What is created after the rows: foreign keys, triggers, routines, views, events.
//!
//! An object that the target refuses does not fail the load of the rows: it is listed by name, and the run
//! ends with the exit code for exceptions.

use super::LoadPlan;
use super::attempt::is_there;
use super::definitions::statements;
use super::prepared::ForeignKeys;
use crate::Target;
use crate::script::{self, Allowed, Statement};
use archive::open::{Schema, Table, View};
use base::{Result, failpoint};
use run::failure;
use server::quote;
use std::collections::BTreeMap;

/// Creates them, in the order in which one may need another.
pub fn create(t: &mut Target<'_>, plan: &LoadPlan, keys: &[ForeignKeys]) -> Result<()> {
    for k in keys {
        t.run.check()?;
        t.add_foreign_keys(k)?;
    }
    for part in &plan.schemas {
        let schema = &plan.archive.schemas()[part.at];
        for at in &part.tables {
            let table = &schema.tables[*at];
            // Triggers would see the rows that a resuming load puts into an emptied table.
            if plan.is_refused(table) || plan.is_emptied(table) {
                continue;
            }
            if let Some(file) = &table.triggers {
                let statements = statements(plan, Some(&schema.name), file)?;
                let kinds = [Allowed::Trigger, Allowed::Database];
                t.programs(plan, &schema.name, &statements, &kinds, file)?;
                t.order_of_triggers(plan, table)?;
            }
        }
    }
    // Functions before views, which may call them; events last, for they start to run.
    t.schema_programs(plan, Allowed::Routine)?;
    let refused = t.views(plan)?;
    // A placeholder that no view has replaced would look like a table of the dump.
    for view in &refused {
        t.attempt(
            &format!("DROP VIEW IF EXISTS {view}"),
            &format!("the placeholder of view {view}"),
        )?;
    }
    t.report.refused_views = refused.len() as u64;
    // What they are about is there now, and no event runs yet.
    super::accounts::grant(t, plan)?;
    t.schema_programs(plan, Allowed::Event)
}

impl Target<'_> {
    fn schema_programs(&mut self, plan: &LoadPlan, kind: Allowed) -> Result<()> {
        if !plan.parts.has(kind) {
            return Ok(());
        }
        for part in plan.schemas.iter().filter(|p| p.whole) {
            let schema = &plan.archive.schemas()[part.at];
            for file in &schema.ddl {
                let statements = statements(plan, None, file)?;
                let statements: Vec<Statement> = statements
                    .into_iter()
                    .filter(|s| !(s.kind == Allowed::Database && s.text.contains("CREATE")))
                    .collect();
                if statements.iter().any(|s| s.kind == kind) {
                    let kinds = [kind, Allowed::Database];
                    self.programs(plan, &schema.name, &statements, &kinds, file)?;
                }
            }
        }
        Ok(())
    }

    /// Names a table whose triggers run in another order: one that is made beside others that are left runs behind them.
    fn order_of_triggers(&mut self, plan: &LoadPlan, table: &Table) -> Result<()> {
        let left = |name: &String| {
            let name = quote::qualified(&table.schema, name);
            plan.treated().left.contains(&format!("trigger {name}"))
        };
        let ours = &table.meta.triggers;
        if ours.iter().all(left) || !ours.iter().any(left) {
            return Ok(());
        }
        let sql = format!(
            "SELECT CONCAT(action_timing, ' ', event_manipulation), trigger_name FROM information_schema.triggers \
             WHERE event_object_schema = {} AND event_object_table = {} ORDER BY action_timing, event_manipulation, action_order",
            quote::text(&table.schema),
            quote::text(&table.name)
        );
        let rows = self.conn.fetch(sql);
        let rows = rows.map_err(|e| failure::wire("cannot look at the triggers", e))?;
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in rows {
            let mut cells = row
                .into_iter()
                .map(|c| String::from_utf8_lossy(&c.unwrap_or_default()).into_owned());
            if let (Some(group), Some(name)) = (cells.next(), cells.next())
                && ours.contains(&name)
            {
                groups.entry(group).or_default().push(name);
            }
        }
        for there in groups.into_values() {
            let wanted: Vec<&String> = ours.iter().filter(|n| there.contains(n)).collect();
            if !there.iter().eq(wanted.iter().copied()) {
                let wanted: Vec<&str> = wanted.into_iter().map(String::as_str).collect();
                self.refused(format!(
                    "the triggers of table {} run in the order {} here, and in the archive {}: one that is made runs behind those that are there",
                    quote::qualified(&table.schema, &table.name),
                    there.join(", "),
                    wanted.join(", ")
                ));
            }
        }
        Ok(())
    }

    /// Runs a script with the settings that it has; of its objects, only those of these kinds.
    fn programs(
        &mut self,
        plan: &LoadPlan,
        schema: &str,
        statements: &[Statement],
        kinds: &[Allowed],
        file: &str,
    ) -> Result<()> {
        self.run.check()?;
        self.execute(
            &format!("USE {}", quote::ident(schema)),
            "cannot use the schema",
        )?;
        // An object is made under the collation that its schema had then, which the script sets before it.
        let own = match statements.iter().any(|s| s.kind == Allowed::Database) {
            true => self.collation_of(schema)?,
            false => None,
        };
        for s in statements {
            match s.kind {
                Allowed::Set => {
                    let (text, note) = script::adapt_set(&s.text, &self.id);
                    self.report.notes.extend(note);
                    self.attempt(&text, &format!("a setting in {file}"))?;
                }
                Allowed::Database if kinds.contains(&s.kind) => {
                    let (text, note) = script::adapt_database(&s.text, &self.id);
                    self.report.notes.extend(note);
                    failpoint::reached("the collation of a schema is changed");
                    self.attempt(&text, &format!("a setting in {file}"))?;
                }
                kind if kinds.contains(&kind) => {
                    let object = s.object();
                    let what = match &object {
                        Some((word, name)) => {
                            format!("{word} {}", quote::qualified(schema, name))
                        }
                        None => format!("a statement in {file}"),
                    };
                    if plan.treated().left.contains(&what) {
                        continue;
                    }
                    if let Some(why) = &s.unsure {
                        self.not_renamed(&what, why);
                        continue;
                    }
                    self.report.notes.extend(s.notes.iter().cloned());
                    self.names_left(&what, s);
                    let is_event = matches!(&object, Some(("event", _)));
                    let text = match is_event && self.options.for_replica {
                        true => script::for_replica(&s.text),
                        false => s.text.clone(),
                    };
                    let made = self.attempt(&text, &what)?;
                    if let (true, Some((word, _))) = (made, &object) {
                        *self.report.made.entry(word).or_default() += 1;
                    }
                    if let (true, Some(("event", name))) = (made, &object) {
                        self.event_in_the_past(schema, name, &text)?;
                    }
                    failpoint::reached("an object is created");
                }
                _ => {}
            }
        }
        // The schema may have existed with another one, which the script does not know.
        if let Some(own) = own
            && self.collation_of(schema)?.as_ref() != Some(&own)
        {
            self.execute(
                &format!("ALTER DATABASE {} COLLATE {own}", quote::ident(schema)),
                "cannot put back the schema's collation",
            )?;
        }
        Ok(())
    }

    /// Names an event whose time has passed: the server drops it at once or disables it, and says so in a note
    /// only, or (MySQL, an end that has passed) takes it and drops it later. (With a clock set back it would
    /// take it, and run it at once, a second time.) The event was made in this session, so its times are in
    /// the session's time zone, as `NOW()` is.
    fn event_in_the_past(&mut self, schema: &str, name: &str, text: &str) -> Result<()> {
        let sql = format!(
            "SELECT status = 'ENABLED', ends <= NOW(), on_completion = 'NOT PRESERVE' FROM information_schema.events \
             WHERE event_schema = {} AND event_name = {}",
            quote::text(schema),
            quote::text(name)
        );
        let rows = self
            .conn
            .fetch(sql)
            .map_err(|e| failure::wire("cannot look at the events", e))?;
        let is = |cell: Option<&Option<Vec<u8>>>| cell.is_some_and(|c| c.as_deref() == Some(b"1"));
        let what = match rows.first() {
            None => "does not exist here",
            // A disabled one too: MySQL disables on the source what will not run again before its end.
            Some(row) if is(row.get(1)) && is(row.get(2)) => "is dropped here",
            Some(_) if !script::is_enabled(text) => return Ok(()),
            Some(row) if !is(row.first()) => "is disabled here",
            Some(row) if is(row.get(1)) => "never runs here",
            Some(_) => return Ok(()),
        };
        self.refused(format!(
            "event {}: its time has passed, so it {what}, as it would be on the source by now",
            quote::qualified(schema, name)
        ));
        Ok(())
    }

    /// Replaces the placeholders of views; gives those that the target refuses. One may be refused only because a view that it
    /// reads is still a placeholder (WITH CHECK OPTION), so those are tried again as long as that makes some.
    fn views(&mut self, plan: &LoadPlan) -> Result<Vec<String>> {
        let mut waiting = Vec::new();
        for part in &plan.schemas {
            let schema = &plan.archive.schemas()[part.at];
            let views = part.views.iter().map(|at| (schema, &schema.views[*at]));
            waiting.extend(views.filter(|(schema, view)| {
                !self
                    .kept
                    .contains(&quote::qualified(&schema.name, &view.name))
                    && !plan.leaves(&schema.name, &view.name)
            }));
        }
        let mut last = false;
        while !waiting.is_empty() {
            let mut refused = Vec::new();
            for (schema, view) in &waiting {
                let mut statements = statements(plan, None, &view.ddl)?;
                for s in statements.iter_mut().filter(|s| s.kind == Allowed::View) {
                    s.text = script::or_replace(&s.text);
                }
                if !self.view(plan, view, &statements, last)? {
                    refused.push((*schema, *view));
                }
            }
            if last {
                let name =
                    |(schema, view): &(&Schema, &View)| quote::qualified(&schema.name, &view.name);
                return Ok(refused.iter().map(name).collect());
            }
            last = refused.len() == waiting.len();
            waiting = refused;
        }
        Ok(Vec::new())
    }

    /// Replaces the placeholder of a view by the view; false if the target refuses it, which is said if this is the last attempt.
    ///
    /// A view that calls a function which reads the view cannot replace its own source: it is created under
    /// another name, while the placeholder still answers, and is then renamed.
    fn view(
        &mut self,
        plan: &LoadPlan,
        view: &View,
        statements: &[Statement],
        last: bool,
    ) -> Result<bool> {
        let (schema, name, file) = (&view.schema, &view.name, &view.ddl);
        self.execute(
            &format!("USE {}", quote::ident(schema)),
            "cannot use the schema",
        )?;
        let mut made = true;
        for s in statements {
            if s.kind != Allowed::View {
                let one = std::slice::from_ref(s);
                self.programs(plan, schema, one, &[], file)?;
                continue;
            }
            let what = format!("view {}", quote::qualified(schema, name));
            if let Some(why) = &s.unsure {
                if last {
                    self.not_renamed(&what, why);
                }
                made = false;
                continue;
            }
            let Err(error) = self.conn.execute(&s.text) else {
                self.names_left(&what, s);
                *self.report.made.entry("view").or_default() += 1;
                continue;
            };
            let wire::Error::Server(refusal) = error else {
                return Err(failure::wire(
                    format_args!("cannot create view {name}"),
                    error,
                ));
            };
            let (own, other) = (
                quote::ident(name),
                quote::ident(&format!("penstock {name}")),
            );
            let text = s
                .text
                .replacen(&format!(" VIEW {own}"), &format!(" VIEW {other}"), 1);
            let detour = text != s.text
                && self.conn.execute(&text).is_ok()
                && self.conn.execute(format!("DROP VIEW {own}")).is_ok()
                && self
                    .conn
                    .execute(format!("RENAME TABLE {other} TO {own}"))
                    .is_ok();
            if detour || last {
                self.names_left(&what, s);
            }
            if detour {
                *self.report.made.entry("view").or_default() += 1;
            } else {
                let _ = self.conn.execute(format!("DROP VIEW IF EXISTS {other}"));
                made = false;
                if !last {
                    continue;
                }
                let text = format!("view {}: {refusal}", quote::qualified(schema, name));
                self.run.observer.warn(text.clone());
                self.report.exceptions.push(text);
                self.report.repairable = true;
            }
        }
        Ok(made)
    }

    /// Names an object that is not created, because its references to others are not certain.
    fn not_renamed(&mut self, what: &str, why: &str) {
        self.refused(format!(
            "{what} is not created: {why}; create it by hand, with the names that it shall use"
        ));
    }

    /// Names what is in strings of an object, where it may be a name that changed.
    fn names_left(&mut self, what: &str, s: &Statement) {
        for left in &s.left {
            self.refused(format!("{what}: {left}"));
        }
    }

    /// Adds foreign keys; a refusal is an exception.
    pub fn add_foreign_keys(&mut self, k: &ForeignKeys) -> Result<()> {
        failpoint::reached("foreign keys are about to be added");
        self.execute(
            &format!("USE {}", quote::ident(&k.schema)),
            "cannot use the schema",
        )?;
        if self.resuming && self.has_foreign_keys(k)? {
            return Ok(());
        }
        let clauses: Vec<String> = k.clauses.iter().map(|c| format!("ADD {c}")).collect();
        self.attempt(
            &format!("ALTER TABLE {} {}", k.table, clauses.join(", ")),
            &format!("foreign keys of table {}", k.table),
        )
        .map(drop)
    }

    /// Whether the interrupted load has added them: one ALTER adds all or none.
    fn has_foreign_keys(&mut self, k: &ForeignKeys) -> Result<bool> {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.table_constraints WHERE constraint_type = 'FOREIGN KEY' \
             AND table_schema = {} AND table_name = {}",
            quote::text(&k.schema),
            quote::text(&k.name)
        );
        let rows = self
            .conn
            .fetch(sql)
            .map_err(|e| failure::wire("cannot look at the foreign keys", e))?;
        let cell = rows.into_iter().flatten().flatten().next();
        Ok(cell.is_some_and(|c| c != b"0"))
    }

    /// Runs a statement whose failure is an exception and does not end the load; whether it succeeded.
    fn attempt(&mut self, sql: &str, what: &str) -> Result<bool> {
        match self.conn.execute(sql) {
            Ok(_) => Ok(true),
            Err(e) if self.resuming && is_there(&e) => Ok(false),
            Err(wire::Error::Server(e)) => {
                let text = format!("{what}: {e}");
                self.run.observer.warn(text.clone());
                self.report.exceptions.push(text);
                self.report.repairable = true;
                Ok(false)
            }
            Err(e) => Err(failure::wire(what, e)),
        }
    }
}
