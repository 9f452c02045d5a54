//! The nine tables: columns of clause 1.3, the primary keys and the two
//! secondary keys that every implementation uses.

/// The schema they live in unless another is named.
pub const SCHEMA: &str = "tpcc";

/// A table of TPC-C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// One row each.
    Warehouse,
    /// Ten for each warehouse.
    District,
    /// 30,000 for each warehouse, the widest rows.
    Customer,
    /// 30,000 for each warehouse at the start; no primary key.
    History,
    /// 9,000 for each warehouse.
    NewOrders,
    /// 30,000 for each warehouse.
    Orders,
    /// About 300,000 for each warehouse.
    OrderLine,
    /// 100,000 for each warehouse.
    Stock,
    /// 100,000 in all.
    Item,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 9] = [
        Table::Warehouse,
        Table::District,
        Table::Customer,
        Table::History,
        Table::NewOrders,
        Table::Orders,
        Table::OrderLine,
        Table::Stock,
        Table::Item,
    ];

    /// The table's name.
    pub fn name(self) -> &'static str {
        match self {
            Table::Warehouse => "warehouse",
            Table::District => "district",
            Table::Customer => "customer",
            Table::History => "history",
            Table::NewOrders => "new_orders",
            Table::Orders => "orders",
            Table::OrderLine => "order_line",
            Table::Stock => "stock",
            Table::Item => "item",
        }
    }

    /// Columns and the primary key, the part of CREATE TABLE between the parentheses.
    pub(super) fn columns(self) -> &'static str {
        match self {
            Table::Warehouse => {
                "w_id INT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), \
                 w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2), \
                 PRIMARY KEY (w_id)"
            }
            Table::District => {
                "d_id TINYINT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20), \
                 d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), \
                 d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id)"
            }
            Table::Customer => {
                "c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id INT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2), \
                 c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), \
                 c_zip CHAR(9), c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), \
                 c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt SMALLINT, \
                 c_delivery_cnt SMALLINT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id)"
            }
            Table::History => {
                "h_c_id INT, h_c_d_id TINYINT, h_c_w_id INT, h_d_id TINYINT, h_w_id INT, h_date DATETIME, \
                 h_amount DECIMAL(6,2), h_data VARCHAR(24)"
            }
            Table::NewOrders => {
                "no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id INT NOT NULL, \
                 PRIMARY KEY (no_w_id, no_d_id, no_o_id)"
            }
            Table::Orders => {
                "o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id INT NOT NULL, o_c_id INT, o_entry_d DATETIME, \
                 o_carrier_id TINYINT, o_ol_cnt TINYINT, o_all_local TINYINT, PRIMARY KEY (o_w_id, o_d_id, o_id)"
            }
            Table::OrderLine => {
                "ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id INT NOT NULL, ol_number TINYINT NOT NULL, \
                 ol_i_id INT, ol_supply_w_id INT, ol_delivery_d DATETIME, ol_quantity TINYINT, ol_amount DECIMAL(6,2), \
                 ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)"
            }
            Table::Stock => {
                "s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity SMALLINT, s_dist_01 CHAR(24), s_dist_02 CHAR(24), \
                 s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), \
                 s_dist_08 CHAR(24), s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd DECIMAL(8,0), s_order_cnt SMALLINT, \
                 s_remote_cnt SMALLINT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)"
            }
            Table::Item => {
                "i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50), \
                 PRIMARY KEY (i_id)"
            }
        }
    }

    /// The secondary key, fit to follow ADD in an ALTER TABLE.
    pub(super) fn key(self) -> Option<&'static str> {
        match self {
            Table::Customer => Some("KEY idx_customer_name (c_w_id, c_d_id, c_last, c_first)"),
            Table::Orders => Some("KEY idx_orders (o_w_id, o_d_id, o_c_id, o_id)"),
            _ => None,
        }
    }

    /// Bytes of a warehouse's rows as text (of all items), within a few per cent.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Table::Warehouse => 90,
            Table::District => 960,
            Table::Customer => 17_000_000,
            Table::History => 1_800_000,
            Table::NewOrders => 90_000,
            Table::Orders => 1_300_000,
            Table::OrderLine => 20_000_000,
            Table::Stock => 31_000_000,
            Table::Item => 7_300_000,
        }
    }

    /// The foreign keys of clause 1.3, for whoever asks for them.
    pub(super) fn foreign_keys(self) -> &'static [&'static str] {
        match self {
            Table::Warehouse | Table::Item => &[],
            Table::District => &["FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id)"],
            Table::Customer => &["FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id)"],
            Table::History => &[
                "FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)",
                "FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id)",
            ],
            Table::NewOrders => &[
                "FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)",
            ],
            Table::Orders => {
                &["FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)"]
            }
            Table::OrderLine => &[
                "FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)",
                "FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id)",
            ],
            Table::Stock => &[
                "FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id)",
                "FOREIGN KEY (s_i_id) REFERENCES item (i_id)",
            ],
        }
    }
}
