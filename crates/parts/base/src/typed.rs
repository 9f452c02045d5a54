//! Quantities as people type them: the one place that knows the suffixes.
//! Callers decide on error texts and limits.

/// What the suffix of a size means, in bytes: binary multiples, as in the servers' own options.
pub fn multiple(letters: &str) -> Option<u64> {
    match letters.to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "k" | "kb" | "kib" => Some(1 << 10),
        "m" | "mb" | "mib" => Some(1 << 20),
        "g" | "gb" | "gib" => Some(1 << 30),
        _ => None,
    }
}

/// `90s`, `500ms`, `1.5m`, `1h`, `2`: seconds, also without a unit.
pub fn time(text: &str) -> Option<f64> {
    let at = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let factor = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * factor;
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, seconds) in [
            ("90s", 90.0),
            ("2", 2.0),
            ("1.5m", 90.0),
            ("500ms", 0.5),
            ("1h", 3600.0),
        ] {
            assert_eq!(time(text), Some(seconds), "{text}");
        }
        for wrong in [
            "",
            "s",
            "-1s",
            "10 parsecs",
            "1e300h",
            "NaN",
            "infs",
            "soon",
        ] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn multiples() {
        assert_eq!(multiple("M"), Some(1 << 20));
        assert_eq!(multiple(""), Some(1));
        assert_eq!(multiple("x"), None);
    }
}
