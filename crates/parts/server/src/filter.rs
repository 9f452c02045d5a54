//! Which schemas and tables a job is about.
//!
//! A pattern is a name or `schema.table`, with `*` for any run of characters
//! and `?` for one. A name in backticks is taken as it is, dots, `*` and
//! `?` included; a backtick in it is doubled. Between slashes it is a regular
//! expression, which is looked for in the name, or in `schema.table`.
//!
//! Invariant: a pattern that never matched anything can be named afterwards, so
//! a typo cannot pass for an empty result. Schemas of the system come in only
//! when a pattern without wildcards names them.

use crate::{Error, Result};
use regex::{Regex, RegexBuilder};
use std::sync::atomic::{AtomicBool, Ordering};

/// Schemas that belong to the server.
pub const SYSTEM_SCHEMAS: [&str; 5] = [
    "information_schema",
    "performance_schema",
    "mysql",
    "sys",
    "ndbinfo",
];

/// Whether a schema belongs to the server itself, or is a directory that an old
/// server found in its data and shows as a schema (`#mysql50#lost+found`).
pub fn is_system_schema(name: &str) -> bool {
    SYSTEM_SCHEMAS.iter().any(|s| name.eq_ignore_ascii_case(s)) || name.starts_with("#mysql50#")
}

/// Rules for what is taken and what is left.
///
/// Without include patterns everything is taken. With them, a schema is taken
/// whole if a schema pattern names it and no table pattern does; if table
/// patterns name it, only those of its tables are taken. Exclude patterns win
/// over include patterns.
#[derive(Debug, Default)]
pub struct Filter {
    include_schemas: Vec<Pattern>,
    exclude_schemas: Vec<Pattern>,
    include_tables: Vec<Pattern>,
    exclude_tables: Vec<Pattern>,
    /// Of triggers, routines and events.
    programs: [Chosen; 3],
    /// Known only once a server is asked, when others hold the filter already.
    fold_case: AtomicBool,
}

/// A kind of stored program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// A trigger.
    Trigger,
    /// A procedure, a function, a package.
    Routine,
    /// An event.
    Event,
}

/// Which programs of one kind are taken: without include patterns all but the excluded ones.
#[derive(Debug, Default)]
struct Chosen {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

/// One pattern and whether it has ever matched.
#[derive(Debug)]
struct Pattern {
    text: String,
    names: Names,
    used: AtomicBool,
}

/// The names that a pattern fits.
#[derive(Debug)]
enum Names {
    /// Those of a schema, or of a table in one.
    Globs(Glob, Option<Glob>),
    /// Those in which one of these finds something: the second where case does not count.
    Expression(Regex, Regex),
}

/// A name with wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(Vec<Piece>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Char(char),
    One,
    Any,
}

impl Filter {
    /// Whether it leaves everything in.
    pub fn is_empty(&self) -> bool {
        self.all_lists().iter().all(|(.., list)| list.is_empty())
    }

    /// Whether it has patterns for triggers, routines or events.
    pub fn chooses_programs(&self) -> bool {
        let mut chosen = self.programs.iter();
        chosen.any(|c| !c.include.is_empty() || !c.exclude.is_empty())
    }

    /// All its patterns, each list with its name in a record, and that which MySQL Shell's dumps have for such an option.
    fn all_lists(&self) -> [(&'static str, &'static str, &Vec<Pattern>); 10] {
        let [triggers, routines, events] = &self.programs;
        [
            ("only schemas", "includeSchemas", &self.include_schemas),
            ("without schemas", "excludeSchemas", &self.exclude_schemas),
            ("only tables", "includeTables", &self.include_tables),
            ("without tables", "excludeTables", &self.exclude_tables),
            ("only triggers", "includeTriggers", &triggers.include),
            ("without triggers", "excludeTriggers", &triggers.exclude),
            ("only routines", "includeRoutines", &routines.include),
            ("without routines", "excludeRoutines", &routines.exclude),
            ("only events", "includeEvents", &events.include),
            ("without events", "excludeEvents", &events.exclude),
        ]
    }

    /// Its patterns as they were given, each list under its name, for a record of what was asked for.
    pub fn lists(&self) -> impl Iterator<Item = (&'static str, Vec<&str>)> {
        self.given().map(|(name, _, list)| (name, list))
    }

