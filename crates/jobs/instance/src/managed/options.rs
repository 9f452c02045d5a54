//! Which options a load's own server may be given: those that a data folder is
//! made with once and for all. It stays in its folder, out of everybody's reach,
//! and with the files where they are looked for.

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

/// What would put files into other places, or have others looked for.
const REFUSED: [&str; 5] = [
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "innodb_directories",
    "innodb_read_only",
];

/// Looks at an option, `name=value`; gives it as the server's programs take it.
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
            "{name} is not for a server that makes a data folder and nothing else; those that are begin with innodb_ or default_, or are lower_case_table_names and the like"
        ));
    }
    let elsewhere = value.contains('/') || value.contains("..");
    if REFUSED.contains(&name.as_str()) || elsewhere {
        return Err(format!(
            "{name}: all files are made in the data folder; move them when the load is over, as the server's manual says"
        ));
    }
    if name == "innodb_data_file_path" && !value.starts_with("ibdata1:") {
        return Err(format!("{name}: its first file has to be ibdata1"));
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
    fn only_what_a_folder_is_made_with_is_taken() {
        for (typed, taken) in [
            ("lower_case_table_names=1", "lower_case_table_names=1"),
            ("--Lower-Case-Table-Names = 1", "lower_case_table_names=1"),
            ("innodb-page-size=32k", "innodb_page_size=32k"),
            (
                "innodb_data_file_path=ibdata1:50M:autoextend",
                "innodb_data_file_path=ibdata1:50M:autoextend",
            ),
            ("default_table_encryption=ON", "default_table_encryption=ON"),
        ] {
            assert_eq!(checked(typed).as_deref(), Ok(taken));
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
