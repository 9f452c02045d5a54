//! Definitions, on the control connection: what is adapted, what may fail, and
//! what is never dropped.

use super::*;

impl Stream<'_, '_> {
    /// Runs a statement on the control connection. Unless it is `needed`, a
    /// refusal is an exception and not the end.
    pub(super) fn run(&mut self, text: &[u8], place: &str, needed: bool) -> Result<()> {
        failpoint::reached("a statement is about to run");
        match self.t.conn.execute(text) {
            Ok(_) => Ok(()),
            // 1065: for this server, a comment.
            Err(e) if e.code() == Some(1065) => Ok(()),
            Err(e) if self.t.resuming && (is_there(&e) || e.code() == Some(1061)) => Ok(()),
            Err(wire::Error::Server(e)) if !needed => {
                self.except(place, &e);
                Ok(())
            }
            Err(e) => Err(failure::wire(format_args!("cannot run {place}"), e)),
        }
    }

    /// Creates a view. In folders, which have them by name, it may need one that comes later.
    pub(super) fn view(&mut self, s: Statement, place: String) -> Result<()> {
        failpoint::reached("a view is about to be created");
        match self.t.conn.execute(&s.text) {
            Err(wire::Error::Server(e)) if matches!(e.code, 1146 | 1305 | 1356) => {
                self.later.push(Later {
                    schema: self.current.clone(),
                    text: s.text,
                    charset: s.dialect.charset,
                    place,
                });
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(e) if self.t.resuming && is_there(&e) => Ok(()),
            Err(wire::Error::Server(e)) => {
                self.except(&place, &e);
                Ok(())
            }
            Err(e) => Err(failure::wire(format_args!("cannot run {place}"), e)),
        }
    }

    /// What the target refused and the load can do without.
    pub(super) fn except(&mut self, place: &str, e: &wire::ServerError) {
        let text = printable(&format!("{place}: {e}"));
        self.t.run.observer.warn(text.clone());
        self.t.exceptions.push(text);
    }

    /// The views that lacked something, as often as that gets any of them further.
    pub(super) fn views_again(&mut self) -> Result<()> {
        loop {
            let list = std::mem::take(&mut self.later);
            let before = list.len();
            if before == 0 {
                return Ok(());
            }
            for v in list {
                if let Some(schema) = &v.schema {
                    let sql = format!("USE {}", quote::ident(schema));
                    self.t.execute(&sql, "cannot use the schema")?;
                }
                let charset = v.charset.unwrap_or(Charset::UTF8MB4).name();
                let sql = format!("SET NAMES {charset}");
                self.t.execute(&sql, "cannot prepare a session")?;
                match self.t.conn.execute(&v.text) {
                    Ok(_) => {}
                    Err(wire::Error::Server(_)) => self.later.push(v),
                    Err(e) => return Err(failure::wire(format_args!("cannot run {}", v.place), e)),
                }
            }
            if self.later.len() == before {
                for v in std::mem::take(&mut self.later) {
                    if let Err(wire::Error::Server(e)) = self.t.conn.execute(&v.text) {
                        self.except(&v.place, &e);
                    }
                }
            }
        }
    }

    /// Runs a statement that may store rows, and that a second time would store them again.
    pub(super) fn once(&mut self, part: &Part, n: usize, s: &Statement, place: &str) -> Result<()> {
        let id = format!("{n}@{}", s.offset);
        let Some(journal) = self.journal.clone() else {
            return self.run(&s.text, place, true);
        };
        if journal.has(&id) {
            return Ok(());
        }
        let fail = |e| {
            failure::wire(
                format_args!("cannot run {}, line {}", part.name(), s.line),
                e,
            )
        };
        self.t.conn.execute("START TRANSACTION").map_err(fail)?;
        journal.enter(&mut self.t.conn, &id).map_err(fail)?;
        self.run(&s.text, place, true)?;
        self.t.conn.execute("COMMIT").map(drop).map_err(fail)
    }

    pub(super) fn create_table(
        &mut self,
        name: &Name,
        s: &Statement,
        place: &str,
        stop: &Stop<'_>,
    ) -> Result<()> {
        self.begin()?;
        let key = self.key(name)?;
        self.next_table(Some(&key), stop)?;
        let mut text = match String::from_utf8(s.text.clone()) {
            // A definition in another character set is left as it is.
            Err(_) => {
                self.made.insert(key);
                return self.run(&s.text, place, true);
            }
            Ok(text) => {
                let text = script::must_create(&text);
                self.adapted(text, &format!("table {}", quote::qualified(&key.0, &key.1)))
            }
        };
        let bytes = self.survey.and_then(|s| s.tables.get(&key)).copied();
        let behind = match self.t.options.defer_indexes {
            DeferIndexes::All => true,
            DeferIndexes::Off => false,
            DeferIndexes::Auto => bytes.is_some_and(|b| b >= KEYS_BEHIND),
        };
        if behind {
            let (rest, clauses) = ddl::strip_foreign_keys(&text);
            let (rest, groups) = ddl::strip_secondary_keys(&rest);
            text = rest;
            if !clauses.is_empty() {
                self.foreign.push(ForeignKeys {
                    table: quote::qualified(&key.0, &key.1),
                    schema: key.0.clone(),
                    name: key.1.clone(),
                    clauses,
                });
            }
            if !groups.is_empty() {
                self.keys.insert(key.clone(), groups);
            }
        }
        self.run(text.as_bytes(), place, true)?;
        self.t.touched = true;
        self.made.insert(key);
        Ok(())
    }

    /// A definition as the target needs it, if the dump says where it is from.
    pub(super) fn adapted(&mut self, text: String, what: &str) -> String {
        let Some(source) = &self.source else {
            return text;
        };
        let (text, notes) = ddl::adapt(&text, source, &self.t.id);
        let notes = notes.into_iter().map(|n| format!("{what}: {n}"));
        self.t.notes.extend(notes);
        text
    }

    /// Drops what this load has made (stand-ins for views); what is not there needs no drop.
    pub(super) fn drop_own(
        &mut self,
        names: &[Name],
        text: &[u8],
        place: &str,
        stop: &Stop<'_>,
    ) -> Result<()> {
        for name in names {
            let Some(key) = resolved(name, self.current.as_deref()) else {
                continue;
            };
            let ours = self.made.contains(&key) || self.views.contains(&key) || self.t.resuming;
            if ours {
                continue;
            }
            let sql = format!(
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = {} AND table_name = {}",
                quote::text(&key.0),
                quote::text(&key.1)
            );
            if self.number(&sql)? > 0 {
                return Err(refused(format!(
                    "the dump drops {}, which the target has",
                    printable(&quote::qualified(&key.0, &key.1))
                ))
                .hint("nothing is ever overwritten: drop it yourself if it may go, or choose another server"));
            }
        }
        let standing: Vec<Key> = names
            .iter()
            .filter_map(|n| resolved(n, self.current.as_deref()))
            .filter(|k| {
                self.views.contains(k) || (self.made.contains(k) && !self.shapes.contains_key(k))
            })
            .collect();
        // On resuming, a table with rows is dropped by nobody: its CREATE comes right behind.
        if standing.len() < names.len() {
            return Ok(());
        }
        self.settle(stop)?;
        for key in standing {
            self.made.remove(&key);
        }
        self.run(text, place, false)
    }
}
