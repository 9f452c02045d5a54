//! Definitions of an archive, as they are run on the target: checked, under the names that objects get, adapted.

use super::{LoadPlan, definer_clause, skip_damaged};
use crate::rename;
use crate::script::{self, Allowed, Statement};
use crate::{Options, Target};
use base::Result;
use run::failure;
use server::{Identity, ddl, quote};

/// The text of a file, checked against the manifest.
fn sql(plan: &LoadPlan, file: &str) -> Result<String> {
    plan.archive
        .sql(file)
        .map_err(|e| skip_damaged::or(failure::archive("cannot read a definition", &e)))
}

/// The statements of a file, under the names that its objects get; `schema` is that of its objects, on the source unless
/// names are mapped.
pub fn statements(plan: &LoadPlan, schema: Option<&str>, file: &str) -> Result<Vec<Statement>> {
    let names = plan.renaming.as_ref().and_then(|r| r.names(file));
    let schema = names.map(|n| n.home).or(schema);
    let mut all = script::statements_in(schema, file, &sql(plan, file)?)?;
    if !plan.unwanted.is_empty() {
        all.retain(|s| is_wanted(plan, file, s));
    }
    if let Some(names) = names {
        for statement in &mut all {
            rename::statement(statement, &names);
        }
    }
    for statement in &mut all {
        definer_clause::change(statement, &plan.definers);
    }
    Ok(all)
}

/// Whether a statement is not about a trigger, routine or event that is not selected.
fn is_wanted(plan: &LoadPlan, file: &str, s: &Statement) -> bool {
    let kind = match s.kind {
        Allowed::Trigger => "trigger",
        Allowed::Routine => "routine",
        Allowed::Event => "event",
        _ => return true,
    };
    let Some((_, name)) = s.object() else {
        return true;
    };
    !plan.unwanted.contains(&(file.to_owned(), kind, name))
}

/// A definition as this server takes it, and what that changes.
pub(super) fn adapted(t: &Target<'_>, plan: &LoadPlan, text: &str) -> (String, Vec<String>) {
    adapted_for((t.options, &t.id), plan, text)
}

/// The same for this server, where the target is in use.
pub(super) fn adapted_for(
    (options, id): (&Options, &Identity),
    plan: &LoadPlan,
    text: &str,
) -> (String, Vec<String>) {
    let (text, mut notes) = match &plan.source {
        Some(source) => ddl::adapt(text, source, id),
        None => (text.to_owned(), Vec::new()),
    };
    let why = match options.strip_tablespaces {
        true => "--strip-tablespaces",
        false if !id.is_mysql() => "MariaDB has none",
        false => return (text, notes),
    };
    let space = ddl::general_tablespace(&text);
    match space.zip(ddl::without_tablespaces(&text)) {
        Some((space, without)) => {
            let space = quote::ident(&space);
            notes.push(format!(
                "has a file of its own, and is not in the general tablespace {space}: {why}"
            ));
            (without, notes)
        }
        None => (text, notes),
    }
}
