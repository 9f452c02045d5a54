//! Random tables, rows and changes, the same for the same seed.

/// A generator of numbers (xorshift64*).
pub struct Random(u64);

/// A random table.
pub struct Made {
    /// `CREATE TABLE t (…)`.
    pub create: String,
    /// Columns of its primary key, as an order.
    pub primary: String,
    /// Names of its indexes.
    pub keys: Vec<String>,
    /// Whether it has a column `g` that no row holds.
    pub is_virtual: bool,
    /// Indexes that only the server builds, to be added behind the rows.
    pub later: Vec<String>,
    /// A condition that every row fulfils.
    pub covering: String,
    columns: Vec<Column>,
}

struct Column {
    name: String,
    of: Of,
    nullable: bool,
    is_key: bool,
    /// Has a value of its own in each row, or NULL.
    is_unique: bool,
}

#[derive(Clone)]
enum Of {
    Int(i128, i128),
    Decimal(u32, u32),
    Real,
    Bits(u32),
    /// Characters at most, and which ones.
    Text(u32, &'static [&'static str]),
    Bytes(u32),
    Date,
    Time(u32),
    DateTime(u32),
    Timestamp(u32),
    Year,
    Member(&'static [&'static str]),
    Members(&'static [&'static str]),
    Json,
    Point,
    Uuid,
    Inet4,
    Inet6,
}

