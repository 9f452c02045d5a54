//! The script's settings that change what its rows mean, also when they are saved in user variables and
//! restored.
//!
//! Dumps save `sql_mode` and `time_zone` in user variables around each trigger and event, and continue with
//! rows after them: a loader that follows only literals would store the rows after the first trigger under
//! other settings.

use dumps::statement::{Assignment, Scope, Value};
use std::collections::HashMap;

/// Settings of the script that change what is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSettings {
    /// Time zone; `None` is the server's.
    pub time_zone: Option<String>,
    /// 0 for an AUTO_INCREMENT column is 0, and not the next number.
    pub zero_is_a_value: bool,
}

/// User variables that are saved; a dump needs a handful.
const MOST_SAVED: usize = 64;

/// The settings in force, and those saved.
#[derive(Default)]
pub struct Settings {
    now: RowSettings,
    /// The settings when the script began.
    first: RowSettings,
    saved: HashMap<String, RowSettings>,
}

impl Settings {
    /// The settings after a SET.
    pub fn follow(&mut self, list: &[Assignment]) -> RowSettings {
        for Assignment { scope, name, value } in list {
            match (scope, name.as_str()) {
                (Scope::User, _) => match value {
                    Value::Variable(from)
                        if self.saved.len() < MOST_SAVED
                            && matches!(from.as_str(), "sql_mode" | "time_zone") =>
                    {
                        self.saved.insert(name.clone(), self.now.clone());
                    }
                    _ => {}
                },
                (Scope::Session, "time_zone") => {
                    self.now.time_zone = match value {
                        Value::Text(zone) if zone.eq_ignore_ascii_case("SYSTEM") => None,
                        Value::Text(zone) => Some(zone.clone()),
                        Value::User(from) => self.saved(from).time_zone.clone(),
                        _ => self.first.time_zone.clone(),
                    }
                }
                (Scope::Session, "sql_mode") => {
                    const MODE: &str = "NO_AUTO_VALUE_ON_ZERO";
                    let has = |text: &String| text.to_ascii_uppercase().contains(MODE);
                    self.now.zero_is_a_value = match value {
                        Value::Text(mode) => has(mode),
                        Value::User(from) => self.saved(from).zero_is_a_value,
                        // `CONCAT(@@sql_mode, ',…')` adds.
                        Value::Expression(text) => self.now.zero_is_a_value || has(text),
                        Value::Number(_) | Value::Variable(_) | Value::Default => false,
                    }
                }
                _ => {}
            }
        }
        self.now.clone()
    }

    fn saved(&self, name: &str) -> &RowSettings {
        self.saved.get(name).unwrap_or(&self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumps::Dialect;
    use dumps::statement::assignments;

    #[test]
    fn saved_settings_come_back() {
        let mut settings = Settings::default();
        let mut after = |sql: &str| {
            let list = assignments(sql.as_bytes(), Dialect::default()).expect("a SET");
            let now = settings.follow(&list);
            (now.time_zone, now.zero_is_a_value)
        };
        let utc = || Some("+00:00".to_owned());
        after("SET @OLD_TIME_ZONE=@@TIME_ZONE");
        after("SET TIME_ZONE='+00:00'");
        assert_eq!(
            after("SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO'"),
            (utc(), true)
        );
        after("SET @saved_sql_mode = @@sql_mode, @save_time_zone = @@TIME_ZONE");
        assert_eq!(
            after("SET sql_mode = 'ANSI', time_zone = 'SYSTEM'"),
            (None, false)
        );
        assert_eq!(
            after("SET sql_mode = @saved_sql_mode, TIME_ZONE = @save_time_zone"),
            (utc(), true)
        );
        assert_eq!(
            after("SET SQL_MODE=@OLD_SQL_MODE, TIME_ZONE=@OLD_TIME_ZONE"),
            (None, false)
        );
    }
}
