//! Secondary keys taken out of a `CREATE TABLE`, to be added when the rows are
//! there: building a key from sorted entries is cheaper than inserting them one
//! by one.
//!
//! A key stays where the table means something else, or is slower, without it:
//! what clusters the rows, what an AUTO_INCREMENT needs, and sorts of key that
//! only the table as a whole can take.

use super::create::{CreateTable, words};
use super::shape::{Generated, generated};

/// Takes the keys out of a `CREATE TABLE` that can be added after the rows.
///
/// The second part holds them in groups, each for one `ALTER TABLE`, as clauses
/// fit to follow `ADD`: first all ordinary ones, then each full-text key, of
/// which the server builds one at a time. Without any, the statement comes back
/// unchanged.
pub fn strip_secondary_keys(create: &str) -> (String, Vec<Vec<String>>) {
    strip(create, &|_| true)
}

/// As [`strip_secondary_keys`], but only those keys that a file cannot be built with: of words, of
/// space, of expressions, of columns that no row holds, and `others` by name.
pub fn strip_keys_of_server(create: &str, others: &[String]) -> (String, Vec<Vec<String>>) {
    let table = CreateTable::parse(create);
    let not_held: Vec<&str> = table
        .iter()
        .flat_map(|t| &t.elements)
        .filter(|e| generated(e) == Some(Generated::Virtual))
        .filter_map(|e| words(e, 1).first().copied())
        .collect();
    strip(create, &|element| {
        starts(element, &["FULLTEXT"])
            || starts(element, &["SPATIAL"])
            || of_expression(element)
            || columns(element).any(|c| not_held.contains(&c))
            || key_name(element)
                .is_some_and(|name| others.iter().any(|o| crate::quote::ident(o) == name))
    })
}

/// Those keys of groups as [`strip_secondary_keys`] gives them that are not among `there`, by name.
pub fn missing_keys(groups: Vec<Vec<String>>, there: &[String]) -> Vec<Vec<String>> {
    let is_there = |element: &String| {
        let name = key_name(element).unwrap_or_default().to_lowercase();
        there
            .iter()
            .any(|t| crate::quote::ident(t).to_lowercase() == name)
    };
    groups
        .into_iter()
        .map(|group| group.into_iter().filter(|e| !is_there(e)).collect())
        .filter(|group: &Vec<String>| !group.is_empty())
        .collect()
}

/// All keys of a `CREATE TABLE`, as clauses fit to follow `ADD`, in groups as [`strip_secondary_keys`] gives them. Foreign keys
/// are none.
pub fn all_keys(create: &str) -> Vec<Vec<String>> {
    let elements = CreateTable::parse(create).map(|t| t.elements);
    let elements = elements.iter().flatten();
    let (full_text, others): (Vec<&str>, Vec<&str>) = elements
        .filter(|e| is_key(e) || starts(e, &["FULLTEXT"]) || starts(e, &["SPATIAL"]))
        .partition(|e| starts(e, &["FULLTEXT"]));
    let full_text = full_text.into_iter().map(|e| vec![e.to_owned()]);
    std::iter::once(others.into_iter().map(str::to_owned).collect())
        .chain(full_text)
        .filter(|group: &Vec<String>| !group.is_empty())
        .collect()
}

/// The quoted name of a key, of its clause.
pub fn key_name(element: &str) -> Option<&str> {
    words(element, 4).into_iter().find(|w| w.starts_with('`'))
}

/// The quoted names in the list of a key.
fn columns(element: &str) -> impl Iterator<Item = &str> {
    let all = if is_key(element) {
        words(element, usize::MAX)
    } else {
        Vec::new()
    };
    all.into_iter()
        .skip_while(|w| *w != "(")
        .filter(|w| w.starts_with('`'))
}

/// Whether an expression is in the list of a key, in parentheses of its own.
fn of_expression(element: &str) -> bool {
    let all = words(element, usize::MAX);
    let opens = |w: &[&str]| w[1] == "(" && (w[0] == "(" || w[0].ends_with(','));
    is_key(element) && all.windows(2).any(opens)
}

