-- What a server holds: one case for each kind of value or object. `case` is for both flavours, `case mysql` and `case mariadb` for one.
-- Each runs in a schema of its own. A line `probe` is a query that has to give the same on a copy.

-- case: whole numbers of all widths, with and without sign, ZEROFILL
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a TINYINT, b TINYINT UNSIGNED, c SMALLINT, d SMALLINT UNSIGNED, e MEDIUMINT, f MEDIUMINT UNSIGNED, g INT, h INT UNSIGNED, i BIGINT, j BIGINT UNSIGNED, k INT(6) ZEROFILL, l BOOL);
INSERT INTO t VALUES (NULL, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, 1, FALSE), (NULL, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807, 18446744073709551615, 1234567, TRUE), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (1000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);

-- case: BIT of one to 64 bits
CREATE TABLE t (id INT PRIMARY KEY, a BIT, b BIT(7), c BIT(8), d BIT(33), e BIT(64), KEY (c));
INSERT INTO t VALUES (1, b'0', b'0', b'0', b'0', b'0'), (2, b'1', b'1111111', b'1011100', b'100000000000000000000000000000001', b'1111111111111111111111111111111111111111111111111111111111111111'), (3, NULL, NULL, NULL, NULL, NULL), (4, b'1', 10, 9, 13, 9);

-- case: DECIMAL to its limits
CREATE TABLE t (id INT PRIMARY KEY, a DECIMAL(65,30), b DECIMAL(65), c DECIMAL(1,1), d DECIMAL(5,0) UNSIGNED, KEY (a));
INSERT INTO t VALUES (1, '-99999999999999999999999999999999999.999999999999999999999999999999', '99999999999999999999999999999999999999999999999999999999999999999', -0.9, 0), (2, '0.000000000000000000000000000001', '-1', 0.9, 99999), (3, NULL, NULL, NULL, NULL);

-- case: FLOAT and DOUBLE: limits, negative zero, values that do not print exactly
CREATE TABLE t (id INT PRIMARY KEY, a FLOAT, b DOUBLE, c FLOAT(7,3), d DOUBLE(12,4), KEY (b));
INSERT INTO t VALUES (1, 3.4028234e38, 1.7976931348623157e308, 1.234, 1.2345), (2, 1.1754944e-38, 2.2250738585072014e-308, -0.001, -0.0001), (3, 1e-45, 4.9e-324, 0, 0), (4, 0.1, 0.1, 0.1, 0.1), (5, 16777217, 9007199254740993, 9999.999, 99999999.9999), (6, NULL, NULL, NULL, NULL), (7, -0.0, -0.0, 0, 0), (8, 1e0/3, 1e0/3, 1, 1);

-- case: dates and times: zero dates, limits, fractions
SET sql_mode = '';
CREATE TABLE t (id INT PRIMARY KEY, a DATE, b DATETIME, c DATETIME(6), d TIMESTAMP NULL, e TIMESTAMP(3) NULL, f TIME, g TIME(6), h YEAR, KEY (c), KEY (g));
INSERT INTO t VALUES (1, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00', 0, 0, '-838:59:59', '-838:59:59.000000', 0), (2, '9999-12-31', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07', '2038-01-19 03:14:07.999', '838:59:59', '838:59:58.999999', 2155), (3, '2026-00-10', '2026-02-00 01:02:03', '1000-01-01 00:00:00.000001', '1970-01-01 00:00:01', '1970-01-01 00:00:01.001', '00:00:00', '-00:00:00.000001', 1901), (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- case: moments around the change to and from summer time
SET time_zone = '+00:00';
CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP NULL, b DATETIME);
INSERT INTO t SELECT n, FROM_UNIXTIME(1774742400 + n * 900), '2026-03-29 00:00:00' + INTERVAL n * 15 MINUTE FROM (SELECT 0 n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) q;

