//! Columns of every type, with values at their limits and at random.

use crate::kit::sampling::seed;
use testkit::Kind;

/// A column, and values for it as SQL.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its type.
    pub declared: String,
    /// Values.
    pub values: Vec<String>,
}

impl Case {
    fn new<V: ToString>(declared: impl Into<String>, values: impl IntoIterator<Item = V>) -> Case {
        Case {
            declared: declared.into(),
            values: values.into_iter().map(|v| v.to_string()).collect(),
        }
    }
}

/// All of a server of this kind.
pub fn all(kind: Kind) -> Vec<Case> {
    let mut all = Vec::new();
    let mut random = Random(seed() | 1);
    integers(&mut all, &mut random);
    decimals(&mut all, &mut random, kind);
    floats(&mut all, &mut random);
    all.extend(times());
    dates(&mut all, kind);
    bits(&mut all);
    texts(&mut all);
    lists(&mut all);
    spatial(&mut all, kind);
    if kind == Kind::MySql {
        json(&mut all, &mut random);
        all.push(Case::new("VECTOR(3)", ["TO_VECTOR('[1,2.5,-3]')"]));
    } else {
        addresses(&mut all, &mut random);
        all.push(Case::new(
            "YEAR(2)",
            ["0", "'00'", "1", "69", "70", "99", "2000", "1970"],
        ));
    }
    if kind == Kind::MariaDb118 {
        all.push(Case::new("VECTOR(3)", ["VEC_FromText('[1,2.5,-3]')"]));
        all.push(Case::new("VECTOR(100)", ["REPEAT(x'0000803f', 100)"]));
        all.push(Case::new(
            "TIMESTAMP(3)",
            ["'2106-02-07 06:28:15.999'", "'2038-01-19 03:14:08'"],
        ));
    }
    all
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A DOUBLE that can be stored, of random bits.
    fn double(&mut self) -> f64 {
        loop {
            let value = f64::from_bits(self.next());
            if value.is_finite() {
                return value;
            }
        }
    }

    /// A FLOAT likewise.
    fn float(&mut self) -> f32 {
        loop {
            let value = f32::from_bits(self.next() as u32);
            if value.is_finite() {
                return value;
            }
        }
    }

    fn digits(&mut self, count: u64) -> String {
        (0..count)
            .map(|_| char::from(b'0' + (self.next() >> 32) as u8 % 10))
            .collect()
    }
}

fn integers(all: &mut Vec<Case>, random: &mut Random) {
    for (name, bits) in [
        ("TINYINT", 8),
        ("SMALLINT", 16),
        ("MEDIUMINT", 24),
        ("INT", 32),
        ("BIGINT", 64),
    ] {
        let half = 1i128 << (bits - 1);
        let mut some: Vec<i128> = vec![0, 1, -1, 9, 10, 99, 100, half - 1, -half, -half + 1];
        some.extend((0..40).map(|n| i128::from(random.next() as i64 >> (64 - bits) >> (n % bits))));
        all.push(Case::new(name, &some));
        let unsigned: Vec<_> = some.iter().map(|n| n & (2 * half - 1)).collect();
        all.push(Case::new(format!("{name} UNSIGNED"), &unsigned));
        all.push(Case::new(format!("{name} ZEROFILL"), &unsigned));
        all.push(Case::new(format!("{name}(3) ZEROFILL"), &unsigned));
    }
    all.push(Case::new("BIGINT(255) ZEROFILL", [0, 1, u64::MAX]));
}

