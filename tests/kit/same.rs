//! "The copy is the same" as an administrator would check it: every object by its SHOW CREATE, read
//! by the test itself.

use super::Pair;
use testkit::Server;

/// What SHOW CREATE gives for every object of a schema, under `kind name`, sorted.
pub fn definitions(server: &Server, schema: &str) -> Vec<(String, String)> {
    let mut conn = server.conn().unwrap_or_else(|e| panic!("{e:?}"));
    testkit::matrix::definitions(&mut conn, schema).unwrap_or_else(|e| panic!("{e:?}"))
}

impl Pair {
    /// The schema has the same definitions on the target as on the source, object by object.
    #[track_caller]
    pub fn same_definitions(&self, schema: &str) {
        let (source, target) = (
            definitions(self.source(), schema),
            definitions(self.target(), schema),
        );
        let names =
            |list: &[(String, String)]| list.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>();
        assert_eq!(names(&source), names(&target));
        for ((name, ours), (_, theirs)) in source.iter().zip(&target) {
            assert_eq!(ours, theirs, "{name}");
        }
    }

    /// Equal as definitions, by the servers' checksums, and by `verify --server --server`.
    #[track_caller]
    pub fn same_schema(&self, schema: &str) {
        self.same_definitions(schema);
        self.same_checksums();
        self.verify_servers(&["--schemas", schema])
            .ok()
            .says(&["Equal"]);
    }

    /// After this change on the target, `verify` names the table and ends with exit code 4, both
    /// against the archive and against the source.
    #[track_caller]
    pub fn a_change_is_found(&self, archive: &str, table: &str, change: &str) {
        self.target()
            .client(change)
            .unwrap_or_else(|e| panic!("{e:?}"));
        let schema = table.split('.').next().unwrap_or_default().replace('`', "");
        self.verify_against(archive, self.target())
            .code(4)
            .says(&[table, "differ"]);
        self.verify_servers(&["--schemas", &schema])
            .code(4)
            .says(&[table, "differ"]);
    }
}

/// A derived table `q` with a column `n` that counts from 0 to 9999.
pub const COUNT: &str = "(SELECT a.i + 10 * b.i + 100 * c.i + 1000 * d.i AS n FROM
 (SELECT 0 i UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION \
        ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) a,
 (SELECT 0 i UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION \
        ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) b,
 (SELECT 0 i UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION \
        ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) c,
 (SELECT 0 i UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION \
        ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) \
        d) q";
