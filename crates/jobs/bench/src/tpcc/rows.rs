//! The rows of one table for one warehouse, one line after the other, to the
//! rules of clause 4.3.3.1.

use super::feed::{Lines, number};
use super::random::{Random, last_name};
use super::{CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED, ITEMS, Table};

/// The day on which everything at the start happened.
const DAY: &[u8] = b"2026-01-15 09:30:00";

/// The constant C of last names in the rows; the one in transactions is another (clause 2.1.6.1).
pub(super) const LAST_NAME_C: u32 = 123;

/// Rows of `table` that belong to `warehouse` (for items: all of them).
pub(super) struct Rows {
    table: Table,
    seed: u64,
    warehouse: u32,
    random: Random,
    district: u32,
    /// Number of the next row within the warehouse (item, stock) or the district.
    id: u32,
    /// Order lines: the next line of the order `id`, and how many it has.
    line: u32,
    lines: u32,
    /// Orders: which customer placed which order.
    customers: Vec<u32>,
}

impl Rows {
    pub(super) fn new(table: Table, seed: u64, warehouse: u32) -> Rows {
        let first = if table == Table::NewOrders {
            FIRST_UNDELIVERED
        } else {
            1
        };
        Rows {
            table,
            seed,
            warehouse,
            random: Random::new(seed, &[table as u64, u64::from(warehouse)]),
            district: 1,
            id: first,
            line: 1,
            lines: 0,
            customers: Vec::new(),
        }
    }

    /// Lines of an order: needed by two tables that are made at different times.
    fn order_lines(&self, order: u32) -> u32 {
        let part = [
            u64::from(self.warehouse),
            u64::from(self.district),
            u64::from(order),
        ];
        Random::new(self.seed ^ 0x6f6c, &part).between(5, 15)
    }

    /// Goes on to the next id of the district, and behind its last to the next district.
    fn advance(&mut self, first: u32, last: u32) {
        self.id += 1;
        if self.id > last {
            self.id = first;
            self.district += 1;
        }
    }

    fn item(&mut self, out: &mut Vec<u8>) {
        number(out, self.id.into());
        tab(out);
        number(out, self.random.between(1, 10_000).into());
        tab(out);
        self.random.letters(out, 14, 24);
        tab(out);
        cents(out, self.random.between(100, 10_000));
        tab(out);
        self.random.data(out);
        self.id += 1;
    }

    fn stock(&mut self, out: &mut Vec<u8>) {
        number(out, self.id.into());
        tab(out);
        number(out, self.warehouse.into());
        tab(out);
        number(out, self.random.between(10, 100).into());
        for _ in 0..10 {
            tab(out);
            self.random.letters(out, 24, 24);
        }
        out.extend_from_slice(b"\t0\t0\t0\t");
        self.random.data(out);
        self.id += 1;
    }

    fn warehouse(&mut self, out: &mut Vec<u8>) {
        number(out, self.warehouse.into());
        tab(out);
        self.random.letters(out, 6, 10);
        self.address(out);
        tab(out);
        rate(out, self.random.between(0, 2_000));
        out.extend_from_slice(b"\t300000.00");
        self.id += 1;
    }

    fn district(&mut self, out: &mut Vec<u8>) {
        number(out, self.id.into());
        tab(out);
        number(out, self.warehouse.into());
        tab(out);
        self.random.letters(out, 6, 10);
        self.address(out);
        tab(out);
        rate(out, self.random.between(0, 2_000));
        out.extend_from_slice(b"\t30000.00\t");
        number(out, u64::from(CUSTOMERS) + 1);
        self.id += 1;
    }

    fn customer(&mut self, out: &mut Vec<u8>) {
        self.place(out);
        tab(out);
        self.random.letters(out, 8, 16);
        out.extend_from_slice(b"\tOE\t");
        let name = if self.id <= 1_000 {
            self.id - 1
        } else {
            self.random.nurand(255, LAST_NAME_C, 0, 999)
        };
        last_name(out, name);
        self.address(out);
        tab(out);
        self.random.digits(out, 16);
        tab(out);
        out.extend_from_slice(DAY);
        let credit = if self.random.chance(10) {
            b"\tBC\t"
        } else {
            b"\tGC\t"
        };
        out.extend_from_slice(credit);
        out.extend_from_slice(b"50000.00\t");
        rate(out, self.random.between(0, 5_000));
        out.extend_from_slice(b"\t-10.00\t10.00\t1\t0\t");
        self.random.letters(out, 300, 500);
        self.advance(1, CUSTOMERS);
    }

    fn history(&mut self, out: &mut Vec<u8>) {
        self.place(out);
        tab(out);
        number(out, self.district.into());
        tab(out);
        number(out, self.warehouse.into());
        tab(out);
        out.extend_from_slice(DAY);
        out.extend_from_slice(b"\t10.00\t");
        self.random.letters(out, 12, 24);
        self.advance(1, CUSTOMERS);
    }

    fn new_order(&mut self, out: &mut Vec<u8>) {
        self.place(out);
        self.advance(FIRST_UNDELIVERED, CUSTOMERS);
    }

    fn order(&mut self, out: &mut Vec<u8>) {
        if self.id == 1 {
            self.customers = self.random.permutation(CUSTOMERS);
        }
        self.place(out);
        tab(out);
        number(out, self.customers[self.id as usize - 1].into());
        tab(out);
        out.extend_from_slice(DAY);
        tab(out);
        let carrier = self.random.between(1, 10);
        if self.id < FIRST_UNDELIVERED {
            number(out, carrier.into());
        } else {
            out.extend_from_slice(b"\\N");
        }
        tab(out);
        number(out, self.order_lines(self.id).into());
        out.extend_from_slice(b"\t1");
        self.advance(1, CUSTOMERS);
    }