-- case: text in many character sets
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(40) CHARACTER SET latin1, b VARCHAR(40) CHARACTER SET utf8mb3, c VARCHAR(40) CHARACTER SET utf8mb4, d VARCHAR(40) CHARACTER SET ucs2, e VARCHAR(40) CHARACTER SET utf16, f VARCHAR(40) CHARACTER SET utf32, g VARCHAR(40) CHARACTER SET cp1251, h VARCHAR(40) CHARACTER SET sjis, i VARCHAR(40) CHARACTER SET gbk, j VARCHAR(40) CHARACTER SET koi8r, k CHAR(10) CHARACTER SET big5, l TEXT CHARACTER SET cp932, KEY (c), KEY (e), KEY (h));
INSERT INTO t VALUES (1, 'äöü€ÿ', 'äß€中', 'ä😀€中', 'ä中', 'ä😀中', 'ä😀中', 'Привет', '日本語表', '中文\\字', 'Привет', '中文', '日本ー'), (2, '', '', '', '', '', '', '', '', '', '', '', ''), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, 'a\tb\nc\\d\0e''f"g', 'a\tb\nc\\d\0e''f"g', 'a\tb\nc\\d\0e''f"g', 'a\tb', 'a\nb', 'a\0b', 'a\\b', 'a\\b', 'a\\b', 'a\tb', 'a b', 'a\rb'), (5, 'trailing  ', 'trailing  ', 'trailing  ', 'x  ', 'x  ', 'x  ', 'x  ', 'x  ', 'x  ', 'x  ', 'x', 'x  ');

-- case: bytes that are no text in columns of text
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin, b VARCHAR(20) CHARACTER SET binary);
INSERT INTO t VALUES (1, 0x80818D8F909DFF00, 0xFFFE00C080), (2, 0x5C4E, 0x5C4E), (3, '\\N', '\\N');

-- case: binary strings: all bytes, zero padding, empty and NULL
CREATE TABLE t (id INT PRIMARY KEY, a BINARY(3), b VARBINARY(300), c TINYBLOB, d BLOB, e MEDIUMBLOB, f LONGBLOB, KEY (a), KEY (d(10)));
INSERT INTO t VALUES (1, 0x00, '', '', '', '', ''), (2, 'a', UNHEX(CONCAT('000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F', '5C27225C4E7F8081FEFF')), 0x5C4E, 0x0D0A1A00, REPEAT(UNHEX('00FF5C09'), 5000), REPEAT(UNHEX('0102FF5C'), 300000)), (3, NULL, NULL, NULL, NULL, NULL, NULL);

-- case: ENUM and SET with odd members, and the value of an error
SET sql_mode = '';
CREATE TABLE t (id INT PRIMARY KEY, a ENUM('', 'it''s', 'a\\b', 'ü', 'x,y') CHARACTER SET utf8mb4, b SET('one', 'two''s', 'thr\\ee', ' ') NOT NULL DEFAULT 'one', KEY (a));
INSERT INTO t VALUES (1, '', ''), (2, 'it''s', 'one,two''s'), (3, 'a\\b', 'thr\\ee, '), (4, 'ü', 'one'), (5, 'no member', 'none'), (6, NULL, 'one'), (7, 'x,y', 'one,two''s,thr\\ee, ');

-- case: an ENUM with a member that the dictionary of the server cannot hold
CREATE TABLE t (id INT PRIMARY KEY, a ENUM('a', '😀') CHARACTER SET utf8mb4); INSERT INTO t VALUES (1, 'a'), (2, '😀');

-- case mysql: JSON: numbers, dates, nesting, odd keys
CREATE TABLE t (id INT PRIMARY KEY, j JSON, k JSON NOT NULL);
INSERT INTO t VALUES (1, NULL, '{}'), (2, 'null', '[]'), (3, '{"a":1.0,"b":1e100,"c":-0.0,"":"empty","a\\"b":[1,[2,{"z":null}]]}', '18446744073709551615'), (4, JSON_OBJECT('d', CAST('2026-01-02 03:04:05.678900' AS DATETIME(6)), 't', CAST('-12:00:01' AS TIME), 'x', CAST(1.25 AS DECIMAL(10,2))), JSON_ARRAY(CAST('x' AS BINARY), POINT(1, 2))), (5, '"ä😀\\u0000\\t"', JSON_QUOTE('\\'));

