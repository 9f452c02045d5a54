//! The starting state of a run: the schema made anew, the same rows each time,
//! and a replica that follows from there where a method needs one.
//!
//! The replica gets its rows the way the source does, and is told to follow
//! from the source's position of that moment: that is quicker than letting it
//! apply them, and the rows are the same byte for byte. It loses whatever it
//! had to apply before, so only a server that holds nothing else is taken for
//! one. Invariant: only schemas that this measurement made are dropped.

use super::super::tpcc::load;
use super::window::Meter;
use super::{Method, OfReplica, Options};
use base::{Error, Kind, Result};
use instance::tune;
use run::Run;
use run::connect;
use run::failure;
use server::{Identity, Position, quote};
use wire::Conn;

/// Schemas that a server brings along.
const SYSTEM: &str = "'mysql', 'sys', 'information_schema', 'performance_schema'";

/// The server, and what was made on it.
pub struct Scene<'a> {
    run: &'a Run,
    options: &'a Options,
    conn: &'a mut Conn,
    id: Identity,
    replica: Option<(Conn, Identity)>,
    /// The schema is there, on the source, on the replica.
    made: [bool; 2],
    bytes: u64,
}

impl<'a> Scene<'a> {
    /// Looks at the servers; changes nothing yet.
    pub fn new(
        run: &'a Run,
        options: &'a Options,
        conn: &'a mut Conn,
        methods: &[Method],
    ) -> Result<Scene<'a>> {
        let id = Identity::read(conn)
            .map_err(|e| failure::server("cannot find out what the server is", e))?;
        free(conn, &options.schema, &options.server)?;
        let replica = match &options.replica {
            Some(server) if methods.iter().any(Method::needs_replica) => {
                let (mut conn, id) = connect::open(run, server)?;
                throw_away(&mut conn, &options.schema, server)?;
                Some((conn, id))
            }
            _ => None,
        };
        Ok(Scene {
            run,
            options,
            conn,
            id,
            replica,
            made: [false; 2],
            bytes: 0,
        })
    }

    /// Bytes of rows in the starting state.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes the starting state anew; `following`: with the replica behind it.
    pub fn reset(&mut self, following: bool) -> Result<()> {
        self.clear()?;
        // What a replica must not apply must not be in the log.
        let quiet = self.replica.is_some();
        let mut fill = load::Options {
            schema: self.options.schema.clone(),
            skip_binlog: quiet,
            cleared: true,
            tune: tune::Options::default(),
            ..load::Options::new(self.options.server.clone(), self.options.warehouses)
        };
        self.made[0] = true;
        self.bytes = load::run(self.run, &fill)?.bytes;
        let (true, Some((replica, id)), Some(server)) =
            (following, &mut self.replica, &self.options.replica)
        else {
            return Ok(());
        };
        fill.server = server.clone();
        self.made[1] = true;
        load::run(self.run, &fill)?;
        let from = Position::read(self.conn, &self.id)
            .map_err(|e| failure::server("cannot read the binary log position", e))?;
        let (Some(file), Some(position)) = (&from.binlog_file, from.binlog_position) else {
            return Err(Error::new(
                Kind::Privilege,
                "the server writes no binary log, so nothing follows it",
            )
            .hint("start it with log_bin, or leave the replica out"));
        };
        let file = quote::text(file);
        let follow = if id.is_mariadb() {
            format!(
                "CHANGE MASTER TO MASTER_LOG_FILE={file}, MASTER_LOG_POS={position}, MASTER_USE_GTID=no"
            )
        } else {
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE={file}, SOURCE_LOG_POS={position}, SOURCE_AUTO_POSITION=0"
            )
        };
        say(replica, &follow)?;
        say(replica, verb(id, "START", ""))
    }

    /// What a method needs before its backups.
    pub fn before(&mut self, method: &Method) -> Result<()> {
        if let Method::BinlogArchive(_) = method {
            // Otherwise the archiver begins with what was written before the window, at full speed.
            say(self.conn, "FLUSH BINARY LOGS")?;
        }
        self.applier(method, "STOP")
    }

    /// The same behind them.
    pub fn after(&mut self, method: &Method) -> Result<()> {
        self.applier(method, "START")
    }

    fn applier(&mut self, method: &Method, what: &str) -> Result<()> {
        match (method, &mut self.replica) {
            (Method::Replica(OfReplica::Stopped), Some((replica, id))) => {
                say(replica, verb(id, what, " SQL_THREAD"))
            }
            _ => Ok(()),
        }
    }

    /// Looks on at the server's memory and at this host.
    pub fn meter(&mut self) -> Result<Meter<'_>> {
        Ok(Meter::open(self.conn))
    }

    /// Drops what was made; the replica follows no more.
    pub fn clear(&mut self) -> Result<()> {
        let drop = self.drop();
        if let Some((replica, id)) = &mut self.replica {
            say(replica, verb(id, "STOP", ""))?;
            if self.made[1] {
                say(replica, "SET SESSION sql_log_bin = 0")?;
                say(replica, &drop)?;
                self.made[1] = false;
            }
        }
        if self.made[0] {
            if self.replica.is_some() {
                say(self.conn, "SET SESSION sql_log_bin = 0")?;
            }
            say(self.conn, &drop)?;
            self.made[0] = false;
        }
        Ok(())
    }

    /// The same at the end, on connections of its own: a stop breaks the others. What could not
    /// be dropped is said, with the statement that does it.
    pub fn leave(&mut self) {
        if self.made == [false; 2] && self.replica.is_none() {
            return;
        }
        let cleared = self.reconnect().and_then(|()| self.clear());
        if let Err(e) = cleared {
            let schema = quote::ident(&self.options.schema);
            self.run.observer.warn(format!(
                "schema {schema} of this measurement could not be dropped and is left on the server ({e}); drop it with: {}",
                self.drop()
            ));
        }
    }

    fn reconnect(&mut self) -> Result<()> {
        if let (Some((conn, _)), Some(server)) = (&mut self.replica, &self.options.replica) {
            *conn = connect::untracked(server)?;
        }
        *self.conn = connect::untracked(&self.options.server)?;
        Ok(())
    }

    fn drop(&self) -> String {
        let schema = quote::ident(&self.options.schema);
        format!("DROP DATABASE IF EXISTS {schema}")
    }
}

