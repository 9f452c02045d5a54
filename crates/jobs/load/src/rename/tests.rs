//! What is rewritten, and what is not certain.

use super::{Names, statement};
use crate::script::{Statement, statements_in};
use server::NameMap;
use std::collections::BTreeSet;

fn rewritten(schemas: &[&str], tables: &[&str], home: &str, to: &str, text: &str) -> Statement {
    let map = NameMap::new(schemas, tables).expect("a map");
    let (all, functions) = (
        BTreeSet::from(["shop".to_owned(), "crm".to_owned()]),
        BTreeSet::from(["tax".to_owned()]),
    );
    let names = Names {
        map: &map,
        home,
        to,
        schemas: &all,
        functions: &functions,
        printed: true,
    };
    let mut found = statements_in(Some(home), "x.sql", &format!("DELIMITER //\n{text}\n//\n"))
        .expect("a script");
    let mut one = found.remove(0);
    statement(&mut one, &names);
    one
}

/// A table of the schema `shop` that gets another name in it.
fn monday(text: &str) -> Statement {
    rewritten(&[], &["shop.orders=shop.monday"], "shop", "shop", text)
}

/// The schema `shop` that gets another name.
fn copied(text: &str) -> Statement {
    rewritten(&["shop=shop2"], &[], "shop", "shop2", text)
}

#[track_caller]
fn becomes(s: Statement, wanted: &str) {
    assert_eq!(s.unsure, None, "{}", s.text);
    assert_eq!(s.text, wanted);
}

#[test]
fn tables_take_their_foreign_keys_along() {
    let create = "CREATE TABLE `orders` (\n  `id` int NOT NULL COMMENT 'REFERENCES `orders`',\n  `parent` int,\n  `n` int DEFAULT (nextval(`shop`.`orders`)),\n  \
        CONSTRAINT `orders_ibfk_1` FOREIGN KEY (`parent`) REFERENCES `orders` (`id`),\n  \
        CONSTRAINT `c` FOREIGN KEY (`id`) REFERENCES `crm`.`people` (`id`),\n  CONSTRAINT `plus` CHECK ((`id` > 0))\n) ENGINE=InnoDB";
    let s = monday(create);
    assert_eq!(s.notes.len(), 3, "{:?}", s.notes);
    becomes(
        s,
        "CREATE TABLE `monday` (\n  `id` int NOT NULL COMMENT 'REFERENCES `orders`',\n  `parent` int,\n  `n` int DEFAULT (nextval(`shop`.`monday`)),\n  \
        CONSTRAINT `monday_ibfk_1` FOREIGN KEY (`parent`) REFERENCES `monday` (`id`),\n  \
        CONSTRAINT `monday_c` FOREIGN KEY (`id`) REFERENCES `crm`.`people` (`id`),\n  CONSTRAINT `monday_plus` CHECK ((`id` > 0))\n) ENGINE=InnoDB",
    );
    becomes(
        copied(
            "CREATE TABLE `t` (`n` int DEFAULT nextval(`shop`.`s`), KEY (`n`)) ENGINE=MRG_MyISAM UNION=(`a`,`shop`.`b`,`crm`.`c`)",
        ),
        "CREATE TABLE `t` (`n` int DEFAULT nextval(`shop2`.`s`), KEY (`n`)) ENGINE=MRG_MyISAM UNION=(`a`,`b`,`crm`.`c`)",
    );
    // Into another schema: what it named without one stays where it is.
    becomes(
        rewritten(
            &[],
            &["shop.a=crm.a", "shop.b=crm.b2"],
            "shop",
            "crm",
            "CREATE TABLE `a` (CONSTRAINT `k` FOREIGN KEY (`x`) REFERENCES `b` (`x`), CONSTRAINT `l` FOREIGN KEY (`y`) REFERENCES `c` (`y`))",
        ),
        "CREATE TABLE `a` (CONSTRAINT `k` FOREIGN KEY (`x`) REFERENCES `b2` (`x`), CONSTRAINT `l` FOREIGN KEY (`y`) REFERENCES `shop`.`c` (`y`))",
    );
}