-- case mariadb: JSON, which is text with a check
CREATE TABLE t (id INT PRIMARY KEY, j JSON, k JSON NOT NULL);
INSERT INTO t VALUES (1, NULL, '{}'), (2, 'null', '[ 1,  2 ]'), (3, '{"b":1,"a":1.0,"a":2}', '18446744073709551615'), (4, '"ä😀\\t"', '{"k":"v"}');

-- case: geometry with a spatial key
CREATE TABLE t (id INT PRIMARY KEY, p POINT NOT NULL, g GEOMETRY, SPATIAL KEY (p));
INSERT INTO t VALUES (1, ST_GeomFromText('POINT(1 2)'), ST_GeomFromText('POLYGON((0 0,10 0,10 10,0 10,0 0),(2 2,3 2,3 3,2 3,2 2))')), (2, ST_GeomFromText('POINT(-1.5 1e10)'), ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1,2 2))')), (3, ST_GeomFromText('POINT(0 0)'), NULL);
-- probe: SELECT COUNT(*) FROM t WHERE MBRContains(ST_GeomFromText('POLYGON((0 0,5 0,5 5,0 5,0 0))'), p)

-- case mysql: geometry with a reference system
CREATE TABLE t (id INT PRIMARY KEY, p POINT NOT NULL SRID 4326, q GEOMETRY SRID 0 NOT NULL, SPATIAL KEY (p), SPATIAL KEY (q));
INSERT INTO t VALUES (1, ST_GeomFromText('POINT(48.2 16.4)', 4326), ST_GeomFromText('POINT(1 2)')), (2, ST_GeomFromText('POINT(-33.9 151.2)', 4326), ST_GeomFromText('LINESTRING(0 0,1 1)'));

-- case mysql: VECTOR
CREATE TABLE t (id INT PRIMARY KEY, v VECTOR(3), w VECTOR NOT NULL);
INSERT INTO t VALUES (1, TO_VECTOR('[1,2,3]'), TO_VECTOR('[0.1]')), (2, NULL, TO_VECTOR('[-1e-37,3.4e38]'));

-- case mariadb: UUID, INET4 and INET6
CREATE TABLE t (id INT PRIMARY KEY, u UUID, i INET6, j INET4, KEY (u), KEY (i));
INSERT INTO t VALUES (1, '123e4567-e89b-12d3-a456-426655440000', '2001:db8::ff00:42:8329', '192.0.2.33'), (2, '00000000-0000-0000-0000-000000000000', '::', '0.0.0.0'), (3, NULL, NULL, NULL), (4, 'ffffffff-ffff-ffff-ffff-ffffffffffff', '::ffff:192.0.2.1', '255.255.255.255');

-- case: generated columns, stored and virtual, with keys
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), c INT AS (a * 2) STORED, d VARCHAR(30) AS (CONCAT(b, '-', a)) VIRTUAL, e INT AS (a + 1) VIRTUAL, KEY (c), KEY (d), UNIQUE KEY (e));
INSERT INTO t (id, a, b) VALUES (1, 1, 'x'), (2, NULL, 'y'), (3, -5, NULL), (4, 10, 'ü');
-- probe: SELECT COUNT(*) FROM t FORCE INDEX (d) WHERE d = 'x-1'

-- case: a table whose only columns are generated
CREATE TABLE t (a INT AS (1 + 1) VIRTUAL, b INT AS (2) STORED);
INSERT INTO t VALUES (), (), ();

-- case mysql: keys over expressions, and over members of a JSON array
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), j JSON, KEY f ((a + 1)), KEY g ((LOWER(b)), a DESC), KEY m ((CAST(j->'$.tags' AS UNSIGNED ARRAY))));
INSERT INTO t VALUES (1, 1, 'AbC', '{"tags":[1,2,3]}'), (2, 2, 'x', '{"tags":[3]}'), (3, NULL, NULL, NULL);
-- probe: SELECT COUNT(*) FROM t WHERE 3 MEMBER OF (j->'$.tags')

-- case mysql: invisible columns and keys
CREATE TABLE t (id INT PRIMARY KEY, a INT INVISIBLE DEFAULT 7, b INT, KEY (b) INVISIBLE);
INSERT INTO t (id, a, b) VALUES (1, 5, 2), (2, NULL, 3);