fn strip(create: &str, wanted: &dyn Fn(&str) -> bool) -> (String, Vec<Vec<String>>) {
    let unchanged = || (create.to_owned(), Vec::new());
    let Some(table) = CreateTable::parse(create) else {
        return unchanged();
    };
    // Other engines rebuild the table for each ALTER; and history must not be altered.
    let tail = table.tail.to_ascii_uppercase();
    if !tail.contains("ENGINE=INNODB") || tail.contains("SYSTEM VERSIONING") {
        return unchanged();
    }
    let has_primary = table.elements.iter().any(|e| starts(e, &["PRIMARY"]));
    let auto = table.elements.iter().find_map(|e| auto_increment(e));
    let auto_needs = auto.filter(|column| {
        !table.elements.iter().any(|e| {
            (starts(e, &["PRIMARY"]) || (!has_primary && starts(e, &["UNIQUE"])))
                && first_column(e) == Some(column)
        })
    });
    // Keys before one that stays stay too, so that all come out in their order.
    let stays = |e: &str| auto_needs.is_some() && is_key(e) && first_column(e) == auto_needs;
    let needed = table.elements.iter().position(|e| stays(e)).unwrap_or(0);
    let mut rest = Vec::new();
    let (mut ordinary, mut full_text) = (Vec::new(), Vec::new());
    for (i, element) in table.elements.iter().enumerate() {
        if i <= needed || !wanted(element) {
            rest.push(*element);
        } else if starts(element, &["FULLTEXT"]) {
            full_text.push(vec![(*element).to_owned()]);
        } else if starts(element, &["KEY"])
            || starts(element, &["SPATIAL"])
            || (starts(element, &["UNIQUE"]) && has_primary && !only_whole(element))
        {
            ordinary.push((*element).to_owned());
        } else {
            rest.push(*element);
        }
    }
    if ordinary.is_empty() && full_text.is_empty() {
        return unchanged();
    }
    let groups = std::iter::once(ordinary)
        .chain(full_text)
        .filter(|g| !g.is_empty())
        .collect();
    (table.join(&rest), groups)
}

fn starts(element: &str, with: &[&str]) -> bool {
    let first = words(element, with.len());
    first.len() == with.len()
        && first
            .iter()
            .zip(with)
            .all(|(a, b)| a.eq_ignore_ascii_case(b))
}

fn is_key(element: &str) -> bool {
    ["KEY", "UNIQUE", "PRIMARY"]
        .iter()
        .any(|w| starts(element, &[w]))
}

/// MariaDB's unique keys over hashes of long values, and over periods.
fn only_whole(element: &str) -> bool {
    let text = element.to_ascii_uppercase();
    text.ends_with("USING HASH") || text.contains("WITHOUT OVERLAPS")
}

/// The quoted name of a column that counts by itself.
fn auto_increment(element: &str) -> Option<&str> {
    let words = words(element, usize::MAX);
    let name = words.first().filter(|n| n.starts_with('`'))?;
    words
        .iter()
        .any(|w| w.eq_ignore_ascii_case("AUTO_INCREMENT"))
        .then_some(*name)
}

