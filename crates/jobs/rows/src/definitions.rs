//! Definitions as a server shows them, in the form that an archive has them in.

use archive::sqlfile::{Program, ProgramKind};
use server::catalog::RoutineKind;
use server::ddl::Definition;

/// A stored program with the settings it was made with.
pub fn program(kind: ProgramKind, d: &Definition) -> Program {
    let or = |v: &Option<String>, default: &str| v.clone().unwrap_or_else(|| default.to_owned());
    Program {
        kind,
        name: d.name.clone(),
        create: d.sql.clone(),
        sql_mode: or(&d.sql_mode, ""),
        character_set_client: or(&d.character_set_client, ""),
        collation_connection: or(&d.collation_connection, ""),
        database_collation: or(&d.database_collation, ""),
        time_zone: or(&d.time_zone, ""),
    }
}

/// The text of a view in an archive.
pub fn view(header: &archive::sqlfile::Header<'_>, d: &Definition) -> String {
    archive::sqlfile::view_sql(
        header,
        &d.schema,
        &d.name,
        &d.sql,
        d.character_set_client.as_deref().unwrap_or("utf8mb4"),
        d.collation_connection
            .as_deref()
            .unwrap_or("utf8mb4_general_ci"),
    )
}

/// What a routine is in an archive; `None` for a library, which no archive has.
pub fn kind_of(routine: RoutineKind) -> Option<ProgramKind> {
    match routine {
        RoutineKind::Function => Some(ProgramKind::Function),
        RoutineKind::Procedure => Some(ProgramKind::Procedure),
        RoutineKind::Package => Some(ProgramKind::Package),
        RoutineKind::PackageBody => Some(ProgramKind::PackageBody),
        RoutineKind::Library => None,
    }
}
