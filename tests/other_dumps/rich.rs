//! A schema with all that dumps get wrong.

use super::{COUNT, Pair};

/// Its name, and that of a second schema whose objects need it.
pub const SCHEMAS: [&str; 2] = ["rich", "odd `name"];

/// Fills the source.
pub fn fill(pair: &Pair) {
    pair.fill(TABLES);
    pair.fill(&rows());
    pair.fill(OBJECTS);
    pair.fill(if pair.is_mysql() { MYSQL } else { MARIADB });
}

const TABLES: &str = "
CREATE DATABASE rich CHARACTER SET utf8mb4; USE rich; SET sql_mode = '', time_zone = '+00:00';
CREATE TABLE numbers (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, t TINYINT, s SMALLINT UNSIGNED, \
        m MEDIUMINT, b BIGINT UNSIGNED, n BIGINT,
  d DECIMAL(65,30), e DECIMAL(10,2) ZEROFILL, f FLOAT, g DOUBLE, b1 BIT(1), b64 BIT(64), \
        o TINYINT(1)) ENGINE=InnoDB;
INSERT INTO numbers VALUES (0, -128, 65535, -8388608, 18446744073709551615, -9223372036854775808, \
        -12345678901234567890123456789012345.678901234567890123456789012345, 7.5, 0.5, \
        1.7976931348623157e308, b'1', 0xFFFFFFFFFFFFFFFF, 1),
 (5, 127, 0, 8388607, 0, 9223372036854775807, 0.000000000000000000000000000001, 0, -1.25, \
        2.2250738585072014e-308, b'0', 0x275C0A0D1A002209, 0), (9, NULL, NULL, NULL, NULL, NULL, \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL),
 (70, 1, 1, 1, 1, 1, 0, 1, 65536, 0.1, b'1', 0x5C4E, 1);
CREATE TABLE zero (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(9)) ENGINE=InnoDB;
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; INSERT INTO zero VALUES (0, 'zero'), (7, 'seven'); \
        SET sql_mode = '';
CREATE TABLE moments (id INT PRIMARY KEY, d DATE, t TIME(6), dt DATETIME(6), \
        ts TIMESTAMP(6) NULL, y YEAR) ENGINE=InnoDB;
INSERT INTO moments VALUES (1, '0000-00-00', '-838:59:59.000000', '0000-00-00', \
        '1970-01-01 00:00:01.000001', 1901), (2, '9999-12-31', '838:59:58.999999', \
        '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07.999999', 2155),
 (3, '2024-02-00', '-00:00:00.000001', '2024-00-00 00:00:00', '2024-03-31 02:30:00', 0), \
        (4, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE words (id INT PRIMARY KEY, u VARCHAR(200) CHARACTER SET utf8mb4, \
        l VARCHAR(200) CHARACTER SET latin1, c CHAR(20) CHARACTER SET latin1, x TEXT, \
        w VARCHAR(50) CHARACTER SET utf16,
  e ENUM('','a','b,c','x''y','ü','\\\\N','7'), \
        s SET('é','a b') CHARACTER SET latin1 NOT NULL DEFAULT '', j JSON, KEY u (u), KEY l (l), \
        FULLTEXT KEY x (x)) ENGINE=InnoDB;
SET NAMES utf8mb4;
INSERT INTO words VALUES (1, 'äöü😀 – ''q'' \"d\" `b` \\\\ \\n \\r \\t \\0 \\Z end', 'Größe ÿ', \
        'ä', 'line one\\nINSERT INTO t VALUES (1);\\n-- Dump completed\\n/* x */', 'ünï😀', 'b,c', \
        'é,a b', '{\"k\": [1, \"ü\\\\n\", null, 1.5]}'),
 (2, '', '', '', '', '', '', '', '[]'), (3, '\\\\N', 'NULL', '\\\\', '\\\\N', '\\\\', '\\\\N', \
        'é', '\"\\\\\"\"'), (4, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL), \
        (5, '0x41', '0x41', '1e5', '--', '12', 'x''y', 'a b', '0'), \
        (6, ' lead', 'trail ', 'in  ', '\\t', ' ', '7', '', '{}');
CREATE TABLE old (a VARCHAR(100), b TEXT) ENGINE=InnoDB DEFAULT CHARACTER SET latin1;
INSERT INTO old VALUES ('Ärger – straße', 'über'), ('plain', NULL);
CREATE TABLE bytes (id INT PRIMARY KEY, one BINARY(1), b BINARY(4), v VARBINARY(600), bl BLOB, \
        lb LONGBLOB) ENGINE=InnoDB;
CREATE TABLE shapes (id INT PRIMARY KEY, g GEOMETRY, p POINT NOT NULL, SPATIAL KEY (p)) \
        ENGINE=InnoDB;
INSERT INTO shapes VALUES (1, ST_GeomFromText('POLYGON((0 0,10 0,10 10,0 10,0 0))'), \
        ST_GeomFromText('POINT(1.5 39)')), (2, NULL, ST_GeomFromText('POINT(0 0)')), \
        (3, ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))', 4326), \
        ST_GeomFromText('POINT(92 92)'));
CREATE TABLE computed (id INT AUTO_INCREMENT PRIMARY KEY, a INT, v INT AS (a * 2) VIRTUAL, \
        z VARCHAR(9) INVISIBLE DEFAULT 'hidden', s VARCHAR(20) AS (CONCAT('n', a)) STORED, b INT, \
        KEY s (s)) ENGINE=InnoDB;