fn decimals(all: &mut Vec<Case>, random: &mut Random, kind: Kind) {
    let most = if kind == Kind::MySql { 30 } else { 38 };
    for (digits, scale) in [
        (1, 0),
        (1, 1),
        (4, 2),
        (5, 2),
        (9, 0),
        (9, 9),
        (10, 0),
        (10, 1),
        (12, 2),
        (12, 4),
        (18, 0),
        (18, 9),
        (19, 0),
        (19, 10),
        (27, 9),
        (27, 18),
        (28, 1),
        (30, 30),
        (38, most),
        (65, 0),
        (65, 30),
        (65, most),
    ] {
        let mut some = vec![
            "0".to_owned(),
            "-0".into(),
            "1".into(),
            "-1".into(),
            "0.1".into(),
            "-0.1".into(),
        ];
        some.push(format!("1e{}", digits - scale));
        some.push(format!("-1e{}", digits - scale));
        some.push(format!("1e-{scale}"));
        for n in 0..40 {
            let sign = if random.next() >> 63 == 0 { "-" } else { "" };
            let (whole, fraction) = ((digits - scale).min(1 + n * 2), scale);
            some.push(format!(
                "{sign}{}.{}",
                random.digits(whole),
                random.digits(fraction)
            ));
        }
        all.push(Case::new(format!("DECIMAL({digits},{scale})"), &some));
        if digits % 2 == 0 {
            all.push(Case::new(
                format!("DECIMAL({digits},{scale}) ZEROFILL"),
                &some,
            ));
        }
    }
}

fn floats(all: &mut Vec<Case>, random: &mut Random) {
    let mut doubles: Vec<f64> = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        0.3,
        1e15,
        1e14,
        999_999_999_999_999.0,
        1e16,
        1e-4,
        1e-14,
        1e-15,
        1e-16,
        1.5e-15,
        1e22,
        1e23,
        5e-324,
        -5e-324,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        9_007_199_254_740_993.0,
        1_234_567_890_123_456.5,
        123_456_789_012_345.6,
        4_503_599_627_370_496.5,
        1.0 / 3.0,
        2.0 / 3.0,
        1e100,
        1e-100,
        2.225073858507201e-308,
    ];
    // Powers of two: the neighbours of these are not equally far away.
    doubles.extend((-1074..=1023).step_by(11).map(|n| 2f64.powi(n)));
    for n in 0..3000u64 {
        doubles.push(match n % 4 {
            // Of any size, of the size of amounts, whole ones, with few digits.
            0 => random.double(),
            1 => f64::from_bits(0x3d00_0000_0000_0000 + random.next() % (1 << 58)),
            2 => (random.next() >> (n % 60)) as f64,
            _ => (random.next() % 1_000_000) as f64 / 10f64.powi((n % 24) as i32),
        });
    }
    let of = |values: &[f64]| values.iter().map(|d| format!("{d:e}")).collect::<Vec<_>>();
    let small: Vec<f64> = doubles.iter().copied().filter(|d| d.abs() < 1e12).collect();
    all.push(Case::new("DOUBLE", of(&doubles)));
    all.push(Case::new("DOUBLE ZEROFILL", of(&doubles)));
    all.push(Case::new("DOUBLE(20,5)", of(&small)));
    all.push(Case::new("DOUBLE(20,5) ZEROFILL", of(&small)));
    let mut floats: Vec<f32> = vec![
        0.0,
        -0.0,
        0.1,
        16_777_216.0,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-45,
    ];
    floats.extend((0..1000).map(|_| random.float()));
    let floats: Vec<f64> = floats.into_iter().map(f64::from).collect();
    let small: Vec<f64> = floats.iter().copied().filter(|d| d.abs() < 1e5).collect();
    all.push(Case::new("FLOAT", of(&floats)));
    all.push(Case::new("FLOAT ZEROFILL", of(&floats)));
    all.push(Case::new("FLOAT(10,4)", of(&small)));
}

/// Times with every number of digits.
pub fn times() -> Vec<Case> {
    let mut all = Vec::new();
    for digits in 0..=6 {
        all.push(Case::new(
            format!("TIME({digits})"),
            [
                "'00:00:00'",
                "'-00:00:00.000001'",
                "'-00:00:00.1'",
                "'00:00:00.9'",
                "'838:59:59'",
                "'-838:59:59'",
                "'12:34:56.654321'",
                "'-12:34:56.654321'",
                "'100:00:01'",
                "'-01:00:00.000010'",
                "'00:59:59.999'",
                "'23:59:59.999999'",
                "'838:59:58.999999'",
                "'-838:59:58.999999'",
            ],
        ));
        let some = [
            "'2024-02-29 12:34:56.654321'",
            "'1999-12-31 23:59:59.999999'",
            "'2038-01-19 03:14:07'",
            "'1970-01-01 00:00:01'",
            "'0000-00-00 00:00:00'",
            "'2000-03-01 00:00:00.000001'",
            "'2100-02-28 23:59:59.5'",
            "'1971-01-01'",
        ];
        let more = [
            "'9999-12-31 23:59:59.999999'",
            "'0001-01-01'",
            "'2024-02-30 01:02:03'",
            "'2024-00-00'",
            "'0000-01-01 00:00:00.1'",
        ];
        all.push(Case::new(
            format!("DATETIME({digits})"),
            some.iter().chain(&more),
        ));
        all.push(Case::new(format!("TIMESTAMP({digits})"), some));
    }
    all
}