-- case mariadb: invisible columns and ignored keys
CREATE TABLE t (id INT PRIMARY KEY, a INT INVISIBLE DEFAULT 7, b INT, KEY k (b) IGNORED);
INSERT INTO t (id, a, b) VALUES (1, 5, 2), (2, NULL, 3);

-- case: descending keys, keys of prefixes, unique keys with NULL
CREATE TABLE t (id INT, a VARCHAR(100), b TEXT, c INT, d INT, PRIMARY KEY (id DESC), KEY (a(5) DESC, c), KEY (b(20)), UNIQUE KEY (c, d DESC));
INSERT INTO t VALUES (1, 'abcdefgh', 'text', NULL, 1), (2, 'abcdefgi', 'more text', NULL, 1), (3, NULL, NULL, 5, NULL), (4, 'z', 'x', 5, 6);

-- case mariadb: unique keys over long columns
CREATE TABLE t (id INT PRIMARY KEY, a TEXT, b BLOB, UNIQUE KEY (a), UNIQUE KEY (b));
INSERT INTO t VALUES (1, REPEAT('x', 2000), 'a'), (2, REPEAT('y', 2000), 'b'), (3, NULL, NULL);

-- case: full-text keys
CREATE TABLE t (id INT PRIMARY KEY, a TEXT, b VARCHAR(200), FULLTEXT KEY (a), FULLTEXT KEY both_of (a, b));
INSERT INTO t VALUES (1, 'the quick brown fox', 'jumps over'), (2, 'lazy dogs sleep', NULL), (3, NULL, 'quick words');
-- probe: SELECT GROUP_CONCAT(id ORDER BY id) FROM t WHERE MATCH(a, b) AGAINST ('quick')

-- case mysql: a full-text key with the parser ngram
CREATE TABLE t (id INT PRIMARY KEY, a TEXT, FULLTEXT KEY (a) WITH PARSER ngram);
INSERT INTO t VALUES (1, '日本語のテキスト'), (2, 'plain');
-- probe: SELECT GROUP_CONCAT(id) FROM t WHERE MATCH(a) AGAINST ('本語')

-- case: partitions by RANGE, LIST, HASH and KEY
CREATE TABLE r (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION `p 1` VALUES LESS THAN (20), PARTITION pm VALUES LESS THAN MAXVALUE);
INSERT INTO r VALUES (1, 1), (15, 2), (99, 3);
CREATE TABLE l (d DATE, v VARCHAR(10)) PARTITION BY LIST COLUMNS (v) (PARTITION a VALUES IN ('a', 'x'), PARTITION b VALUES IN ('b', NULL));
INSERT INTO l VALUES ('2026-01-01', 'a'), (NULL, NULL), (NULL, 'b');
CREATE TABLE h (id INT PRIMARY KEY) PARTITION BY LINEAR HASH (id) PARTITIONS 5;
INSERT INTO h VALUES (1), (2), (3), (4), (5), (6), (7);
CREATE TABLE k (v VARCHAR(20) PRIMARY KEY) PARTITION BY KEY (v) PARTITIONS 3;
INSERT INTO k VALUES ('a'), ('b'), ('c'), ('d');
-- probe: SELECT COUNT(*) FROM r PARTITION (`p 1`)
-- probe: SELECT GROUP_CONCAT(partition_name, ':', partition_description ORDER BY partition_ordinal_position) FROM information_schema.partitions WHERE table_schema = DATABASE() AND table_name = 'r'

-- case: subpartitions
CREATE TABLE t (id INT, d INT, PRIMARY KEY (id, d)) PARTITION BY RANGE (d) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN MAXVALUE);
INSERT INTO t VALUES (1, 1), (2, 11), (3, 5), (4, 99);

-- case: CHECK constraints
CREATE TABLE t (id INT PRIMARY KEY, a INT CHECK (a > 0), b VARCHAR(10), CONSTRAINT `b is short` CHECK (CHAR_LENGTH(b) < 5 OR b = 'it''s'));
INSERT INTO t VALUES (1, 1, 'abcd'), (2, NULL, NULL);

