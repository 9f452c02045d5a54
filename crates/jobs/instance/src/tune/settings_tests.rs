use super::*;

fn server(pairs: &[(&str, &str)]) -> Identity {
    let variables = pairs
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Identity::from_variables(variables.collect()).expect("a version")
}

fn all() -> Privileges {
    Privileges::from_grants("'u'@'%'", &["GRANT ALL PRIVILEGES ON *.* TO `u`@`%`"])
}

const MYSQL: &[(&str, &str)] = &[
    ("version", "9.7.4"),
    ("log_bin", "ON"),
    ("local_infile", "OFF"),
    ("sync_binlog", "1"),
    ("innodb_flush_log_at_trx_commit", "1"),
    ("innodb_buffer_pool_size", "134217728"),
    ("innodb_buffer_pool_chunk_size", "134217728"),
    ("innodb_redo_log_capacity", "104857600"),
    ("innodb_doublewrite", "ON"),
    ("innodb_autoinc_lock_mode", "2"),
];

const GIB: u64 = 1 << 30;

const WORK: LoadProfile = LoadProfile {
    bytes: GIB,
    split: true,
    binlog: true,
    redo: false,
    session: 0,
};

fn names(plan: &Plan) -> Vec<&str> {
    plan.changes.iter().map(|c| c.name).collect()
}

#[test]
fn without_a_redo_log_its_settings_are_not_changed() {
    let plan = plan(&server(MYSQL), &all(), &WORK, Some(8 * GIB), Some(true));
    assert_eq!(
        names(&plan),
        ["local_infile", "sync_binlog", BUFFER_POOL, REDO_LOG]
    );
    assert_eq!(plan.changes[2].wanted, (2 * GIB).to_string());
    assert_eq!(plan.restart, ["skip-log-bin"]);
    assert!(plan.not_changed.is_empty());
}

#[test]
fn a_missing_privilege_is_named_and_other_settings_are_used() {
    let granted = Privileges::from_grants(
        "'u'@'%'",
        &["GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO `u`@`%`"],
    );
    let found = plan(&server(MYSQL), &granted, &WORK, None, Some(true));
    assert_eq!(
        names(&found),
        [
            "local_infile",
            "sync_binlog",
            "innodb_flush_log_at_trx_commit",
            "innodb_redo_log_capacity"
        ]
    );
    let grant = "innodb_redo_log: needs INNODB_REDO_LOG_ENABLE (GRANT INNODB_REDO_LOG_ENABLE ON *.* TO 'u'@'%')";
    assert!(
        found.not_changed.iter().any(|l| l == grant),
        "{:?}",
        found.not_changed
    );
    assert_eq!(found.restart, ["innodb_doublewrite = OFF", "skip-log-bin"]);
    let none = plan(
        &server(MYSQL),
        &Privileges::default(),
        &WORK,
        None,
        Some(true),
    );
    assert!(
        none.changes.is_empty() && none.not_changed.len() >= 5,
        "{none:?}"
    );
}

#[test]
fn a_redo_log_that_is_off_already_stays_off() {
    let found = plan(&server(MYSQL), &all(), &WORK, None, Some(false));
    assert_eq!(names(&found), ["local_infile", "sync_binlog"]);
}

#[test]
fn a_load_without_binary_log_does_not_change_its_settings() {
    let work = LoadProfile {
        binlog: false,
        ..WORK
    };
    let found = plan(&server(MYSQL), &all(), &work, None, Some(true));
    assert!(!names(&found).contains(&"sync_binlog"));
    assert!(found.restart.is_empty());
}

#[test]
fn memory_is_used_only_where_some_is_spare() {
    let pool = |spare: u64, bytes: u64| {
        let work = LoadProfile { bytes, ..WORK };
        let found = plan(&server(MYSQL), &all(), &work, Some(spare), Some(true));
        found
            .changes
            .into_iter()
            .find(|c| c.name == BUFFER_POOL)
            .map(|c| c.wanted)
    };
    // Half of the spare memory, in whole chunks.
    assert_eq!(pool(GIB, 4 * GIB), Some((640 * MIB).to_string()));
    assert_eq!(pool(100 * MIB, 4 * GIB), None);
    // What is loaded fits into the pool as it is.
    assert_eq!(pool(8 * GIB, 64 * MIB), None);
}

#[test]
fn mariadb_by_version() {
    let base = [
        ("version", "10.11.1-MariaDB"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_log_file_size", "100663296"),
        ("innodb_autoinc_lock_mode", "1"),
    ];
    let found = plan(&server(&base), &all(), &WORK, None, None);
    assert_eq!(names(&found), ["innodb_flush_log_at_trx_commit"]);
    assert_eq!(found.restart, ["innodb_autoinc_lock_mode = 2"]);
    // A larger log takes seconds to create, so only a long load gets one.
    let long = LoadProfile {
        bytes: 6 * GIB,
        ..WORK
    };
    let found = plan(&server(&base), &all(), &long, None, None);
    assert_eq!(
        names(&found),
        ["innodb_flush_log_at_trx_commit", "innodb_log_file_size"]
    );
    assert_eq!(found.changes[1].wanted, (3 * GIB).to_string());
    let mut old = base;
    old[0].1 = "10.6.5-MariaDB";
    let found = plan(&server(&old), &all(), &WORK, None, None);
    assert_eq!(names(&found), ["innodb_flush_log_at_trx_commit"]);
    assert_eq!(
        found.restart,
        [
            "innodb_log_file_size = 512M",
            "innodb_autoinc_lock_mode = 2"
        ]
    );
}

#[test]
fn a_server_is_not_restarted_for_a_gap_in_its_log() {
    let id = server(&[
        ("version", "10.6.5-MariaDB"),
        ("innodb_doublewrite", "ON"),
        ("innodb_log_file_size", "100663296"),
    ]);
    let restart = [
        "innodb_log_file_size = 512M",
        "innodb_doublewrite = OFF",
        "skip-log-bin",
    ]
    .map(str::to_owned);
    let found = lines(&id, &restart);
    let found: Vec<_> = found
        .iter()
        .map(|l| (&*l.setting, &*l.before, &*l.wanted))
        .collect();
    assert_eq!(
        found,
        [
            ("innodb_log_file_size", "100663296", "536870912"),
            ("innodb_doublewrite", "ON", "OFF")
        ]
    );
}
