//! A schema with everything that dump tools get wrong.

use super::{COUNT, Pair};
use crate::kit::fixtures::fixture;

/// Its name, and that of a second schema with names that need quoting.
pub const SCHEMAS: [&str; 2] = ["rich", "odd `name"];

/// Fills the source.
pub fn fill(pair: &Pair) {
    pair.fill(&fixture!("rich_tables"));
    pair.fill(&rows());
    pair.fill(&fixture!("rich_objects"));
    pair.fill(if pair.is_mysql() { MYSQL } else { MARIADB });
}

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
