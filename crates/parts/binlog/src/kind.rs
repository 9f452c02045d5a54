//! Kinds of events, as numbers, with the names that the servers' own tools print.

/// Which kind of event it is.
pub type Kind = u8;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        $($(#[$doc])* pub const $name: Kind = $number;)*

        /// The name of a kind, if it is known.
        pub fn name(kind: Kind) -> Option<&'static str> {
            match kind {
                $($number => Some($text),)*
                _ => None,
            }
        }
    };
}

kinds! {
    /// Start of a log before 5.0.
    START_V3 = 1, "Start_v3";
    /// A statement.
    QUERY = 2, "Query";
    /// The server ended.
    STOP = 3, "Stop";
    /// The log goes on in another file.
    ROTATE = 4, "Rotate";
    /// A number that the next statement uses.
    INTVAR = 5, "Intvar";
    /// LOAD DATA of old versions.
    LOAD = 6, "Load";
    /// Never written.
    SLAVE = 7, "Slave";
    /// LOAD DATA of old versions.
    CREATE_FILE = 8, "Create_file";
    /// A block of a file for LOAD DATA.
    APPEND_BLOCK = 9, "Append_block";
    /// LOAD DATA of old versions.
    EXEC_LOAD = 10, "Exec_load";
    /// LOAD DATA did not happen.
    DELETE_FILE = 11, "Delete_file";
    /// LOAD DATA of old versions.
    NEW_LOAD = 12, "New_load";
    /// The seed of RAND() for the next statement.
    RAND = 13, "RAND";
    /// A variable that the next statement uses.
    USER_VAR = 14, "User var";
    /// What the events after it look like.
    FORMAT_DESCRIPTION = 15, "Format_desc";
    /// Commit.
    XID = 16, "Xid";
    /// First block of a file for LOAD DATA.
    BEGIN_LOAD_QUERY = 17, "Begin_load_query";
    /// LOAD DATA as a statement.
    EXECUTE_LOAD_QUERY = 18, "Execute_load_query";
    /// The table of the row events after it.
    TABLE_MAP = 19, "Table_map";
    /// Rows of 5.1 before its release.
    PRE_GA_WRITE_ROWS = 20, "Write_rows_event_old";
    /// Rows of 5.1 before its release.
    PRE_GA_UPDATE_ROWS = 21, "Update_rows_event_old";
    /// Rows of 5.1 before its release.
    PRE_GA_DELETE_ROWS = 22, "Delete_rows_event_old";
    /// New rows (MariaDB, MySQL 5.1 to 5.5).
    WRITE_ROWS_V1 = 23, "Write_rows_v1";
    /// Changed rows.
    UPDATE_ROWS_V1 = 24, "Update_rows_v1";
    /// Deleted rows.
    DELETE_ROWS_V1 = 25, "Delete_rows_v1";
    /// The source lost something.
    INCIDENT = 26, "Incident";
    /// The source has nothing to send; in streams only.
    HEARTBEAT = 27, "Heartbeat";
    /// To be skipped by those who do not know it.
    IGNORABLE = 28, "Ignorable";
    /// The statement that the row events after it come from.
    ROWS_QUERY = 29, "Rows_query";
    /// New rows (MySQL since 5.6).
    WRITE_ROWS = 30, "Write_rows";
    /// Changed rows.
    UPDATE_ROWS = 31, "Update_rows";
    /// Deleted rows.
    DELETE_ROWS = 32, "Delete_rows";
    /// Begin of a transaction, MySQL.
    GTID = 33, "GTID";
    /// Begin of a transaction without GTID, MySQL.
    ANONYMOUS_GTID = 34, "Anonymous_Gtid";
    /// All transactions of the files before, MySQL.
    PREVIOUS_GTIDS = 35, "Previous_gtids";
    /// Group replication.
    TRANSACTION_CONTEXT = 36, "Transaction_context";
    /// Group replication.
    VIEW_CHANGE = 37, "View_change";
    /// XA PREPARE.
    XA_PREPARE = 38, "XA_prepare";
    /// Changed rows with changes of JSON values.
    PARTIAL_UPDATE_ROWS = 39, "Update_rows_partial";
    /// A whole transaction, compressed.
    TRANSACTION_PAYLOAD = 40, "Transaction_payload";
    /// The source has nothing to send, for long files; in streams only.
    HEARTBEAT_V2 = 41, "Heartbeat";
    /// Begin of a transaction whose GTID has a tag, MySQL since 8.4.
    GTID_TAGGED = 42, "Gtid_tagged";
    /// The statement that the row events after it come from, MariaDB.
    ANNOTATE_ROWS = 160, "Annotate_rows";
    /// Oldest file with transactions that a crash needs, MariaDB.
    BINLOG_CHECKPOINT = 161, "Binlog_checkpoint";
    /// Begin of a transaction, MariaDB.
    MARIADB_GTID = 162, "Gtid";
    /// Last transaction of each domain of the files before, MariaDB.
    GTID_LIST = 163, "Gtid_list";
    /// All that follows is encrypted, MariaDB.
    START_ENCRYPTION = 164, "Start_encryption";
    /// A statement, compressed, MariaDB.
    QUERY_COMPRESSED = 165, "Query_compressed";
    /// New rows, compressed, MariaDB.
    WRITE_ROWS_COMPRESSED_V1 = 166, "Write_rows_compressed_v1";
    /// Changed rows, compressed, MariaDB.
    UPDATE_ROWS_COMPRESSED_V1 = 167, "Update_rows_compressed_v1";
    /// Deleted rows, compressed, MariaDB.
    DELETE_ROWS_COMPRESSED_V1 = 168, "Delete_rows_compressed_v1";
    /// New rows, compressed, MariaDB.
    WRITE_ROWS_COMPRESSED = 169, "Write_rows_compressed";
    /// Changed rows, compressed, MariaDB.
    UPDATE_ROWS_COMPRESSED = 170, "Update_rows_compressed";
    /// Deleted rows, compressed, MariaDB.
    DELETE_ROWS_COMPRESSED = 171, "Delete_rows_compressed";
}

/// The name of a kind, or its number.
pub fn shown(kind: Kind) -> String {
    name(kind).map_or_else(|| format!("kind {kind}"), str::to_owned)
}