-- case mysql: CHECK constraints that are not enforced
CREATE TABLE t (id INT PRIMARY KEY, a INT, CONSTRAINT c CHECK (a > 0) NOT ENFORCED);
INSERT INTO t VALUES (1, -1), (2, 1);

-- case: foreign keys: a circle, to itself, with actions
CREATE TABLE a (id INT PRIMARY KEY, b INT, KEY (b));
CREATE TABLE b (id INT PRIMARY KEY, a INT, CONSTRAINT `to a` FOREIGN KEY (a) REFERENCES a (id) ON DELETE SET NULL ON UPDATE CASCADE);
INSERT INTO a VALUES (1, NULL), (2, NULL);
INSERT INTO b VALUES (10, 1), (20, 2);
UPDATE a SET b = id * 10;
ALTER TABLE a ADD CONSTRAINT to_b FOREIGN KEY (b) REFERENCES b (id) ON DELETE CASCADE;
CREATE TABLE tree (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES tree (id));
INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2);

-- case: views over views, with checks and other rights
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10));
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');
CREATE VIEW z AS SELECT id, v FROM t WHERE id < 3 WITH CASCADED CHECK OPTION;
CREATE ALGORITHM = TEMPTABLE SQL SECURITY INVOKER VIEW y AS SELECT MAX(id) AS `max id`, CONCAT(v, '\\', 'ü') AS w FROM z GROUP BY v;
CREATE VIEW a AS SELECT y.*, 1 AS n FROM y JOIN z ON z.id = `max id`;
-- probe: SELECT GROUP_CONCAT(w ORDER BY w) FROM a

-- case: a view made by a client with another character set
SET NAMES latin1;
CREATE VIEW v AS SELECT _latin1 0xE4 AS a, 'x' AS b;
SET NAMES utf8mb4;
-- probe: SELECT CONCAT(character_set_client, collation_connection) FROM information_schema.views WHERE table_schema = DATABASE()
-- probe: SELECT GROUP_CONCAT(character_set_name) FROM information_schema.columns WHERE table_schema = DATABASE()

-- case: triggers of all kinds, and their order
CREATE TABLE t (id INT PRIMARY KEY, v INT);
CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, what VARCHAR(50));
CREATE TRIGGER b1 BEFORE INSERT ON t FOR EACH ROW SET NEW.v = NEW.v + 1;
CREATE TRIGGER a2 AFTER INSERT ON t FOR EACH ROW INSERT INTO log (what) VALUES (CONCAT('it''s ', NEW.id));
CREATE TRIGGER a1 AFTER INSERT ON t FOR EACH ROW FOLLOWS a2 INSERT INTO log (what) VALUES ('second');
CREATE TRIGGER a0 AFTER INSERT ON t FOR EACH ROW PRECEDES a2 INSERT INTO log (what) VALUES ('first');
CREATE TRIGGER `upd ate` BEFORE UPDATE ON t FOR EACH ROW SET NEW.v = OLD.v + 1;
CREATE TRIGGER del AFTER DELETE ON t FOR EACH ROW DELETE FROM log WHERE id = OLD.id;
INSERT INTO t VALUES (1, 1), (2, 2);
-- probe: SELECT GROUP_CONCAT(trigger_name, action_order ORDER BY trigger_name) FROM information_schema.triggers WHERE trigger_schema = DATABASE()

-- case: a trigger whose schema had another collation then
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, hit INT);
ALTER DATABASE COLLATE utf8mb4_bin;
CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.hit = (CAST(NEW.v AS CHAR(10)) = 'A');
ALTER DATABASE COLLATE utf8mb4_general_ci;
INSERT INTO t (id, v) VALUES (1, 'a'), (2, 'A');
-- probe: SELECT GROUP_CONCAT(database_collation) FROM information_schema.triggers WHERE trigger_schema = DATABASE()

-- case: a trigger with its own sql_mode
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40));
SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES';
CREATE TRIGGER "od d" BEFORE INSERT ON t FOR EACH ROW SET NEW."v" = NEW.v || '\' || 'x';
SET sql_mode = '';
INSERT INTO t VALUES (1, 'a');

