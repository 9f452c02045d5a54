//! Random tables, rows and changes, the same for the same seed. `types` has the types of columns,
//! `values` their values.

mod types;
mod values;

use types::Of;

/// A random number generator (xorshift64*).
pub struct Random(u64);

/// A random table.
pub struct Made {
    /// `CREATE TABLE t (…)`.
    pub create: String,
    /// Columns of its primary key, as an ORDER BY; without one, a number that its first rows have.
    pub primary: String,
    /// Whether it has one.
    pub is_keyed: bool,
    /// Names of its indexes.
    pub keys: Vec<String>,
    /// Whether it has a virtual column `g`.
    pub is_virtual: bool,
    /// Indexes that only the server builds, to be added after the rows.
    pub later: Vec<String>,
    /// A condition that every row meets.
    pub covering: String,
    columns: Vec<Column>,
}

struct Column {
    name: String,
    of: Of,
    nullable: bool,
    is_key: bool,
    /// Has a different value in each row, or NULL.
    is_unique: bool,
}

impl Random {
    /// Numbers of this seed.
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A number below `n`.
    pub fn number(&mut self, n: u64) -> u64 {
        self.below(n)
    }

    fn one<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len() as u64) as usize]
    }

    fn percent(&mut self, n: u64) -> bool {
        self.below(100) < n
    }

    fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len() as u64) as usize]
    }

    /// A table of one to twelve columns and up to five keys.
    pub fn table(&mut self, mysql: bool) -> Made {
        let mut columns = Vec::new();
        let mut lines = Vec::new();
        // Keys: position of a column, and its part in a key.
        let mut parts: Vec<(usize, String)> = Vec::new();
        for n in 0..=1 + self.below(11) {
            let (words, of, key) = self.of(mysql);
            let name = format!("c{n}");
            let nullable = n > 1 && self.percent(60);
            let null = if nullable { "NULL" } else { "NOT NULL" };
            // A TIMESTAMP that is NOT NULL would get a default of the server's.
            let default = if !nullable && words.starts_with("TIMESTAMP") {
                " DEFAULT '2001-01-01 00:00:00'"
            } else {
                ""
            };
            lines.push(format!("`{name}` {words} {null}{default}"));
            match key {
                Some(None) => parts.push((n as usize, format!("`{name}`"))),
                Some(Some(prefix)) => parts.push((n as usize, format!("`{name}`({prefix})"))),
                None => {}
            }
            columns.push(Column {
                name,
                of,
                nullable,
                is_key: false,
                is_unique: false,
            });
        }
        // A column for a unique key: distinct values, and NULLs, which are never equal.
        let unique = self.percent(40);
        if unique {
            lines.push("`u` VARCHAR(30) CHARACTER SET utf8mb4 NULL".to_owned());
            columns.push(Column {
                name: "u".into(),
                of: Of::Int(0, 0),
                nullable: true,
                is_key: false,
                is_unique: true,
            });
        }
        // The primary key: a number, or a column and the number.
        let composite = self.percent(40);
        let at = self.below(lines.len() as u64 + 1) as usize;
        lines.insert(at, "`id` BIGINT NOT NULL".to_owned());
        columns.insert(
            at,
            Column {
                name: "id".into(),
                of: Of::Int(0, 0),
                nullable: false,
                is_key: true,
                is_unique: false,
            },
        );
        for p in &mut parts {
            if p.0 >= at {
                p.0 += 1;
            }
        }
        // A prefix does not order rows as its column does.
        let whole = |p: &&(usize, String)| !columns[p.0].nullable && !p.1.contains('(');
        let mut primary = match parts.iter().find(whole) {
            Some((_, part)) if composite => vec![part.clone(), "`id`".to_owned()],
            _ => vec!["`id`".to_owned()],
        };
        for part in &mut primary {
            if self.percent(20) {
                *part += " DESC";
            }
        }
        let primary = primary.join(", ");
        let made = lines.len() as u64;
        // Without a primary key, nothing else may take its place.
        let is_keyed = !self.percent(15);
        if is_keyed {
            lines.push(format!("PRIMARY KEY ({primary})"));
        }
        let order = if is_keyed { primary } else { "`id`".to_owned() };
        let mut keys = Vec::new();
        if unique {
            let order = self.one(&["", " DESC"]);
            lines.push(format!("UNIQUE KEY ku (`u`{order})"));
            keys.push("ku".to_owned());
        }
        for n in 0..self.below(6) {
            let mut of = Vec::new();
            for _ in 0..=self.below(3) {
                if parts.is_empty() {
                    break;
                }
                let (_, part) = self.pick(&parts).clone();
                let name = part.split('(').next().unwrap_or_default().to_owned();
                if of.iter().any(|p: &String| p.starts_with(&name)) {
                    continue;
                }
                of.push(if self.percent(20) {
                    format!("{part} DESC")
                } else {
                    part
                });
            }
            if of.is_empty() {
                continue;
            }
            // With the number in it no two keys are equal.
            let unique = if self.percent(30) && is_keyed {
                of.push("`id`".to_owned());
                "UNIQUE "
            } else {
                ""
            };
            lines.push(format!("{unique}KEY k{n} ({})", of.join(", ")));
            keys.push(format!("k{n}"));
        }
        // A virtual column is not stored in a row, wherever it is in the table.
        let mut later = Vec::new();
        let is_virtual = self.percent(30);
        if is_virtual {
            let at = self.below(made + 1) as usize;
            lines.insert(
                at,
                "`g` BIGINT GENERATED ALWAYS AS (`id` * 3) VIRTUAL INVISIBLE".into(),
            );
            if self.percent(50) {
                later.push("kg (`g`, `id`)".to_owned());
            }
        }
        let format = self.one(&["", "", " ROW_FORMAT=DYNAMIC"]);
        let collation = if mysql {
            "utf8mb4_0900_ai_ci"
        } else {
            "utf8mb4_general_ci"
        };
        Made {
            create: format!(
                "CREATE TABLE t ({}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 \
                COLLATE={collation}{format}",
                lines.join(", ")
            ),
            primary: order,
            is_keyed,
            keys,
            is_virtual,
            later,
            covering: "`id` > -100000000".into(),
            columns,
        }
    }

    /// The statements that fill it.
    pub fn rows(&mut self, made: &Made) -> Vec<String> {
        let count = match self.below(10) {
            0 => 0,
            1 => 1,
            2..=5 => 20 + self.below(300),
            _ => 300 + self.below(1500),
        };
        let mut id = -(self.below(1000) as i64);
        let mut all = Vec::new();
        let mut statement = String::new();
        for _ in 0..count {
            id += 1 + self.below(5) as i64;
            let row = self.row(made, id);
            if statement.is_empty() {
                statement = format!("INSERT INTO t VALUES {row}");
            } else {
                statement += ", ";
                statement += &row;
            }
            if statement.len() > 500_000 {
                all.push(std::mem::take(&mut statement));
            }
        }
        if !statement.is_empty() {
            all.push(statement);
        }
        all
    }

    fn row(&mut self, made: &Made, id: i64) -> String {
        let values: Vec<String> = made
            .columns
            .iter()
            .map(|c| match c {
                c if c.is_key => id.to_string(),
                c if c.nullable && self.percent(20) => "NULL".into(),
                c if c.is_unique => format!("'{}{id}'", self.one(&["a", "B", "b"])),
                c => self.value(&c.of.clone()),
            })
            .collect();
        format!("({})", values.join(", "))
    }

    /// Changes that have the same effect on equal tables; `{t}` is the table.
    pub fn changes(&mut self, made: &Made) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..6 {
            let step = 2 + self.below(9);
            match self.below(4) {
                0 => all.push(format!("DELETE FROM {{t}} WHERE `id` % {step} = 0")),
                1 => {
                    let ids: Vec<i64> = (0..1 + self.below(60))
                        .map(|_| 20_000 + self.below(4000) as i64)
                        .collect();
                    let rows: Vec<String> = ids.into_iter().map(|id| self.row(made, id)).collect();
                    all.push(format!("REPLACE INTO {{t}} VALUES {}", rows.join(", ")));
                }
                2 => all.push(format!(
                    "UPDATE {{t}} SET `id` = `id` + 100000 WHERE `id` % {step} = 1 \
                    ORDER BY `id` DESC"
                )),
                _ => {
                    let changeable: Vec<&Column> = made
                        .columns
                        .iter()
                        .filter(|c| !c.is_key && !c.is_unique)
                        .collect();
                    let c = *self.pick(&changeable);
                    let value = self.value(&c.of.clone());
                    all.push(format!(
                        "UPDATE {{t}} SET `{}` = {value} WHERE `id` % {step} = 1",
                        c.name
                    ));
                }
            }
        }
        all
    }
}