fn verb(id: &Identity, what: &str, which: &str) -> String {
    let name = if id.is_mariadb() { "SLAVE" } else { "REPLICA" };
    format!("{what} {name}{which}")
}

fn say(conn: &mut Conn, sql: impl AsRef<str>) -> Result<()> {
    let sql = sql.as_ref();
    conn.execute(sql)
        .map(drop)
        .map_err(|e| failure::wire(format_args!("cannot {sql}"), e))
}

fn schemas(conn: &mut Conn, but: &str) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT schema_name FROM information_schema.schemata WHERE LOWER(schema_name) NOT IN ({but})"
    );
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot list schemas", e))?;
    let names = rows.into_iter().filter_map(|r| r.into_iter().next()?);
    Ok(names
        .map(|n| base::units::printable(&String::from_utf8_lossy(&n)))
        .collect())
}

/// The schema is not there yet.
fn free(conn: &mut Conn, schema: &str, server: &wire::Options) -> Result<()> {
    let all = schemas(conn, SYSTEM)?;
    if !all.iter().any(|s| s.eq_ignore_ascii_case(schema)) {
        return Ok(());
    }
    let name = base::units::printable(&quote::ident(schema));
    Err(Error::new(
        Kind::Target,
        format!("schema {name} is there already on {}", server.endpoint),
    )
    .hint(format!(
        "this measurement makes and drops a schema of its own: name another with --schema; if {name} is what an \
         earlier one left behind when it was killed, drop it"
    )))
}

/// A replica that holds nothing but what servers bring along.
fn throw_away(conn: &mut Conn, schema: &str, server: &wire::Options) -> Result<()> {
    free(conn, schema, server)?;
    let others = schemas(conn, SYSTEM)?;
    if others.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        Kind::Target,
        format!(
            "replica {} holds more than this measurement needs: {}",
            server.endpoint,
            others.join(", ")
        ),
    )
    .hint("it loses its place in the binary log, so it has to be a throw-away one, set up for this: empty, and configured for its source"))
}