    /// The same, each list under the name that MySQL Shell's dumps have for such an option.
    pub fn options(&self) -> impl Iterator<Item = (&'static str, Vec<&str>)> {
        self.given().map(|(_, name, list)| (name, list))
    }

    fn given(&self) -> impl Iterator<Item = (&'static str, &'static str, Vec<&str>)> {
        let lists = self.all_lists().into_iter().filter(|(.., l)| !l.is_empty());
        lists.map(|(name, option, list)| {
            (name, option, list.iter().map(|p| p.text.as_str()).collect())
        })
    }

    /// Everything but the schemas of the system.
    pub fn all() -> Self {
        Self::default()
    }

    /// A filter from lists of patterns: schema patterns have one part, table patterns two.
    pub fn new<S: AsRef<str>>(
        include_schemas: &[S],
        exclude_schemas: &[S],
        include_tables: &[S],
        exclude_tables: &[S],
    ) -> Result<Self> {
        Ok(Self {
            include_schemas: read(include_schemas, false)?,
            exclude_schemas: read(exclude_schemas, false)?,
            include_tables: read(include_tables, true)?,
            exclude_tables: read(exclude_tables, true)?,
            ..Self::default()
        })
    }

    /// The same with patterns for programs of one kind, each with a schema.
    pub fn with_programs<S: AsRef<str>>(
        mut self,
        kind: Program,
        include: &[S],
        exclude: &[S],
    ) -> Result<Self> {
        self.programs[kind as usize] = Chosen {
            include: read(include, true)?,
            exclude: read(exclude, true)?,
        };
        Ok(self)
    }

    /// Follows the `lower_case_table_names` of the server whose names it is asked about: with 1 and 2 case does not count.
    pub fn follow_case_rule(&self, lower_case_table_names: u8) {
        self.fold_case
            .store(lower_case_table_names != 0, Ordering::Relaxed);
    }

    /// Whether anything of this schema is wanted.
    pub fn schema(&self, schema: &str) -> bool {
        // Every list is looked at, so that each pattern that fits is marked as used.
        let excluded = self.hit_schema(&self.exclude_schemas, schema);
        let included = self.hit_schema(&self.include_schemas, schema);
        let by_table = self.include_tables.iter().any(|p| self.may_name(p, schema));
        if is_system_schema(schema) && !self.named_literally(schema) {
            return false;
        }
        !excluded && (self.takes_all() || included || by_table)
    }

    /// Whether all of this schema is wanted (its exclude patterns for tables apart):
    /// routines and events come only then.
    pub fn whole_schema(&self, schema: &str) -> bool {
        self.schema(schema) && !self.include_tables.iter().any(|p| self.may_name(p, schema))
    }

    /// Whether this table or view is wanted.
    pub fn table(&self, schema: &str, table: &str) -> bool {
        if !self.schema(schema) {
            return false;
        }
        let excluded = self.hit_table(&self.exclude_tables, schema, table);
        let included = self.hit_table(&self.include_tables, schema, table);
        !excluded && (included || self.whole_schema(schema))
    }

    /// Whether this program is wanted, of a schema or table that is.
    pub fn program(&self, kind: Program, schema: &str, name: &str) -> bool {
        let chosen = &self.programs[kind as usize];
        let excluded = self.hit_table(&chosen.exclude, schema, name);
        let included = self.hit_table(&chosen.include, schema, name);
        !excluded && (included || chosen.include.is_empty())
    }

    /// The patterns that have matched nothing so far, as they were given.
    pub fn unmatched(&self) -> Vec<String> {
        let all = self.all_lists().into_iter().flat_map(|(.., list)| list);
        all.filter(|p| !p.used.load(Ordering::Relaxed))
            .map(|p| p.text.clone())
            .collect()
    }

    /// Whether there is no include pattern at all.
    pub fn takes_all(&self) -> bool {
        self.include_schemas.is_empty() && self.include_tables.is_empty()
    }

    /// Whether it may take a schema that it does not name.
    pub fn may_take_unnamed_schemas(&self) -> bool {
        let mut included = self.include_schemas.iter().chain(&self.include_tables);
        self.takes_all() || included.any(|p| p.literal_schema().is_none())
    }