-- case: procedures and functions
CREATE PROCEDURE p(IN a INT, OUT b VARCHAR(20) CHARACTER SET latin1, INOUT c DECIMAL(10,2)) READS SQL DATA SQL SECURITY INVOKER COMMENT 'it''s "x"' SET b = CONCAT(a, '''\\');
CREATE FUNCTION f(a VARCHAR(20) CHARACTER SET utf8mb4) RETURNS VARCHAR(40) CHARACTER SET utf8mb4 DETERMINISTIC RETURN CONCAT(a, '-ü');
CREATE FUNCTION p() RETURNS INT NO SQL RETURN 7;
-- probe: SELECT f('x')
-- probe: SELECT GROUP_CONCAT(routine_name, routine_type, sql_data_access, security_type, sql_mode ORDER BY routine_type, routine_name) FROM information_schema.routines WHERE routine_schema = DATABASE()

-- case: a procedure whose body ends with a comment
CREATE PROCEDURE p() SELECT 1 /* a comment at the end */;
CREATE FUNCTION f() RETURNS INT NO SQL RETURN /* inside */ 5;
-- probe: SELECT f()

-- case: events: once, again and again, with an end, disabled
CREATE EVENT e1 ON SCHEDULE AT '2037-01-01 00:00:00' ON COMPLETION PRESERVE DO SELECT 1;
SET time_zone = '+05:30';
CREATE EVENT e2 ON SCHEDULE EVERY '1:30' HOUR_MINUTE STARTS '2036-01-01 00:00:00' ENDS '2037-01-01 00:00:00' DISABLE COMMENT 'it''s' DO SET @x = 'ü;';
-- probe: SELECT GROUP_CONCAT(event_name, status, IFNULL(starts, ''), IFNULL(execute_at, ''), time_zone ORDER BY event_name) FROM information_schema.events WHERE event_schema = DATABASE()

-- case mariadb: sequences
CREATE SEQUENCE s START WITH 5 INCREMENT BY 3 MAXVALUE 100 CACHE 4 CYCLE;
SELECT NEXT VALUE FOR s;
CREATE TABLE t (id INT PRIMARY KEY DEFAULT NEXT VALUE FOR s, v INT);
INSERT INTO t (v) VALUES (1), (2);
-- probe: SELECT CONCAT(next_not_cached_value, ' ', cycle_count) FROM s

-- case mariadb: packages
SET sql_mode = 'ORACLE';
DELIMITER //
CREATE PACKAGE pk AS FUNCTION f RETURN INT; END//
CREATE PACKAGE BODY pk AS FUNCTION f RETURN INT AS BEGIN RETURN 42; END; END//
DELIMITER ;
-- probe: SELECT pk.f()

-- case mariadb: system versioning
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
INSERT INTO t VALUES (1, 1), (2, 2);
UPDATE t SET v = 5 WHERE id = 1;
-- probe: SELECT COUNT(*) FROM t FOR SYSTEM_TIME ALL

-- case mariadb: periods of application time
CREATE TABLE t (id INT, a DATE, b DATE, PERIOD FOR p (a, b), PRIMARY KEY (id, p WITHOUT OVERLAPS));
INSERT INTO t VALUES (1, '2026-01-01', '2026-02-01'), (1, '2026-02-01', '2026-03-01');

-- case mariadb: columns that are compressed
CREATE TABLE t (id INT PRIMARY KEY, a TEXT COMPRESSED, b VARCHAR(2000) COMPRESSED DEFAULT 'x');
INSERT INTO t VALUES (1, REPEAT('abc', 1000), REPEAT('z', 1500)), (2, NULL, ''), (3, 'short', 'x');

-- case: histograms
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20));
INSERT INTO t VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 5, 'b'), (4, 9, NULL);
-- mysql: ANALYZE TABLE t UPDATE HISTOGRAM ON a, b WITH 10 BUCKETS
-- mariadb: SET STATEMENT use_stat_tables = PREFERABLY FOR ANALYZE TABLE t PERSISTENT FOR COLUMNS (a, b) INDEXES ()
-- mysql probe: SELECT COUNT(*) FROM information_schema.column_statistics WHERE schema_name = DATABASE()
-- mariadb probe: SELECT COUNT(*) FROM mysql.column_stats WHERE db_name = DATABASE()

-- case: defaults, also by expression
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20) DEFAULT 'it''s \\ "x"', b DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), c INT DEFAULT (1 + 2), d BIT(3) DEFAULT b'101', e DECIMAL(5,2) NOT NULL DEFAULT 1.50, f VARCHAR(50) DEFAULT (CONCAT('a', 'ü')), g BINARY(2) DEFAULT 0x0041, h TIMESTAMP NULL DEFAULT NULL);
INSERT INTO t (id, b) VALUES (1, '2026-01-01 00:00:00.123456');
-- probe: SELECT GROUP_CONCAT(column_name, '=', IFNULL(column_default, 'NULL') ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = DATABASE()

-- case: AUTO_INCREMENT: a gap, a zero, a counter that is ahead
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT);
INSERT INTO t VALUES (0, 1), (-5, 2), (7, 3);
CREATE TABLE u (id INT PRIMARY KEY AUTO_INCREMENT) AUTO_INCREMENT = 5000;
CREATE TABLE w (a INT, id BIGINT UNSIGNED AUTO_INCREMENT, PRIMARY KEY (a, id), KEY (id));
INSERT INTO w (a, id) VALUES (1, 18446744073709551000);

-- case: options of tables: formats of rows, comments, statistics
CREATE TABLE a (id INT PRIMARY KEY, v TEXT) ROW_FORMAT=REDUNDANT COMMENT='it''s "a" ü' STATS_PERSISTENT=0;
CREATE TABLE b (id INT PRIMARY KEY COMMENT 'line\nbreak ü', v TEXT) ROW_FORMAT=COMPACT STATS_SAMPLE_PAGES=5 CHECKSUM=1;
CREATE TABLE c (id INT PRIMARY KEY, v TEXT) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;
CREATE TABLE d (id INT PRIMARY KEY, v TEXT, KEY k (v(10)) COMMENT 'of a key') ROW_FORMAT=DYNAMIC MAX_ROWS=1000 AVG_ROW_LENGTH=100;
INSERT INTO a VALUES (1, REPEAT('a', 9000)); INSERT INTO b VALUES (1, REPEAT('b', 9000)); INSERT INTO c VALUES (1, REPEAT('c', 9000)); INSERT INTO d VALUES (1, REPEAT('d', 9000));

-- case: odd names
CREATE TABLE `a``b.c ü/\\é`(`x``y` INT, `select` VARCHAR(10), ` lead` INT, KEY `k``e y` (`select`), PRIMARY KEY (`x``y`));
INSERT INTO `a``b.c ü/\\é` VALUES (1, 'a', 2);
CREATE TABLE `%` (`?` INT PRIMARY KEY, `@` INT); INSERT INTO `%` VALUES (1, 2);
CREATE TABLE `a@b` (`$` INT PRIMARY KEY); INSERT INTO `a@b` VALUES (1);
CREATE VIEW `v``w '"` AS SELECT * FROM `%`;
CREATE PROCEDURE `p``r ü`() SELECT 1;

-- case: engines besides InnoDB
CREATE TABLE m (id INT PRIMARY KEY, v VARCHAR(10), FULLTEXT KEY (v)) ENGINE=MyISAM DELAY_KEY_WRITE=1; INSERT INTO m VALUES (1, 'a'), (2, NULL);
CREATE TABLE h (id INT PRIMARY KEY, v VARCHAR(10), KEY USING HASH (v)) ENGINE=MEMORY; INSERT INTO h VALUES (1, 'a');
CREATE TABLE c (id INT NOT NULL, v VARCHAR(20) NOT NULL) ENGINE=CSV; INSERT INTO c VALUES (1, 'a,b"c'), (2, '');
CREATE TABLE m1 (id INT, v VARCHAR(10), KEY (id)) ENGINE=MyISAM; INSERT INTO m1 VALUES (1, 'x');
CREATE TABLE m2 LIKE m1; INSERT INTO m2 VALUES (3, 'x');
CREATE TABLE both_of (id INT, v VARCHAR(10), KEY (id)) ENGINE=MERGE UNION=(m1, m2) INSERT_METHOD=LAST;

-- case mysql: ARCHIVE
CREATE TABLE a (id INT, v BLOB) ENGINE=ARCHIVE; INSERT INTO a VALUES (1, 0x00FF), (2, NULL);

-- case mariadb: Aria
CREATE TABLE t (id INT PRIMARY KEY, v TEXT) ENGINE=Aria PAGE_CHECKSUM=1 TRANSACTIONAL=1; INSERT INTO t VALUES (1, 'a'), (2, NULL);

-- case: no primary key, equal rows, no rows
CREATE TABLE t (a INT, b VARCHAR(10)); INSERT INTO t VALUES (1, 'a'), (1, 'a'), (NULL, NULL), (NULL, NULL), (2, '');
CREATE TABLE u (a INT NOT NULL, b INT NOT NULL, UNIQUE KEY (a, b)); INSERT INTO u VALUES (1, 1), (1, 2);
CREATE TABLE e (a INT PRIMARY KEY);

-- case: 500 columns
SET SESSION group_concat_max_len = 1000000;
SET @sql = (SELECT CONCAT('CREATE TABLE t (id INT PRIMARY KEY, ', GROUP_CONCAT('c', n, ' VARCHAR(10) CHARACTER SET latin1 DEFAULT ''v', n, '''' ORDER BY n SEPARATOR ', '), ')') FROM (SELECT a.i + 10 * b.i + 100 * c.i AS n FROM (SELECT 0 i UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) a, (SELECT 0 i UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) b, (SELECT 0 i UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4) c) q);
PREPARE s FROM @sql;
EXECUTE s;
INSERT INTO t (id) VALUES (1), (2);