#[test]
fn views_as_servers_print_them() {
    let view = "CREATE ALGORITHM=UNDEFINED DEFINER=`shop`@`%` SQL SECURITY DEFINER VIEW `v` AS select `orders`.`orders` AS `orders`,`o`.`id` AS `id` \
        from ((`orders` join `orders` `o` on((`orders`.`id` = `o`.`id`))) left join `crm`.`people` on((`people`.`id` = `orders`.`who`)))";
    becomes(
        monday(view),
        "CREATE ALGORITHM=UNDEFINED DEFINER=`shop`@`%` SQL SECURITY DEFINER VIEW `v` AS select `monday`.`orders` AS `orders`,`o`.`id` AS `id` \
        from ((`monday` join `monday` `o` on((`monday`.`id` = `o`.`id`))) left join `crm`.`people` on((`people`.`id` = `monday`.`who`)))",
    );
    becomes(copied(view), view);
    let other = "CREATE VIEW `w` AS select `shop`.`orders`.`id` AS `shop`,`shop`.`tax`(1) AS `t` from `shop`.`orders`";
    let crm = |schemas: &[&str], tables: &[&str]| rewritten(schemas, tables, "crm", "crm", other);
    becomes(
        crm(&["shop=shop2"], &[]),
        "CREATE VIEW `w` AS select `shop2`.`orders`.`id` AS `shop`,`shop2`.`tax`(1) AS `t` from `shop2`.`orders`",
    );
    becomes(
        crm(&[], &["shop.orders=shop.monday"]),
        "CREATE VIEW `w` AS select `shop`.`monday`.`id` AS `shop`,`shop`.`tax`(1) AS `t` from `shop`.`monday`",
    );
    // A table that goes to another schema, with its name.
    let moved = |text| rewritten(&[], &["shop.orders=crm.orders"], "shop", "shop", text);
    becomes(
        moved("CREATE VIEW `w` AS select `orders`.`id` AS `id` from (`people` join `orders`)"),
        "CREATE VIEW `w` AS select `orders`.`id` AS `id` from (`people` join `crm`.`orders`)",
    );
    // An alias of the name of the schema.
    let alias = rewritten(
        &["shop=shop2"],
        &[],
        "crm",
        "crm",
        "CREATE VIEW `w` AS select `shop`.`id` AS `id` from `shops` `shop` join `shop`.`orders`",
    );
    assert!(alias.unsure.is_some());
}

#[test]
fn triggers_belong_to_their_table() {
    let s = monday(
        "CREATE DEFINER=`r`@`%` TRIGGER `shop`.`orders_bi` BEFORE INSERT ON shop.orders FOR EACH ROW FOLLOWS `other` BEGIN INSERT INTO log VALUES (NEW.id); UPDATE orders SET n = 1 WHERE orders.id = NEW.id; END",
    );
    assert_eq!(s.notes.len(), 2, "{:?}", s.notes);
    becomes(
        s,
        "CREATE DEFINER=`r`@`%` TRIGGER `monday_bi` BEFORE INSERT ON `monday` FOR EACH ROW FOLLOWS `monday_other` BEGIN INSERT INTO log VALUES (NEW.id); UPDATE `monday` SET n = 1 WHERE `monday`.id = NEW.id; END",
    );
    let moved = |body: &str| {
        let text = format!("CREATE TRIGGER a AFTER UPDATE ON t FOR EACH ROW {body}");
        rewritten(&[], &["shop.t=crm.t"], "shop", "crm", &text)
    };
    becomes(
        moved("SET @x = 1"),
        "CREATE TRIGGER `a` AFTER UPDATE ON `t` FOR EACH ROW SET @x = 1",
    );
    assert!(moved("INSERT INTO log VALUES (1)").unsure.is_some());
    assert!(moved("SET NEW.x = tax(1)").unsure.is_some());
}