fn dates(all: &mut Vec<Case>, kind: Kind) {
    all.push(Case::new(
        "DATE",
        [
            "'2024-02-29'",
            "'0000-00-00'",
            "'9999-12-31'",
            "'0001-01-01'",
            "'2024-00-00'",
            "'2024-02-31'",
            "'1582-10-15'",
        ],
    ));
    let years = [
        "0", "1901", "1970", "2000", "2155", "'0000'", "69", "70", "99", "'0'", "'00'",
    ];
    all.push(Case::new("YEAR", years));
    if kind != Kind::MySql {
        all.push(Case::new("YEAR(4)", years));
    }
}

fn bits(all: &mut Vec<Case>) {
    all.push(Case::new("BIT", ["0", "1"]));
    for bits in [2, 7, 8, 9, 16, 17, 33, 63, 64] {
        all.push(Case::new(
            format!("BIT({bits})"),
            ["0", "1", "b'10'", "18446744073709551615", "x'7f'"],
        ));
    }
    let bytes = ["''", "'a'", "' a '", "x'00ff00'", "x'2020'", "x'6100'"];
    for declared in [
        "BINARY",
        "BINARY(0)",
        "BINARY(5)",
        "BINARY(255)",
        "VARBINARY(0)",
        "VARBINARY(20)",
        "VARBINARY(255)",
        "VARBINARY(256)",
        "TINYBLOB",
        "BLOB",
        "MEDIUMBLOB",
        "LONGBLOB",
    ] {
        let mut some: Vec<_> = bytes.map(str::to_owned).to_vec();
        some.extend([100, 127, 128, 250, 251, 255, 256].map(|n| format!("REPEAT(x'ff', {n})")));
        all.push(Case::new(declared, some));
    }
}

/// Every character set of the servers.
const SETS: &[&str] = &[
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850",
    "cp852", "cp866", "cp932", "dec8", "eucjpms", "euckr", "gb2312", "gbk", "geostd8", "greek",
    "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce",
    "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8mb3",
    "utf8mb4",
];

fn texts(all: &mut Vec<Case>) {
    let text = [
        "''",
        "' '",
        "'a'",
        "'abc  '",
        "'  abc'",
        "'äöü'",
        "'漢字かな'",
        "'Жук'",
        "'ÿ '",
        "'a\\nb\\tc'",
        "'\\0'",
    ];
    for set in SETS {
        let mut some: Vec<_> = text.map(str::to_owned).to_vec();
        some.push("REPEAT('ab ', 3)".into());
        some.push("REPEAT('字', 10)".into());
        all.push(Case::new(format!("CHAR(10) CHARACTER SET {set}"), &some));
        all.push(Case::new(format!("VARCHAR(10) CHARACTER SET {set}"), &some));
    }
    for declared in [
        "CHAR(0) CHARACTER SET latin1",
        "CHAR(0) CHARACTER SET utf8mb4",
        "VARCHAR(0) CHARACTER SET utf8mb4",
        "CHAR(255) CHARACTER SET latin1",
        "CHAR(63) CHARACTER SET utf8mb4",
        "CHAR(64) CHARACTER SET utf8mb4",
        "CHAR(100) CHARACTER SET utf8mb4",
        "CHAR(100) CHARACTER SET ucs2",
        "CHAR(192) CHARACTER SET utf32",
        "CHAR(193) CHARACTER SET utf32",
        "CHAR(40) CHARACTER SET utf16",
        "CHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "CHAR(85) CHARACTER SET utf8mb3",
        "CHAR(86) CHARACTER SET utf8mb3",
        "VARCHAR(63) CHARACTER SET utf8mb4",
        "VARCHAR(64) CHARACTER SET utf8mb4",
        "VARCHAR(127) CHARACTER SET ucs2",
        "VARCHAR(128) CHARACTER SET ucs2",
        "VARCHAR(255) CHARACTER SET latin1",
        "VARCHAR(256) CHARACTER SET latin1",
        "TINYTEXT CHARACTER SET utf8mb4",
        "TEXT CHARACTER SET utf16",
        "MEDIUMTEXT CHARACTER SET latin1",
        "LONGTEXT CHARACTER SET utf8mb4",
    ] {
        let mut some: Vec<_> = text.map(str::to_owned).to_vec();
        some.extend([20, 63, 64, 100, 127, 128].map(|n| format!("REPEAT('ö', {n})")));
        some.extend([63, 127, 128, 250, 251, 255, 256].map(|n| format!("REPEAT('y', {n})")));
        all.push(Case::new(declared, some));
    }
}

