//! A dump through a proxy that counts bytes, and rows for it.

use super::{Pair, Tool};
use testkit::proxy::Proxy;

/// A schema `w` with a table of 2 to the power of `doubled` rows, more than 200 bytes each.
pub fn filled(doubled: u32) -> String {
    let mut script = String::from(
        "CREATE SCHEMA w; \
        USE w;\nCREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, \
          a VARCHAR(200) NOT NULL) CHARACTER SET latin1;\nINSERT INTO t (a) \
          VALUES (REPEAT('x', 200));\n",
    );
    for _ in 0..doubled {
        script += "INSERT INTO t (a) SELECT LEFT(CONCAT(id, a), 200) FROM t;\n";
    }
    script + "ANALYZE TABLE t;\n"
}

/// `penstock dump` through a proxy.
pub fn dumping(pair: &Pair, proxy: &Proxy, name: &str, more: &[&str]) -> Tool {
    let tool = Tool::new(["dump", "--socket"]).arg(proxy.socket());
    tool.args([
        "--user",
        "root",
        "--chunk-size",
        "1M",
        "--compression",
        "none",
        "--to",
    ])
    .arg(pair.path(name))
    .args(more.iter().copied())
    .env("PENSTOCK_STATE", pair.path("state"))
}

/// A proxy in front of the source.
pub fn proxy(pair: &Pair) -> Proxy {
    let server = pair.source().options().endpoint;
    Proxy::unix(&pair.path("proxy.sock"), &server).expect("a proxy")
}