-- case mysql: columns that were added and dropped at once
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(10)); INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y');
ALTER TABLE t ADD COLUMN c INT DEFAULT 7 FIRST, ALGORITHM=INSTANT;
INSERT INTO t VALUES (9, 3, 3, 'z');
ALTER TABLE t DROP COLUMN a, ALGORITHM=INSTANT;
ALTER TABLE t ADD COLUMN d TEXT, ALGORITHM=INSTANT;
UPDATE t SET d = 'dd' WHERE id = 2;

-- case mariadb: columns that were added, moved and dropped at once
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(10)); INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y');
ALTER TABLE t ADD COLUMN c INT DEFAULT 7 FIRST, ALGORITHM=INSTANT;
INSERT INTO t VALUES (9, 3, 3, 'z');
ALTER TABLE t DROP COLUMN a, ALGORITHM=INSTANT;
ALTER TABLE t MODIFY COLUMN c INT DEFAULT 7 AFTER b, ALGORITHM=INSTANT;

-- case: collations: of the schema, of a table, of a column
ALTER DATABASE CHARACTER SET latin1 COLLATE latin1_german2_ci;
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10), b VARCHAR(10) COLLATE latin1_bin, c VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_spanish_ci, UNIQUE KEY (b));
CREATE TABLE u (a VARCHAR(10), KEY (a)) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO t VALUES (1, 'ä', 'a', 'ñ'), (2, 'ae', 'A', 'n'); INSERT INTO u VALUES ('a'), ('A');
-- probe: SELECT GROUP_CONCAT(id ORDER BY a, id) FROM t WHERE a = 'ae'

-- case mysql: a primary key that the server made
SET sql_generate_invisible_primary_key = ON;
CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2), (1, 2);
SET sql_generate_invisible_primary_key = OFF;

-- case mysql: a general tablespace
CREATE TABLESPACE mx_space ADD DATAFILE 'mx_space.ibd' ENGINE=InnoDB;
CREATE TABLE t (id INT PRIMARY KEY, v INT) TABLESPACE mx_space; INSERT INTO t VALUES (1, 1);

-- case: a view and a trigger of an account that does not exist
CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);
CREATE DEFINER = gone@nowhere VIEW v AS SELECT * FROM t;
CREATE DEFINER = gone@nowhere PROCEDURE p() SELECT 1;

-- case: a view of a table that is gone
CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE stays (id INT PRIMARY KEY); INSERT INTO stays VALUES (1);
CREATE VIEW v AS SELECT * FROM t;
DROP TABLE t;