fn lists(all: &mut Vec<Case>) {
    for set in [
        "latin1", "utf8mb4", "ascii", "ucs2", "utf16", "utf16le", "utf32", "gbk", "sjis", "cp1251",
    ] {
        let some = [
            "''",
            "'a'",
            "'it''s'",
            "1",
            "2",
            "3",
            "4",
            "5",
            "'no member'",
        ];
        let words = "'a','it''s','b\\\\c','\"',' d'";
        all.push(Case::new(
            format!("ENUM({words}) CHARACTER SET {set}"),
            some,
        ));
        let some = ["''", "'a'", "1", "3", "31", "'a,it''s'", "20"];
        all.push(Case::new(format!("SET({words}) CHARACTER SET {set}"), some));
    }
    all.push(Case::new(
        "ENUM('ä','ö','ÿ') CHARACTER SET latin1",
        ["'ä'", "'ÿ'", "''"],
    ));
    all.push(Case::new(
        "SET('漢','字') CHARACTER SET sjis",
        ["'漢'", "'字,漢'", "''"],
    ));
    all.push(Case::new(
        "ENUM('ж','字') CHARACTER SET utf8mb4",
        ["'ж'", "2"],
    ));
    all.push(Case::new(
        "ENUM('0','1','') CHARACTER SET latin1",
        ["'0'", "'1'", "''", "'x'", "0"],
    ));
    all.push(Case::new(
        "ENUM('it''0''') CHARACTER SET latin1",
        ["1", "'x'"],
    ));
    for members in [8, 9, 16, 17, 24, 25, 32, 33, 40, 64, 255, 256, 300] {
        let words: Vec<_> = (1..=members).map(|n| format!("'m{n}'")).collect();
        let words = words.join(",");
        let some = [1, 2, members - 1, members].map(|n| format!("'m{n}'"));
        all.push(Case::new(
            format!("ENUM({words}) CHARACTER SET latin1"),
            &some,
        ));
        if members <= 64 {
            let mut some = some.to_vec();
            some.push(format!("'m1,m{members}'"));
            some.push(((1u128 << members) - 1).to_string());
            all.push(Case::new(
                format!("SET({words}) CHARACTER SET latin1"),
                some,
            ));
        }
    }
}

fn spatial(all: &mut Vec<Case>, kind: Kind) {
    let shapes = [
        ("POINT", "'POINT(1 2.5)'"),
        ("LINESTRING", "'LINESTRING(0 0,1 1,2 -3)'"),
        ("POLYGON", "'POLYGON((0 0,1 0,1 1,0 0))'"),
        ("MULTIPOINT", "'MULTIPOINT(1 1,2 2)'"),
        ("MULTILINESTRING", "'MULTILINESTRING((0 0,1 1),(2 2,3 3))'"),
        ("MULTIPOLYGON", "'MULTIPOLYGON(((0 0,1 0,1 1,0 0)))'"),
        (
            "GEOMETRYCOLLECTION",
            "'GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))'",
        ),
    ];
    for (name, text) in shapes {
        let of = |srid: u32| format!("ST_GeomFromText({text}, {srid})");
        let srid = if kind == Kind::MySql { 4326 } else { 7 };
        all.push(Case::new(name, [of(0), of(srid)]));
        all.push(Case::new("GEOMETRY", [of(0), of(srid)]));
    }
}