    /// Whether it may take a table of this schema that it does not name.
    pub fn may_take_unnamed_tables(&self, schema: &str) -> bool {
        let mut patterns = self.include_tables.iter();
        self.whole_schema(schema)
            || patterns.any(|p| self.may_name(p, schema) && !p.names_one_table())
    }

    /// Whether a pattern without wildcards names this schema, or a table of it.
    pub fn named_literally(&self, schema: &str) -> bool {
        self.include_schemas
            .iter()
            .chain(&self.include_tables)
            .filter_map(Pattern::literal_schema)
            .any(|glob| glob.matches(schema, self.folds()))
    }

    fn folds(&self) -> bool {
        self.fold_case.load(Ordering::Relaxed)
    }

    /// Whether a pattern for tables may fit one of this schema.
    fn may_name(&self, pattern: &Pattern, schema: &str) -> bool {
        match &pattern.names {
            Names::Globs(glob, _) => glob.matches(schema, self.folds()),
            Names::Expression(..) => true,
        }
    }

    fn hit_schema(&self, list: &[Pattern], schema: &str) -> bool {
        let mut any = false;
        for p in list {
            if p.fits_schema(schema, self.folds()) {
                p.used.store(true, Ordering::Relaxed);
                any = true;
            }
        }
        any
    }

    fn hit_table(&self, list: &[Pattern], schema: &str, table: &str) -> bool {
        let mut any = false;
        for p in list {
            if p.fits_table(schema, table, self.folds()) {
                p.used.store(true, Ordering::Relaxed);
                any = true;
            }
        }
        any
    }
}

fn read<S: AsRef<str>>(list: &[S], tables: bool) -> Result<Vec<Pattern>> {
    list.iter()
        .map(|p| Pattern::read(p.as_ref(), tables))
        .collect()
}

impl Pattern {
    fn read(text: &str, table: bool) -> Result<Self> {
        let wrong = |why: &str| Error::Pattern {
            pattern: text.to_owned(),
            why: why.to_owned(),
        };
        if let Some(expression) = expression(text) {
            let read = |fold: bool| {
                RegexBuilder::new(expression)
                    .case_insensitive(fold)
                    .build()
                    .map_err(|e| wrong(&format!("no regular expression: {e}")))
            };
            return Ok(Self::new(
                text,
                Names::Expression(read(false)?, read(true)?),
            ));
        }
        let mut parts = split(text).map_err(wrong)?.into_iter();
        let (first, second, more) = (parts.next(), parts.next(), parts.next());
        match (first, second, more) {
            (Some(schema), None, _) if !table => Ok(Self::new(text, Names::Globs(schema, None))),
            (Some(schema), Some(name), None) if table => {
                Ok(Self::new(text, Names::Globs(schema, Some(name))))
            }
            _ if table => Err(wrong("it takes two parts: schema.table, or schema.name")),
            _ => Err(wrong(
                "a schema has one part; put a name with a dot in backticks",
            )),
        }
    }

    fn new(text: &str, names: Names) -> Self {
        Self {
            text: text.to_owned(),
            names,
            used: AtomicBool::new(false),
        }
    }

    fn fits_schema(&self, schema: &str, fold: bool) -> bool {
        match &self.names {
            Names::Globs(glob, _) => glob.matches(schema, fold),
            Names::Expression(exact, folded) => match fold {
                true => folded.is_match(schema),
                false => exact.is_match(schema),
            },
        }
    }

    fn fits_table(&self, schema: &str, table: &str, fold: bool) -> bool {
        match &self.names {
            Names::Globs(of_schema, of_table) => {
                of_schema.matches(schema, fold)
                    && of_table.as_ref().is_some_and(|t| t.matches(table, fold))
            }
            Names::Expression(..) => self.fits_schema(&format!("{schema}.{table}"), fold),
        }
    }

    /// The schema that it names without a wildcard.
    fn literal_schema(&self) -> Option<&Glob> {
        match &self.names {
            Names::Globs(schema, _) if schema.is_literal() => Some(schema),
            _ => None,
        }
    }

    /// Whether it names a table without a wildcard.
    fn names_one_table(&self) -> bool {
        matches!(&self.names, Names::Globs(_, Some(table)) if table.is_literal())
    }
}