    fn order_line(&mut self, out: &mut Vec<u8>) {
        if self.line == 1 {
            self.lines = self.order_lines(self.id);
        }
        self.place(out);
        tab(out);
        number(out, self.line.into());
        tab(out);
        number(out, self.random.between(1, ITEMS).into());
        tab(out);
        number(out, self.warehouse.into());
        tab(out);
        let amount = self.random.between(1, 999_999);
        if self.id < FIRST_UNDELIVERED {
            out.extend_from_slice(DAY);
            out.extend_from_slice(b"\t5\t0.00\t");
        } else {
            out.extend_from_slice(b"\\N\t5\t");
            cents(out, amount);
            tab(out);
        }
        self.random.letters(out, 24, 24);
        self.line += 1;
        if self.line > self.lines {
            self.line = 1;
            self.advance(1, CUSTOMERS);
        }
    }

    /// The number, the district and the warehouse that most rows begin with.
    fn place(&self, out: &mut Vec<u8>) {
        number(out, self.id.into());
        tab(out);
        number(out, self.district.into());
        tab(out);
        number(out, self.warehouse.into());
    }

    /// Two streets, city, state and zip code, each after a tab; clause 4.3.2.7.
    fn address(&mut self, out: &mut Vec<u8>) {
        for _ in 0..3 {
            tab(out);
            self.random.letters(out, 10, 20);
        }
        tab(out);
        for _ in 0..2 {
            out.push(b'A' + self.random.between(0, 25) as u8);
        }
        tab(out);
        self.random.digits(out, 4);
        out.extend_from_slice(b"11111");
    }
}

impl Lines for Rows {
    fn append(&mut self, out: &mut Vec<u8>) -> bool {
        let left = match self.table {
            Table::Item | Table::Stock => self.id <= ITEMS,
            Table::Warehouse => self.id <= 1,
            Table::District => self.id <= DISTRICTS,
            _ => self.district <= DISTRICTS,
        };
        if left {
            match self.table {
                Table::Item => self.item(out),
                Table::Stock => self.stock(out),
                Table::Warehouse => self.warehouse(out),
                Table::District => self.district(out),
                Table::Customer => self.customer(out),
                Table::History => self.history(out),
                Table::NewOrders => self.new_order(out),
                Table::Orders => self.order(out),
                Table::OrderLine => self.order_line(out),
            }
            out.push(b'\n');
        }
        left
    }
}

fn tab(out: &mut Vec<u8>) {
    out.push(b'\t');
}

/// An amount of money given in hundredths.
fn cents(out: &mut Vec<u8>, n: u32) {
    number(out, u64::from(n / 100));
    out.extend_from_slice(&[b'.', b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8]);
}

/// A tax or a discount below 1, given in ten-thousandths.
fn rate(out: &mut Vec<u8>, n: u32) {
    out.extend_from_slice(b"0.");
    for power in [1_000, 100, 10, 1] {
        out.push(b'0' + (n / power % 10) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(table: Table) -> Vec<Vec<String>> {
        let mut text = Vec::new();
        let mut rows = Rows::new(table, 42, 3);
        while rows.append(&mut text) {}
        let text = String::from_utf8(text).expect("rows are ASCII");
        text.lines()
            .map(|l| l.split('\t').map(str::to_owned).collect())
            .collect()
    }

    #[test]
    fn cardinalities_are_those_of_the_specification() {
        let lines = |table| all(table).len();
        assert_eq!(lines(Table::Item), 100_000);
        assert_eq!(lines(Table::Stock), 100_000);
        assert_eq!(lines(Table::District), 10);
        assert_eq!(lines(Table::Warehouse), 1);
        assert_eq!(lines(Table::Customer), 30_000);
        assert_eq!(lines(Table::History), 30_000);
        assert_eq!(lines(Table::NewOrders), 9_000);
        assert_eq!(lines(Table::Orders), 30_000);
    }

    #[test]
    fn every_row_has_a_value_for_every_column() {
        for table in Table::ALL {
            let columns = table
                .columns()
                .split(", ")
                .filter(|c| c.starts_with(|c: char| c.is_ascii_lowercase()));
            // Keys of several columns contain ", " too; those pieces carry no type.
            let columns = columns.filter(|c| {
                c.split(' ')
                    .nth(1)
                    .is_some_and(|t| t.starts_with(char::is_uppercase))
            });
            let width = columns.count();
            assert!(
                all(table).iter().all(|row| row.len() == width),
                "{} {width}",
                table.name()
            );
        }
    }

    #[test]
    fn orders_and_their_lines_agree() {
        let orders = all(Table::Orders);
        let lines = all(Table::OrderLine);
        let promised: usize = orders
            .iter()
            .map(|o| o[6].parse::<usize>().expect("a number"))
            .sum();
        assert_eq!(lines.len(), promised);
        let undelivered = orders.iter().filter(|o| o[5] == "\\N").count();
        assert_eq!(undelivered, 9_000);
        assert!(
            lines
                .iter()
                .all(|l| (l[6] == "\\N") == (l[0].parse::<u32>().expect("a number") >= 2_101))
        );
    }

    #[test]
    fn the_seed_decides_everything() {
        assert_eq!(all(Table::District), all(Table::District));
        let mut other = Vec::new();
        Rows::new(Table::District, 43, 3).append(&mut other);
        assert_ne!(
            String::from_utf8_lossy(&other).trim(),
            all(Table::District)[0].join("\t")
        );
    }
}