fn addresses(all: &mut Vec<Case>, random: &mut Random) {
    let mut uuids = Vec::new();
    for version in 0..16 {
        for variant in [0x0, 0x7, 0x8, 0x9, 0xb, 0xc, 0xf] {
            let digits = random.next();
            // Where the variant is none, servers take only versions whose order they know.
            uuids.push(format!(
                "'{:08x}-{:04x}-{version:x}7{:02x}-{variant:x}88{:x}-00{:010x}'",
                digits >> 32,
                digits & 0xffff,
                digits >> 8 & 0xff,
                digits >> 16 & 0xf,
                digits >> 20 & 0xff_ffff
            ));
            uuids.push(format!(
                "'00112233-4455-{version:x}077-{variant:x}088-99aabbccddee'"
            ));
        }
    }
    uuids.extend(
        [
            "'00000000-0000-0000-0000-000000000000'",
            "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
        ]
        .map(str::to_owned),
    );
    all.push(Case::new("UUID", uuids));
    all.push(Case::new(
        "INET4",
        [
            "'0.0.0.0'",
            "'255.255.255.255'",
            "'10.0.0.1'",
            "'192.168.100.7'",
        ],
    ));
    let mut some: Vec<_> = [
        "::",
        "::1",
        "1::",
        "::ffff:1.2.3.4",
        "::1.2.3.4",
        "fe80::1",
        "1:0:0:2::",
        "1:0:2:0:3:0:4:0",
        "::2:3:4:5:6:7:8",
    ]
    .map(|a| format!("'{a}'"))
    .to_vec();
    for _ in 0..300 {
        // Groups of zeros in all places.
        let zeros = random.next();
        let groups: Vec<_> = (0..8)
            .map(|n| {
                if zeros >> n & 1 == 0 {
                    "0".to_owned()
                } else {
                    format!("{:x}", random.next() as u16 >> (zeros >> 8 & 15))
                }
            })
            .collect();
        some.push(format!("'{}'", groups.join(":")));
    }
    all.push(Case::new("INET6", some));
}