/// What is between slashes.
pub fn expression(text: &str) -> Option<&str> {
    text.strip_prefix('/')?
        .strip_suffix('/')
        .filter(|e| !e.is_empty())
}

/// Cuts a name at the dots that are outside backticks; the error says what is wrong with it. There are no wildcards.
pub fn names(text: &str) -> std::result::Result<Vec<String>, &'static str> {
    let letter = |piece: &Piece| match piece {
        Piece::Char(c) => *c,
        Piece::One => '?',
        Piece::Any => '*',
    };
    let parts = split(text)?.into_iter();
    Ok(parts
        .map(|part| part.0.iter().map(letter).collect())
        .collect())
}

/// Cuts a pattern at the dots that are outside backticks.
fn split(text: &str) -> Result<Vec<Glob>, &'static str> {
    let mut parts = vec![Vec::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let last = parts.last_mut().expect("never empty");
        match c {
            '.' => parts.push(Vec::new()),
            '*' => last.push(Piece::Any),
            '?' => last.push(Piece::One),
            '`' => loop {
                match chars.next() {
                    None => return Err("a backtick is not closed"),
                    Some('`') if chars.peek() == Some(&'`') => {
                        chars.next();
                        last.push(Piece::Char('`'));
                    }
                    Some('`') => break,
                    Some(c) => last.push(Piece::Char(c)),
                }
            },
            c => last.push(Piece::Char(c)),
        }
    }
    if parts.iter().any(Vec::is_empty) {
        return Err("a part is empty");
    }
    Ok(parts.into_iter().map(Glob).collect())
}

impl Glob {
    /// A name in which `*` and `?` are wildcards.
    pub fn wild(text: &str) -> Glob {
        let piece = |c| match c {
            '*' => Piece::Any,
            '?' => Piece::One,
            c => Piece::Char(c),
        };
        Glob(text.chars().map(piece).collect())
    }

    /// A name without wildcards.
    pub fn literal(text: &str) -> Glob {
        Glob(text.chars().map(Piece::Char).collect())
    }

    fn is_literal(&self) -> bool {
        self.0.iter().all(|p| matches!(p, Piece::Char(_)))
    }

