//! Which options a managed instance may be given: those that a data directory is initialized with and
//! then keeps. Options that would make it write outside its directory, accept other clients, or put files
//! in other places are refused.

/// Their names begin with one of these; `-` and `_` are the same in names.
const ALLOWED: [&str; 9] = [
    "innodb_",
    "lower_case_table_names",
    "character_set_server",
    "collation_server",
    "default_",
    "explicit_defaults_for_timestamp",
    "aria_",
    "key_buffer_size",
    "performance_schema",
];

/// Options that would put files in other places, or make the server search for files there.
const REFUSED: [&str; 5] = [
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "innodb_directories",
    "innodb_read_only",
];

/// Checks an option, `name=value`; returns it as the server's programs accept it.
pub fn checked(typed: &str) -> Result<String, String> {
    let (name, value) = typed
        .trim_start_matches('-')
        .split_once('=')
        .ok_or("write it as NAME=VALUE")?;
    let name = name.trim().replace('-', "_").to_ascii_lowercase();
    let value = value.trim();
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let known = ALLOWED.iter().any(|a| {
        if a.ends_with('_') {
            name.starts_with(a)
        } else {
            name == *a
        }
    });
    if !known || !name.chars().all(letters) {
        return Err(format!(
            "{name} cannot be set here: only options that a data directory is initialized with can, such as innodb_*, default_* and lower_case_table_names"
        ));
    }
    let elsewhere = value.contains('/') || value.contains("..");
    if REFUSED.contains(&name.as_str()) || elsewhere {
        return Err(format!(
            "{name}: all files are created in the data directory; move them after the load, as the server's manual describes"
        ));
    }
    if name == "innodb_data_file_path" && !value.starts_with("ibdata1:") {
        return Err(format!("{name}: its first file must be ibdata1"));
    }
    if value.is_empty() || value.contains(|c: char| c.is_control()) {
        return Err(format!("{name} has no value"));
    }
    Ok(format!("{name}={value}"))
}

#[cfg(test)]
mod tests {
    use super::checked;

    #[test]
    fn only_options_of_a_data_directory_are_accepted() {
        for (typed, accepted) in [
            ("lower_case_table_names=1", "lower_case_table_names=1"),
            ("--Lower-Case-Table-Names = 1", "lower_case_table_names=1"),
            ("innodb-page-size=32k", "innodb_page_size=32k"),
            (
                "innodb_data_file_path=ibdata1:50M:autoextend",
                "innodb_data_file_path=ibdata1:50M:autoextend",
            ),
            ("default_table_encryption=ON", "default_table_encryption=ON"),
        ] {
            assert_eq!(checked(typed).as_deref(), Ok(accepted));
        }
        for typed in [
            "log-bin=x",
            "datadir=x",
            "socket=x",
            "user=root",
            "init_file=x",
            "skip-grant-tables=1",
            "general_log=1",
            "lower_case_table_names",
            "innodb_data_home_dir=x",
            "innodb_undo_directory=./undo",
            "innodb_data_file_path=mine:12M",
            "innodb_tmpdir=/tmp",
            "innodb_x=",
            "lower_case_table_names_and_more=1",
            "innodb_a b=1",
        ] {
            assert!(checked(typed).is_err(), "{typed}");
        }
    }
}