fn json(all: &mut Vec<Case>, random: &mut Random) {
    let mut some: Vec<String> = [
        "'null'", "'true'", "'false'", "'0'", "'-1'", "'32767'", "'-32768'", "'32768'", "'65535'", "'65536'", "'2147483647'",
        "'-2147483648'", "'2147483648'", "'4294967295'", "'4294967296'", "'9223372036854775807'", "'-9223372036854775808'",
        "'9223372036854775808'", "'18446744073709551615'", "'18446744073709551616'", "'1.0'", "'-0.0'", "'1e15'", "'1e14'", "'1e300'",
        "'0.1'", "'1.5e-10'", "'123456789012345678'", "'100000000000000000000'", "'\"\"'", "'[]'", "'{}'", "'[[], {}, [[]]]'",
        "'{\"b\": 1, \"a\": 2, \"aa\": 3, \"\": 4}'", "'[1, \"a\", null, true, false, 1.5, -7, 70000, 5000000000]'",
        "'{\"k\": {\"k\": {\"k\": [1, {\"z\": null}]}}}'", "'{\"schlüssel\": \"wört\", \"漢\": \"字😀\"}'",
        "JSON_QUOTE(CONVERT(x'61000107080a0b0c0d1b1f097f225c2f27' USING utf8mb4))",
        "JSON_OBJECT(CONVERT(x'6b0a2201' USING utf8mb4), 1)", "JSON_ARRAY(CAST('-12.3400' AS DECIMAL(10,4)), CAST(0 AS DECIMAL(65,30)))",
        "CAST(CAST('99999999999999999999999999999.5' AS DECIMAL(30,1)) AS JSON)", "JSON_ARRAY(CAST('-0.5' AS DECIMAL(5,5)))",
        "JSON_ARRAY(DATE '2024-02-29', TIME '12:34:56', TIME '-838:59:58.000001', TIMESTAMP '2024-02-29 12:34:56.5', TIME '-00:00:00.5')",
        "CAST(CAST('2024-02-29 12:34:56' AS DATETIME) AS JSON)", "CAST(CAST('0000-00-00' AS DATE) AS JSON)", "CAST(CAST('9999-12-31 23:59:59.999999' AS DATETIME(6)) AS JSON)",
        "JSON_ARRAY(x'00ff10', b'101', CAST('bytes' AS BINARY), CAST('' AS BINARY))", "CAST(CAST(REPEAT('ab', 200) AS BINARY) AS JSON)",
        "JSON_OBJECT('g', ST_GeomFromText('POINT(1 2)'))", "CAST(CAST(2024 AS YEAR) AS JSON)", "CAST(ST_GeomFromText('POINT(1 2)') AS JSON)",
        "JSON_ARRAY(1 = 1, 1, 1.0, 1e0, 1.5, CAST(1 AS UNSIGNED), -1)", "CONCAT('\"', REPEAT('x', 127), '\"')", "CONCAT('\"', REPEAT('x', 128), '\"')",
        "CONCAT('\"', REPEAT('\\\\\\\\n', 300), '\"')", "CONCAT(REPEAT('[', 100), REPEAT(']', 100))", "CONCAT(REPEAT('{\"a\":', 99), '1', REPEAT('}', 99))",
    ]
    .map(str::to_owned)
    .to_vec();
    for length in [190, 200, 236, 246, 247, 248, 249, 250, 251, 252, 260] {
        // Around the lengths where the length of a cell grows.
        some.push(format!("CONCAT('\"', REPEAT('x', {length}), '\"')"));
        some.push(format!(
            "CONCAT('[\"', REPEAT('\\\\\\\\t', {}), '\"]')",
            length / 2
        ));
    }
    all.push(Case::new("JSON", some));
    let doubles: Vec<_> = (0..1500)
        .map(|n| {
            if n % 2 == 0 {
                random.double()
            } else {
                (random.next() >> (n % 60)) as f64
            }
        })
        .collect();
    all.push(Case::new(
        "JSON",
        doubles.iter().map(|d| format!("JSON_ARRAY({d:e})")),
    ));
    all.push(Case::new(
        "JSON",
        (0..60).map(|n| {
            let values: Vec<_> = (0..n)
                .map(|m| match (m + n) % 5 {
                    0 => random.next().to_string(),
                    1 => format!("\"{}\"", "y".repeat(m * 3)),
                    2 => "null".into(),
                    3 => format!("{{\"{}\": {m}}}", "k".repeat(m)),
                    _ => format!("[{m}, -{m}]"),
                })
                .collect();
            format!("'[{}]'", values.join(","))
        }),
    ));
}

/// Documents of up to a megabyte.
pub fn documents() -> Vec<String> {
    let list = |count: usize, of: &dyn Fn(usize) -> String| {
        let all: Vec<_> = (0..count).map(of).collect();
        format!("[{}]", all.join(","))
    };
    let object = |count: usize, of: &dyn Fn(usize) -> String| {
        let all: Vec<_> = (0..count).map(|n| format!("\"k{n}\":{}", of(n))).collect();
        format!("{{{}}}", all.join(","))
    };
    let mixed = |n: usize| match n % 7 {
        0 => n.to_string(),
        1 => (n as i64 * -70_001).to_string(),
        2 => format!("\"{}\"", "ä".repeat(n % 300)),
        3 => format!("{}.25", n * 3),
        4 => (n as u64 * 1_000_000_007_000).to_string(),
        5 => format!("{{\"a\": [{n}, null], \"bb\": true}}"),
        _ => "\"\\\\n\\\\u0001\"".to_owned(),
    };
    vec![
        list(20_000, &|n| n.to_string()),
        list(30_000, &|n| (n as i64 * -99_991).to_string()),
        list(3_000, &mixed),
        object(3_000, &mixed),
        format!("\"{}\"", "x".repeat(100_000)),
        format!("[\"{}\"]", "\\\\\"".repeat(40_000)),
        format!("[{}, 1]", list(9_000, &mixed)),
        // Small ones in large ones, at the limit of two bytes.
        list(20, &|n| list(n * 900, &|m| (m * 77).to_string())),
        object(300, &|n| format!("\"{}\"", "y".repeat(n))),
        list(16_000, &|_| "1".to_owned()),
        list(13_100, &|_| "70000".to_owned()),
    ]
}