    /// Linear in memory and never exponential: only the last `*` is tried again.
    pub fn matches(&self, name: &str, fold_case: bool) -> bool {
        let same =
            |a: char, b: char| a == b || (fold_case && a.to_lowercase().eq(b.to_lowercase()));
        let name: Vec<char> = name.chars().collect();
        let pattern = &self.0;
        let (mut p, mut n) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while n < name.len() {
            let step = match pattern.get(p) {
                Some(Piece::Any) => {
                    star = Some((p, n));
                    p += 1;
                    continue;
                }
                Some(Piece::One) => true,
                Some(Piece::Char(c)) => same(*c, name[n]),
                None => false,
            };
            if step {
                p += 1;
                n += 1;
            } else if let Some((at, from)) = star {
                star = Some((at, from + 1));
                p = at + 1;
                n = from + 1;
            } else {
                return false;
            }
        }
        pattern[p..].iter().all(|x| *x == Piece::Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filter(i: &[&str], x: &[&str], it: &[&str], xt: &[&str]) -> Filter {
        Filter::new(i, x, it, xt).expect("good patterns")
    }

    #[test]
    fn without_patterns_all_but_the_system() {
        let f = Filter::all();
        assert!(f.schema("shop") && f.table("shop", "t") && f.whole_schema("shop"));
        assert!(!f.schema("#mysql50#lost+found"));
        assert!(!f.schema("mysql") && !f.schema("Performance_Schema"));
        assert!(!filter(&["*"], &[], &[], &[]).schema("sys"));
        assert!(filter(&["mysql"], &[], &[], &[]).schema("mysql"));
    }

    #[test]
    fn tables_named_in_a_schema_are_all_that_comes_of_it() {
        let f = filter(
            &["shop", "crm*"],
            &["crm_old"],
            &["shop.order?", "x.y"],
            &["*.tmp*"],
        );
        assert!(f.table("shop", "orders") && !f.table("shop", "customers"));
        assert!(!f.whole_schema("shop") && f.whole_schema("crm1"));
        assert!(f.table("crm1", "any") && !f.table("crm1", "tmp_1"));
        assert!(!f.schema("crm_old") && f.schema("x") && !f.table("x", "z"));
        assert_eq!(f.unmatched(), ["x.y"]);
    }

    #[test]
    fn backticks_make_names_literal() {
        let f = filter(&["`a.b*`"], &[], &["`s.``x`.`t?`"], &[]);
        assert!(f.schema("a.b*") && !f.schema("a.bc"));
        assert!(f.table("s.`x", "t?") && !f.table("s.`x", "t1"));
        for bad in ["`a", "", "a.b", "."] {
            assert!(Filter::new(&[bad], &[], &[], &[]).is_err(), "{bad}");
        }
        assert!(Filter::new(&[], &[], &["a"], &[]).is_err());
        assert!(Filter::new(&[], &[], &["a.b.c"], &[]).is_err());
    }

    #[test]
    fn an_expression_is_looked_for_in_names() {
        let f = filter(
            &["/^shop_[0-9]{1,2}$/", "crm"],
            &["/_07$/"],
            &[],
            &["/\\.tmp|^crm\\.x$/"],
        );
        assert!(f.schema("shop_1") && f.schema("shop_12") && !f.schema("shop_123"));
        assert!(f.schema("crm") && !f.schema("shop_07") && f.whole_schema("shop_1"));
        assert!(f.table("shop_1", "t") && !f.table("shop_1", "tmp_t") && !f.table("crm", "x"));
        assert!(!f.table("crm", "tmp") && f.table("crm", "xx"));
        assert!(f.unmatched().is_empty());
        let f = filter(&[], &[], &["/^a\\.t[0-9]+$/", "/never/"], &[]);
        assert!(f.table("a", "t1") && !f.table("a", "u") && !f.table("b", "t1"));
        assert!(!f.schema("mysql") && !f.whole_schema("a"));
        assert_eq!(f.unmatched(), ["/never/"]);
        assert!(!f.table("a", "T1"));
        f.follow_case_rule(1);
        assert!(f.table("a", "T1"));
        assert!(Filter::new(&["/(/"], &[], &[], &[]).is_err());
        // Without slashes at both ends, or in backticks, it is a name.
        assert!(filter(&["`/a/`"], &[], &[], &[]).schema("/a/"));
        assert!(filter(&["/a"], &[], &[], &[]).schema("/a"));
    }

    #[test]
    fn programs_are_chosen_by_kind_and_name() {
        let f = filter(&[], &[], &[], &["shop.big"])
            .with_programs(Program::Trigger, &[], &["shop.audit_*"])
            .and_then(|f| f.with_programs(Program::Routine, &["/^shop\\./", "crm.p"], &["*.old"]))
            .expect("good patterns");
        assert!(f.program(Program::Event, "shop", "audit_1"));
        assert!(
            !f.program(Program::Trigger, "shop", "audit_1")
                && f.program(Program::Trigger, "shop", "t")
        );
        assert!(
            f.program(Program::Routine, "shop", "p") && !f.program(Program::Routine, "shop", "old")
        );
        assert!(!f.program(Program::Routine, "other", "p") && !f.is_empty());
        assert_eq!(f.unmatched(), ["shop.big", "crm.p"]);
        let options: Vec<&str> = f.options().map(|(name, _)| name).collect();
        assert_eq!(
            options,
            [
                "excludeTables",
                "excludeTriggers",
                "includeRoutines",
                "excludeRoutines"
            ]
        );
    }

    #[test]
    fn case_counts_as_on_the_server() {
        let filter = filter(&["Shop"], &[], &[], &[]);
        assert!(!filter.schema("shop"));
        filter.follow_case_rule(1);
        assert!(filter.schema("shop"));
    }

    #[test]
    fn many_stars_do_not_hang() {
        let pattern = "*a".repeat(40) + "b";
        let f = filter(&[&pattern], &[], &[], &[]);
        assert!(!f.schema(&"a".repeat(64)));
    }

    proptest! {
        #[test]
        fn a_quoted_name_matches_itself_only(name in ".{1,20}", other in ".{1,20}") {
            let q = crate::quote::ident(&name);
            let f = Filter::new(&[q.as_str()], &[], &[], &[]).expect("a quoted name");
            prop_assert!(f.schema(&name));
            prop_assert_eq!(f.schema(&other), name == other);
        }
    }
}