#[test]
fn routines_and_events() {
    let routine = |body: &str| format!("CREATE PROCEDURE `p`(x int)\nBEGIN\n  {body};\nEND");
    for (body, wanted) in [
        (
            "SELECT a.id FROM orders a JOIN shop.orders b",
            "SELECT a.id FROM `monday` a JOIN `shop`.`monday` b",
        ),
        (
            "INSERT IGNORE INTO orders (a, b) VALUES (1, 2)",
            "INSERT IGNORE INTO `monday` (a, b) VALUES (1, 2)",
        ),
        (
            "DELETE FROM orders WHERE orders.id IN (SELECT id FROM (orders))",
            "DELETE FROM `monday` WHERE `monday`.id IN (SELECT id FROM (`monday`))",
        ),
        (
            "TRUNCATE TABLE orders /* orders */",
            "TRUNCATE TABLE `monday` /* orders */",
        ),
        (
            "SELECT 1 FROM shop.x AS a, y b, orders, orders c WHERE orders.id = c.id",
            "SELECT 1 FROM shop.x AS a, y b, `monday`, `monday` c WHERE `monday`.id = c.id",
        ),
        ("CALL orders(1)", "CALL orders(1)"),
        ("SELECT t.orders FROM t", "SELECT t.orders FROM t"),
    ] {
        becomes(monday(&routine(body)), &routine(wanted));
    }
    for body in [
        "SELECT a.id FROM x JOIN orders_old a, orders",
        "SELECT a.id FROM x ORDER BY y, orders",
        "SELECT orders FROM orders",
        "DELETE orders FROM orders JOIN x",
        "SELECT EXTRACT(DAY FROM orders), id FROM orders",
        "SELECT id INTO orders FROM orders",
        "INSERT orders VALUES (1)",
        "INSERT orders(id, who) VALUES (1, 2)",
        "REPLACE DELAYED orders VALUES (1)",
        "TRUNCATE orders",
        "TRUNCATE Orders",
        "CREATE INDEX ix ON orders (id)",
        "DROP INDEX ix ON orders",
        "CREATE TABLE k5 LIKE orders",
        "DESCRIBE orders",
        "SHOW FULL COLUMNS IN orders",
        "FLUSH TABLES orders",
        "GRANT SELECT ON orders TO a",
        // A function, or columns of a table.
        "SELECT orders(1) FROM t",
        "WITH orders AS (SELECT 1) SELECT * FROM orders",
        "INSERT INTO orders VALUES (1) ON DUPLICATE KEY UPDATE orders = 1",
        "SELECT 1 FROM Orders",
        "SELECT monday FROM orders",
        "SELECT orders.id FROM crm.orders JOIN orders o",
    ] {
        let s = monday(&routine(body));
        assert!(s.unsure.is_some(), "{body}: {}", s.text);
    }
    let s = copied(&routine("SELECT * FROM shop.a, SHOP.b"));
    assert!(s.unsure.is_some());
    let s = copied(&routine(
        "SET @s = 'SELECT 1 FROM shop.a'; PREPARE x FROM @s",
    ));
    assert_eq!((s.unsure, s.left.len()), (None, 2), "{:?}", s.left);
    let s = copied(
        "CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.a WHERE x = shop.tax(1)",
    );
    becomes(
        s,
        "CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY DO DELETE FROM `shop2`.`a` WHERE x = `shop2`.`tax`(1)",
    );
    // It would run by itself.
    let s = copied("CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY DO SELECT 'shop.a'");
    assert!(s.unsure.is_some());
    let s = copied("CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY COMMENT 'shop' DO SELECT 'shopping'");
    assert!(s.unsure.is_none() && s.left.is_empty());
}

#[test]
fn what_is_around_the_objects() {
    becomes(
        copied("ALTER DATABASE `shop` COLLATE utf8mb4_bin"),
        "ALTER DATABASE `shop2` COLLATE utf8mb4_bin",
    );
    becomes(
        copied(
            "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */",
        ),
        "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop2` /*!40100 DEFAULT CHARACTER SET utf8mb4 */",
    );
    becomes(
        monday("CREATE SEQUENCE IF NOT EXISTS `orders` start with 1"),
        "CREATE SEQUENCE IF NOT EXISTS `monday` start with 1",
    );
    becomes(
        monday("SELECT SETVAL(`orders`, 5, 0)"),
        "SELECT SETVAL(`monday`, 5, 0)",
    );
    becomes(copied("SET @x = 1"), "SET @x = 1");
}