const ASCII: &[&str] = &[
    "a", "B", "c", "Z", "0", "9", " ", "_", "-", ".", "~", "%", "'", "!", "x", "y",
];
const LATIN: &[&str] = &["a", "ä", "É", "ß", "ÿ", "€", "z", " ", "0", "Å", "ö"];
const WIDE: &[&str] = &["a", "ä", "漢", "😀", "z", " ", "\t", "Ж", "0"];
const BMP: &[&str] = &["a", "ä", "漢", "z", " ", "Ж", "0"];
const GBK: &[&str] = &["a", "你", "好", " ", "0", "z"];
const CYRILLIC: &[&str] = &["a", "Ж", "я", " ", "0", "z"];
const MEMBERS: &[&str] = &["red", "green", "it's", "b l u e", "ß"];

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

    fn one<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len() as u64) as usize]
    }

    fn percent(&mut self, n: u64) -> bool {
        self.below(100) < n
    }

    /// A type: in words, its values, and whether it may be in a key (with a prefix of so many characters).
    fn of(&mut self, mysql: bool) -> (String, Of, Option<Option<u32>>) {
        let whole = Some(None);
        match self.below(if mysql { 33 } else { 36 }) {
            0 => ("TINYINT".into(), Of::Int(-128, 127), whole),
            1 => ("SMALLINT UNSIGNED".into(), Of::Int(0, 65_535), whole),
            2 => ("MEDIUMINT".into(), Of::Int(-8_388_608, 8_388_607), whole),
            3 => (
                "INT".into(),
                Of::Int(i32::MIN.into(), i32::MAX.into()),
                whole,
            ),
            4 => ("INT UNSIGNED".into(), Of::Int(0, u32::MAX.into()), whole),
            5 => (
                "BIGINT".into(),
                Of::Int(i64::MIN.into(), i64::MAX.into()),
                whole,
            ),
            6 => ("BIGINT UNSIGNED".into(), Of::Int(0, u64::MAX.into()), whole),
            7 => {
                let digits = 1 + self.below(65) as u32;
                let scale = self.below(u64::from(digits.min(30)) + 1) as u32;
                (
                    format!("DECIMAL({digits},{scale})"),
                    Of::Decimal(digits, scale),
                    whole,
                )
            }
            8 => ("FLOAT".into(), Of::Real, whole),
            9 => ("DOUBLE".into(), Of::Real, whole),
            10 => {
                let n = 1 + self.below(64) as u32;
                (format!("BIT({n})"), Of::Bits(n), whole)
            }
            11 => {
                let n = 1 + self.below(60) as u32;
                (
                    format!("CHAR({n}) CHARACTER SET latin1"),
                    Of::Text(n, LATIN),
                    whole,
                )
            }
            12 => {
                let n = 1 + self.below(40) as u32;
                (
                    format!("CHAR({n}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
                    Of::Text(n, WIDE),
                    whole,
                )
            }
            13 => {
                let n = 1 + self.below(300) as u32;
                let collation =
                    self.one(&["utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci"]);
                let text = if collation == "utf8mb4_bin" {
                    WIDE
                } else {
                    ASCII
                };
                (
                    format!("VARCHAR({n}) CHARACTER SET utf8mb4 COLLATE {collation}"),
                    Of::Text(n, text),
                    Some(Some(1 + self.below(u64::from(n.min(100))) as u32)),
                )
            }
            14 => {
                let n = 1 + self.below(200) as u32;
                let (set, text) = *self.pick(&[
                    ("latin1", LATIN),
                    ("ascii", ASCII),
                    ("utf8mb3 COLLATE utf8mb3_bin", BMP),
                ]);
                (
                    format!("VARCHAR({n}) CHARACTER SET {set}"),
                    Of::Text(n, text),
                    Some(Some(1 + self.below(u64::from(n.min(80))) as u32)),
                )
            }
            15 => {
                let n = 1 + self.below(50) as u32;
                (format!("BINARY({n})"), Of::Bytes(n), whole)
            }
            16 => {
                let n = 1 + self.below(400) as u32;
                (
                    format!("VARBINARY({n})"),
                    Of::Bytes(n),
                    Some(Some(1 + self.below(u64::from(n.min(300))) as u32)),
                )
            }
            17 => (
                "TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin".into(),
                Of::Text(9000, WIDE),
                Some(Some(1 + self.below(90) as u32)),
            ),
            18 => (
                "LONGBLOB".into(),
                Of::Bytes(60_000),
                Some(Some(1 + self.below(200) as u32)),
            ),
            19 => ("DATE".into(), Of::Date, whole),
            20 => {
                let n = self.below(7) as u32;
                (format!("TIME({n})"), Of::Time(n), whole)
            }
            21 => {
                let n = self.below(7) as u32;
                (format!("DATETIME({n})"), Of::DateTime(n), whole)
            }
            22 => {
                let n = self.below(7) as u32;
                (format!("TIMESTAMP({n})"), Of::Timestamp(n), whole)
            }
            23 => ("YEAR".into(), Of::Year, whole),
            24 => (
                format!("ENUM({}) CHARACTER SET utf8mb4", list()),
                Of::Member(MEMBERS),
                whole,
            ),
            25 => (
                format!("ENUM({}) CHARACTER SET latin1", list()),
                Of::Member(MEMBERS),
                whole,
            ),
            26 => {
                let n = 1 + self.below(60) as u32;
                (
                    format!("CHAR({n}) CHARACTER SET gbk"),
                    Of::Text(n, GBK),
                    None,
                )
            }
            27 => {
                let n = 1 + self.below(300) as u32;
                (
                    format!("VARCHAR({n}) CHARACTER SET cp1251"),
                    Of::Text(n, CYRILLIC),
                    None,
                )
            }
            // In the collation that is usual: the spaces that fill it up count on neither server.
            28 => {
                let n = 1 + self.below(40) as u32;
                if self.percent(30) {
                    (format!("CHAR({n})"), Of::Text(n, WIDE), None)
                } else {
                    (format!("CHAR({n})"), Of::Text(n, ASCII), whole)
                }
            }
            33 => ("UUID".into(), Of::Uuid, whole),
            34 => ("INET4".into(), Of::Inet4, whole),
            35 => ("INET6".into(), Of::Inet6, whole),
            31 => (self.one(&["GEOMETRY", "POINT"]).to_owned(), Of::Point, None),
            29 | 30 => ("JSON".into(), Of::Json, None),
            _ => (
                format!("SET({}) CHARACTER SET utf8mb4", list()),
                Of::Members(MEMBERS),
                whole,
            ),
        }
    }

    fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len() as u64) as usize]
    }

    /// A table of one to twelve columns and up to five keys.
    pub fn table(&mut self, mysql: bool) -> Made {
        let mut columns = Vec::new();
        let mut lines = Vec::new();
        // Keys: name of a column, and how it stands in a key.
        let mut parts: Vec<(usize, String)> = Vec::new();
        for n in 0..=1 + self.below(11) {
            let (words, of, key) = self.of(mysql);
            let name = format!("c{n}");
            let nullable = n > 1 && self.percent(60);
            let null = if nullable { "NULL" } else { "NOT NULL" };
            // A TIMESTAMP that is not null would get a default of its own.
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
        // What decides a unique key: its own values, and NULLs, which are never equal.
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
        // The primary key: a number of its own, or it and what comes first.
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
        let first = parts.iter().find(|p| !columns[p.0].nullable);
        let (primary, order) = match first {
            Some((n, part)) if composite => (
                format!("{part}, `id`"),
                format!("`{}`, `id`", columns[*n].name),
            ),
            _ => ("`id`".to_owned(), "`id`".to_owned()),
        };
        // A prefix does not order rows as its column does.
        let (primary, order) = if primary.contains('(') {
            ("`id`".to_owned(), "`id`".to_owned())
        } else {
            (primary, order)
        };
        let made = lines.len() as u64;
        // Without one, nothing else may take its place.
        let is_keyed = !self.percent(15);
        if is_keyed {
            lines.push(format!("PRIMARY KEY ({primary})"));
        }
        let order = if is_keyed { order } else { "`id`".to_owned() };
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
            // With the number in it no two rows are equal.
            let unique = if self.percent(30) && is_keyed {
                of.push("`id`".to_owned());
                "UNIQUE "
            } else {
                ""
            };
            lines.push(format!("{unique}KEY k{n} ({})", of.join(", ")));
            keys.push(format!("k{n}"));
        }
        // What is worked out when it is read has no place in a row, wherever it stands in the table.
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
                "CREATE TABLE t ({}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE={collation}{format}",
                lines.join(", ")
            ),
            primary: order,
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

    fn value(&mut self, of: &Of) -> String {
        match of {
            Of::Int(least, most) => match self.below(6) {
                0 => least.to_string(),
                1 => most.to_string(),
                2 => "0".replace('0', if *least <= 0 { "0" } else { "1" }),
                _ => (least + i128::from(self.next()) % (most - least + 1)).to_string(),
            },
            Of::Decimal(digits, scale) => {
                let places = digits - scale;
                let before = self.digits(places);
                let behind = self.digits(*scale);
                let sign = if self.percent(40) { "-" } else { "" };
                let before = if before.is_empty() {
                    "0".into()
                } else {
                    before
                };
                if *scale == 0 {
                    format!("{sign}{before}")
                } else {
                    format!("{sign}{before}.{behind}")
                }
            }
            Of::Real => format!(
                "{}{}.{}",
                if self.percent(50) { "-" } else { "" },
                self.below(5000),
                self.one(&["0", "25", "5", "75"])
            ),
            Of::Bits(n) => {
                let bits = self.next() >> (64 - n);
                format!("b'{bits:b}'")
            }
            Of::Text(most, of) => {
                let n = self.length(*most);
                let text: String = (0..n).map(|_| self.one(of)).collect();
                format!("'{}'", text.replace('\'', "''"))
            }
            Of::Bytes(most) => {
                let n = self.length(*most);
                let mut hex = String::with_capacity(n as usize * 2 + 3);
                for _ in 0..n {
                    let byte = if self.percent(20) {
                        0
                    } else {
                        self.next() & 0xff
                    };
                    hex += &format!("{byte:02x}");
                }
                format!("x'{hex}'")
            }
            Of::Date if self.percent(5) => {
                format!(
                    "'{}'",
                    self.one(&["0000-00-00", "2020-00-00", "2020-07-00"])
                )
            }
            Of::Date => format!("'{}'", self.date(1000, 9999)),
            Of::Time(n) => format!(
                "'{}{:02}:{:02}:{:02}{}'",
                if self.percent(40) { "-" } else { "" },
                self.below(839),
                self.below(60),
                self.below(59),
                self.fraction(*n)
            )
            .replace("838:59:58.", "838:00:00."),
            Of::DateTime(n) => format!(
                "'{} {}{}'",
                self.date(1000, 9999),
                self.clock(),
                self.fraction(*n)
            ),
            Of::Timestamp(n) => format!(
                "'{} {}{}'",
                self.date(1971, 2037),
                self.clock(),
                self.fraction(*n)
            ),
            Of::Year => {
                if self.percent(10) {
                    "0".into()
                } else {
                    (1901 + self.below(255)).to_string()
                }
            }
            Of::Member(list) => format!("'{}'", self.one(list).replace('\'', "''")),
            Of::Members(list) => {
                let some: Vec<String> = list
                    .iter()
                    .filter(|_| self.percent(40))
                    .map(|m| m.replace('\'', "''"))
                    .collect();
                format!("'{}'", some.join(","))
            }
            Of::Point => format!("POINT({}, -{})", self.below(500), self.below(9)),
            Of::Uuid => {
                // Every version, and the variant that has them; others where the server takes them.
                let n = u128::from(self.next()) << 64 | u128::from(self.next());
                let variant = if n >> 79 & 1 == 0 && self.percent(20) {
                    0
                } else {
                    0x8 << 60
                };
                let hex = format!("{:032x}", n & !(0xc << 60) | variant);
                let parts = [
                    &hex[..8],
                    &hex[8..12],
                    &hex[12..16],
                    &hex[16..20],
                    &hex[20..],
                ];
                format!("'{}'", parts.join("-"))
            }
            Of::Inet4 => format!("'{}'", std::net::Ipv4Addr::from(self.next() as u32)),
            Of::Inet6 => {
                let low = u128::from(self.next());
                let n = match self.below(4) {
                    0 => low >> self.below(64),
                    1 => 0xffff << 32 | low & 0xffff_ffff,
                    _ => u128::from(self.next()) << 64 | low,
                };
                format!("'{}'", std::net::Ipv6Addr::from(n))
            }
            Of::Json => {
                let text = self.json(0);
                format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
            }
        }
    }

    /// A document.
    fn json(&mut self, depth: u32) -> String {
        match self.below(if depth < 4 { 14 } else { 10 }) {
            0 => self.one(&["null", "true", "false"]).to_owned(),
            1 => (self.next() as i64 % 100_000).to_string(),
            2 => (self.next() as i64).to_string(),
            3 => self.next().to_string(),
            4 => (self.next() as i64 % 10_000_000_000).to_string(),
            5 => format!("{}.{}", self.below(5000), self.one(&["0", "25", "5", "1"])),
            6 => format!("-{}e{}", self.below(90) + 1, self.below(30)),
            7 if depth > 0 && self.percent(3) => format!("\"{}\"", "long ".repeat(14_000)),
            7 | 8 => {
                let n = self.length(200);
                self.json_text(n)
            }
            9 => self
                .one(&["[]", "{}", "\"\"", "\"\\u0001\\\"\\\\\""])
                .to_owned(),
            10 | 11 => {
                let n = self.below(9);
                let parts: Vec<String> = (0..n).map(|_| self.json(depth + 1)).collect();
                format!("[{}]", parts.join(","))
            }
            _ => {
                let n = self.below(9);
                let parts: Vec<String> = (0..n)
                    .map(|n| {
                        let length = self.below(6);
                        let key = self.json_text(length);
                        // No key is there twice.
                        format!("\"{n}{} : {}", &key[1..], self.json(depth + 1))
                    })
                    .collect();
                format!("{{{}}}", parts.join(", "))
            }
        }
    }

    fn json_text(&mut self, n: u64) -> String {
        let text: String = (0..n).map(|_| self.one(WIDE)).collect();
        format!("\"{}\"", text.replace('\t', "\\t"))
    }

    /// Mostly short, sometimes the longest there is.
    fn length(&mut self, most: u32) -> u64 {
        match self.below(12) {
            0 => 0,
            1 => u64::from(most),
            2 => self.below(u64::from(most) + 1),
            _ => self.below(u64::from(most.min(30)) + 1),
        }
    }

    fn digits(&mut self, n: u32) -> String {
        let used = self.below(u64::from(n) + 1) as u32;
        let zeroes = "0".repeat((n - used) as usize);
        let own: String = (0..used)
            .map(|_| char::from(b'0' + self.below(10) as u8))
            .collect();
        zeroes + &own
    }

    fn date(&mut self, from: u64, to: u64) -> String {
        format!(
            "{:04}-{:02}-{:02}",
            from + self.below(to - from + 1),
            1 + self.below(12),
            1 + self.below(28)
        )
    }

    fn clock(&mut self) -> String {
        format!(
            "{:02}:{:02}:{:02}",
            self.below(24),
            self.below(60),
            self.below(60)
        )
    }

    fn fraction(&mut self, n: u32) -> String {
        if n == 0 {
            return String::new();
        }
        let digits: String = (0..n)
            .map(|_| char::from(b'0' + self.below(10) as u8))
            .collect();
        format!(".{digits}")
    }

    /// Changes that do the same to equal tables; `{t}` is the table.
    pub fn changes(&mut self, made: &Made) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..6 {
            let step = 2 + self.below(9);
            match self.below(4) {
                0 => all.push(format!("DELETE FROM {{t}} WHERE `id` % {step} = 0")),
                1 => {
                    let ids: Vec<i64> = (0..1 + self.below(60)).map(|_| 20_000 + self.below(4000) as i64).collect();
                    let rows: Vec<String> = ids.into_iter().map(|id| self.row(made, id)).collect();
                    all.push(format!("REPLACE INTO {{t}} VALUES {}", rows.join(", ")));
                }
                2 => all.push(format!("UPDATE {{t}} SET `id` = `id` + 100000 WHERE `id` % {step} = 1 ORDER BY `id` DESC")),
                _ => {
                    let changeable: Vec<&Column> = made.columns.iter().filter(|c| !c.is_key && !c.is_unique).collect();
                    let c = *self.pick(&changeable);
                    let value = self.value(&c.of.clone());
                    all.push(format!("UPDATE {{t}} SET `{}` = {value} WHERE `id` % {step} = 1", c.name));
                }
            }
        }
        all
    }
}

fn list() -> String {
    let quoted: Vec<String> = MEMBERS
        .iter()
        .map(|m| format!("'{}'", m.replace('\'', "''")))
        .collect();
    quoted.join(",")
}
