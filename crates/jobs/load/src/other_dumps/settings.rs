//! What a script has set of what changes its rows, put aside and taken back.
//!
//! Dumps keep `sql_mode` and `time_zone` in user variables around each trigger
//! and event, and go on with rows behind them: whoever takes only literals for
//! settings stores the rows behind the first trigger under others.

use super::batch::Context;
use dumps::statement::{Assignment, Scope, Value};
use std::collections::HashMap;

/// User variables that are kept; a dump needs a handful.
const KEPT: usize = 64;

/// The settings in force, and those put aside.
#[derive(Default)]
pub struct Settings {
    now: Context,
    /// What the script found when it began.
    first: Context,
    kept: HashMap<String, Context>,
}

impl Settings {
    /// The settings behind a SET.
    pub fn follow(&mut self, list: &[Assignment]) -> Context {
        for Assignment { scope, name, value } in list {
            match (scope, name.as_str()) {
                (Scope::User, _) => match value {
                    Value::Variable(from)
                        if self.kept.len() < KEPT
                            && matches!(from.as_str(), "sql_mode" | "time_zone") =>
                    {
                        self.kept.insert(name.clone(), self.now.clone());
                    }
                    _ => {}
                },
                (Scope::Session, "time_zone") => {
                    self.now.zone = match value {
                        Value::Text(zone) if zone.eq_ignore_ascii_case("SYSTEM") => None,
                        Value::Text(zone) => Some(zone.clone()),
                        Value::User(from) => self.kept(from).zone.clone(),
                        _ => self.first.zone.clone(),
                    }
                }
                (Scope::Session, "sql_mode") => {
                    const MODE: &str = "NO_AUTO_VALUE_ON_ZERO";
                    let has = |text: &String| text.to_ascii_uppercase().contains(MODE);
                    self.now.zero_is_a_value = match value {
                        Value::Text(mode) => has(mode),
                        Value::User(from) => self.kept(from).zero_is_a_value,
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

    fn kept(&self, name: &str) -> &Context {
        self.kept.get(name).unwrap_or(&self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumps::Dialect;
    use dumps::statement::assignments;

    #[test]
    fn what_was_put_aside_comes_back() {
        let mut settings = Settings::default();
        let mut after = |sql: &str| {
            let list = assignments(sql.as_bytes(), Dialect::default()).expect("a SET");
            let now = settings.follow(&list);
            (now.zone, now.zero_is_a_value)
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
