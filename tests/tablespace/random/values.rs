//! Values of columns, as SQL has them.

use super::Random;
use super::types::{Of, WIDE};

impl Random {
    /// A value of a column.
    pub fn value(&mut self, of: &Of) -> String {
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
            Of::Member(list) => format!("'{}'", escaped(self.one(list))),
            Of::Members(list) => {
                let some: Vec<String> = list
                    .iter()
                    .filter(|_| self.percent(40))
                    .map(|m| escaped(m))
                    .collect();
                format!("'{}'", some.join(","))
            }
            Of::Point => format!("POINT({}, -{})", self.below(500), self.below(9)),
            Of::Uuid => {
                // Every version, and the RFC variant; other variants where the server accepts them.
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
                        // Each key only once.
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
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "''")
}
