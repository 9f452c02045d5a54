//! Routines, events and triggers: reading them, each with the settings it was made with.
//!
//! One that cannot be read, or whose file would not be read back as the one statement that it is, is left out and
//! named: it does not stop the dump of everything else, and does not hide what follows it in its file.

use super::{DefinitionWriter, one_statement};
use archive::sqlfile::{Program, ProgramKind, triggers_sql};
use base::Result;
use rows::definitions::program;
use run::failure;
use server::catalog::Routine;
use server::ddl::{self, Definition, Object};

impl DefinitionWriter<'_> {
    /// An event or a trigger; `None` if it is left out.
    pub(super) fn program(
        &mut self,
        kind: ProgramKind,
        object: Object,
        schema: &str,
        name: &str,
    ) -> Result<Option<Program>> {
        let read = ddl::read(self.conn, object, schema, name);
        self.proven(kind, schema, name, read)
    }

    /// A routine; `None` if it is left out.
    pub(super) fn routine(
        &mut self,
        kind: ProgramKind,
        routine: &Routine,
    ) -> Result<Option<Program>> {
        let read = ddl::read_routine(self.conn, routine);
        self.proven(kind, &routine.schema, &routine.name, read)
    }

    fn proven(
        &mut self,
        kind: ProgramKind,
        schema: &str,
        name: &str,
        read: server::Result<Definition>,
    ) -> Result<Option<Program>> {
        let definition = match read {
            Ok(definition) => definition,
            Err(e) => {
                let what = format!("{} {}", kind.word(), server::quote::qualified(schema, name));
                self.refused(&what, e)?;
                return Ok(None);
            }
        };
        let program = program(kind, &definition);
        let title = definition.title();
        // By itself: what is wrong with one says nothing of the others.
        let file = triggers_sql(
            &self.header,
            schema,
            name,
            "",
            std::slice::from_ref(&program),
        );
        if !one_statement::is_one(&file, &program.create) {
            self.out.exceptions.push(format!(
                "{title} is not dumped: its definition cannot be proven to be one statement (a quote in another language?); create it by hand on the target, from SHOW CREATE {}",
                kind.word().to_uppercase()
            ));
            return Ok(None);
        }
        if !program.keeps_charset() {
            self.charset_lost(&title, &program.character_set_client);
        }
        Ok(Some(program))
    }

    /// Names an object whose text is not ASCII, and which was made under another character set than that of the files.
    pub(super) fn charset_lost(&mut self, title: &str, charset: &str) {
        self.out.exceptions.push(format!(
            "{title} was created under character_set_client = {charset}, and its text is not plain ASCII: it is created again under utf8mb4"
        ));
    }

    /// Names an object whose definition the server does not show; any other error ends the dump.
    pub(super) fn refused(&mut self, what: &str, error: server::Error) -> Result<()> {
        let odd = match &error {
            server::Error::Wire { source, .. } => {
                matches!(source, wire::Error::Server(_)) && !error.is_privilege()
            }
            server::Error::Answer { .. } => true,
            _ => false,
        };
        if !odd {
            return Err(failure::server("cannot read a definition", error));
        }
        let error = failure::server(format_args!("{what} is not dumped"), error);
        self.run.observer.warn(error.what.clone());
        self.out.exceptions.push(error.what);
        Ok(())
    }
}