INSERT INTO computed (a, z, b) VALUES (1, 'one', 10), (2, NULL, 20), (NULL, '', NULL);
CREATE TABLE unseen (a INT, h INT INVISIBLE DEFAULT 3, c INT) ENGINE=InnoDB;
INSERT INTO unseen (a, h, c) VALUES (1, 2, 3), (4, 5, 6);
CREATE TABLE no_key (a INT, b VARCHAR(60)) ENGINE=InnoDB;
CREATE TABLE plain (a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(100), KEY b (b)) ENGINE=MyISAM;
CREATE TABLE cut (a INT NOT NULL, d DATE NOT NULL, PRIMARY KEY (a, d)) ENGINE=InnoDB \
        PARTITION BY RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (2000), PARTITION p1 \
        VALUES LESS THAN MAXVALUE);
INSERT INTO cut VALUES (1, '1999-01-01'), (2, '2005-05-05');
CREATE TABLE parent (id INT PRIMARY KEY, up INT, \
        CONSTRAINT p_self FOREIGN KEY (up) REFERENCES parent (id)) ENGINE=InnoDB;
CREATE TABLE child (id INT PRIMARY KEY, p INT NOT NULL, \
        CONSTRAINT a_child FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE) ENGINE=InnoDB;
INSERT INTO parent VALUES (1, NULL), (2, 1), (3, 2); INSERT INTO child VALUES (1, 1), (2, 3);
CREATE TABLE nothing (a INT PRIMARY KEY) ENGINE=InnoDB;
";

fn rows() -> String {
    format!(
        "USE rich; \
        SELECT GROUP_CONCAT(CHAR(n) ORDER BY n SEPARATOR '') INTO @all FROM {COUNT} WHERE n < 256; \
        INSERT INTO bytes SELECT n, CHAR(n), CONCAT(CHAR(n), CHAR(255 - n)), \
          CONCAT(CHAR(n), '\\\\', CHAR(n)), REPEAT(CHAR(n), n % 5), NULL FROM {COUNT} \
          WHERE n < 256; \
        INSERT INTO bytes VALUES (256, '', '', @all, REPEAT(@all, 20), REPEAT(@all, 400)), \
          (257, NULL, NULL, NULL, NULL, ''); \
        INSERT INTO no_key SELECT n % 10, SHA2(n % 50, 224) FROM {COUNT} WHERE n < 3000; \
        INSERT INTO plain SELECT n + 1, SHA2(n, 256) FROM {COUNT} WHERE n < 2000;"
    )
}

const OBJECTS: &str = "USE rich;
CREATE TABLE log (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40)) ENGINE=InnoDB;
CREATE FUNCTION twice(x INT) RETURNS INT DETERMINISTIC RETURN 2 * x;
CREATE VIEW second AS SELECT id, twice(id) AS d FROM parent;
CREATE VIEW first AS SELECT d, 'it''s; -- \\\\' AS c FROM second;
CREATE DATABASE `odd ``name`; USE `odd ``name`;
CREATE TABLE `a ``b`` \"c\" 'd' ü;\n-- e` (`id ``x` INT PRIMARY KEY, `co''l` VARCHAR(20), \
        `KEY (` INT, KEY `k ``1` (`co''l`)) ENGINE=InnoDB;
INSERT INTO `a ``b`` \"c\" 'd' ü;\n-- e` VALUES (1, 'x', 2), (2, ');', 3);
CREATE TABLE `select` (`from` INT, `values` VARCHAR(10)) ENGINE=InnoDB; INSERT INTO `select` \
        VALUES (1, 'a');
CREATE VIEW `v ``w` AS SELECT `from` AS `x y` FROM `select`;
USE rich;
DELIMITER ;;
CREATE TRIGGER child_added BEFORE INSERT ON child FOR EACH ROW BEGIN INSERT INTO log (what) \
        VALUES ('a; ''b'''); SET NEW.p = NEW.p; END;;
CREATE TRIGGER child_after AFTER INSERT ON child FOR EACH ROW INSERT INTO log (what) \
        VALUES ('after');;
CREATE PROCEDURE work(IN a INT, OUT b INT) COMMENT 'ü' BEGIN -- a; comment
  IF a > 1 THEN SET b = 2; ELSE SET b = twice(a); END IF; END;;
CREATE EVENT later ON SCHEDULE AT '2037-01-01 00:00:00' DO BEGIN DELETE FROM log; END;;
DELIMITER ;
";

const MYSQL: &str = "USE rich; \
    CREATE TABLE place (id INT PRIMARY KEY, at POINT NOT NULL SRID 4326, v VECTOR(3), \
      SPATIAL KEY (at)) ENGINE=InnoDB; \
    INSERT INTO place VALUES (1, ST_GeomFromText('POINT(10 20)', 4326), \
      STRING_TO_VECTOR('[1,2.5,-0.125]')), (2, ST_GeomFromText('POINT(-89.5 179.25)', 4326), \
      NULL);";

const MARIADB: &str = "USE rich; \
    CREATE TABLE own (id INT PRIMARY KEY, i6 INET6, i4 INET4, u UUID, c TEXT COMPRESSED) \
      ENGINE=InnoDB; \
    INSERT INTO own VALUES (1, '2001:db8::ff00:42:8329', '192.0.2.1', \
      '123e4567-e89b-12d3-a456-426655440000', REPEAT('x', 1000)), (2, NULL, NULL, NULL, NULL); \
    CREATE TABLE aria (a INT PRIMARY KEY, b TEXT) ENGINE=Aria; \
    INSERT INTO aria VALUES (1, 'ä'), (2, NULL);";