/// The quoted name that the list of a key begins with.
fn first_column(element: &str) -> Option<&str> {
    let all = words(element, usize::MAX);
    let open = all.iter().position(|w| *w == "(")?;
    all.get(open + 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(keys: &str) -> (Vec<String>, Vec<Vec<String>>) {
        let create = format!(
            "CREATE TABLE `t` (\n  `a` int NOT NULL,\n  `b` text COMMENT 'KEY (`x`)',\n  {keys}\n) ENGINE=InnoDB"
        );
        let (rest, groups) = strip_secondary_keys(&create);
        let rest = CreateTable::parse(&rest).expect("a table");
        let kept = rest.elements[2..].iter().map(|e| (*e).to_owned());
        (kept.collect(), groups)
    }

    #[test]
    fn keys_go_and_the_primary_stays() {
        let (kept, groups) = stripped(
            "PRIMARY KEY (`a`),\n  UNIQUE KEY `u` (`a`,`b`(10)),\n  KEY `k` ((lower(`b`))),\n  FULLTEXT KEY `f` (`b`),\n  FULLTEXT KEY `g` (`b`),\n  SPATIAL KEY `s` (`a`),\n  CONSTRAINT `KEY` CHECK (`a` > 0)",
        );
        assert_eq!(
            kept,
            ["PRIMARY KEY (`a`)", "CONSTRAINT `KEY` CHECK (`a` > 0)"]
        );
        assert_eq!(
            groups,
            [
                vec![
                    "UNIQUE KEY `u` (`a`,`b`(10))",
                    "KEY `k` ((lower(`b`)))",
                    "SPATIAL KEY `s` (`a`)"
                ],
                vec!["FULLTEXT KEY `f` (`b`)"],
                vec!["FULLTEXT KEY `g` (`b`)"]
            ]
        );
    }

    #[test]
    fn keys_that_only_a_server_builds_are_taken_out() {
        let keys = "PRIMARY KEY (`a`),\n  UNIQUE KEY `u` (`a`,`b`(10)),\n  KEY `k` (`a`,(lower(`b`))),\n  KEY `l` ((lower(`b`))),\n  KEY `o``k` (`b`),\n  KEY `of,` (`a`,`b`(3)),\n  FULLTEXT KEY `f` (`b`),\n  SPATIAL KEY `s` (`a`)";
        let create =
            format!("CREATE TABLE `t` (\n  `a` int,\n  `b` text,\n  {keys}\n) ENGINE=InnoDB");
        let (rest, groups) = strip_keys_of_server(&create, &["o`k".to_owned()]);
        assert!(rest.contains("`of,`") && rest.contains("UNIQUE KEY `u`"));
        let names = |g: &Vec<String>| -> Vec<String> {
            g.iter()
                .filter_map(|e| key_name(e).map(str::to_owned))
                .collect()
        };
        assert_eq!(names(&groups[0]), ["`k`", "`l`", "`o``k`", "`s`"]);
        assert_eq!(names(&groups[1]), ["`f`"]);
        let there = ["K".to_owned(), "o`k".to_owned(), "f".to_owned()];
        let missing = missing_keys(groups, &there);
        assert_eq!(missing.len(), 1);
        assert_eq!(names(&missing[0]), ["`l`", "`s`"]);
        let made = "CREATE TABLE `t` (\n  `a` int,\n  `v` int GENERATED ALWAYS AS (`a` + 1) VIRTUAL,\n  `s` int,\n  PRIMARY KEY (`a`),\n  KEY `v` (`s`),\n  KEY `o` (`s`,`v` DESC)\n) ENGINE=InnoDB";
        let (rest, groups) = strip_keys_of_server(made, &[]);
        assert!(rest.contains("KEY `v` (`s`)"), "{rest}");
        assert_eq!(names(&groups[0]), ["`o`"]);
        let plain = "CREATE TABLE `t` (\n  `a` int,\n  PRIMARY KEY (`a`),\n  KEY `k` (`a`)\n) ENGINE=InnoDB";
        assert_eq!(strip_keys_of_server(plain, &[]), (plain.to_owned(), vec![]));
    }

    #[test]
    fn what_clusters_the_rows_stays() {
        let (kept, groups) = stripped("UNIQUE KEY `u` (`a`),\n  KEY `k` (`a`)");
        assert_eq!(kept, ["UNIQUE KEY `u` (`a`)"]);
        assert_eq!(groups, [vec!["KEY `k` (`a`)"]]);
    }

    #[test]
    fn what_counts_keeps_its_key() {
        let create = "CREATE TABLE `t` (\n  `n` int NOT NULL AUTO_INCREMENT,\n  `a` int COMMENT 'AUTO_INCREMENT',\n  PRIMARY KEY (`a`,`n`),\n  KEY `x` (`a`),\n  KEY `n` (`n`),\n  KEY `m` (`n`)\n) ENGINE=InnoDB";
        let (rest, groups) = strip_secondary_keys(create);
        assert!(rest.contains("KEY `x` (`a`),\n  KEY `n` (`n`)"), "{rest}");
        assert_eq!(groups, [vec!["KEY `m` (`n`)"]]);
        let plain = create.replace("PRIMARY KEY (`a`,`n`)", "PRIMARY KEY (`n`)");
        assert_eq!(strip_secondary_keys(&plain).1[0].len(), 3);
    }

    #[test]
    fn other_engines_and_history_are_left_alone() {
        for tail in ["ENGINE=MyISAM", "ENGINE=InnoDB WITH SYSTEM VERSIONING"] {
            let create = format!(
                "CREATE TABLE `t` (\n  `a` int,\n  PRIMARY KEY (`a`),\n  KEY `k` (`a`)\n) {tail}"
            );
            assert_eq!(strip_secondary_keys(&create), (create.clone(), vec![]));
        }
        let hash = "UNIQUE KEY `h` (`b`) USING HASH";
        let (kept, groups) = stripped(&format!("PRIMARY KEY (`a`),\n  {hash}"));
        assert_eq!((kept[1].as_str(), groups.len()), (hash, 0));
    }
}
