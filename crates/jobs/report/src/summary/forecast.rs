//! How long a run will take, and afterwards how far off that was.

use super::Item;
use base::units::{bytes, rounded};
use forecast::{Basis, Forecast, Judged, Spread, text};
use serde_json::{Map, Value, json};

/// The forecast of a run.
#[derive(Clone, Debug)]
pub struct Foreseen {
    /// As it was asked for.
    pub forecast: Forecast,
    /// The parts of it that are runs of their own, in words.
    pub parts: Vec<(&'static str, Forecast)>,
    /// The same by each import mode, or why not.
    pub by_mode: Vec<(&'static str, Result<Forecast, String>)>,
}

/// Describes a forecast; without one only programs are told.
pub fn foreseen(time: Option<&Foreseen>) -> Vec<Item> {
    let item = Item::new("forecast").key("forecast", time.map(json));
    let Some(time) = time else { return vec![item] };
    let f = &time.forecast;
    let mut items = vec![item.line(text::forecast(f))];
    for (what, part) in &time.parts {
        let about = text::about(part.seconds, part.low, part.high);
        items.push(Item::new(what).line(about));
    }
    for (mode, forecast) in &time.by_mode {
        let said = match forecast {
            Ok(f) => text::about(f.seconds, f.low, f.high),
            Err(why) => format!("not possible here: {why}"),
        };
        items.push(Item::new("by import mode").line(format!("{mode}: {said}")));
    }
    if let Some([low, likely, high]) = f.archive {
        let range = format!("({}–{})", bytes(low), bytes(high));
        items.push(Item::new("archive size").line(format!("about {} {range}", bytes(likely))));
    }
    items.push(Item::new("forecast from").line(text::basis(f)));
    items
}

/// Describes a forecast beside what the run took; `None`: there was none.
pub fn judged(judged: Option<&Judged>) -> Item {
    let item = Item::new("forecast");
    let Some(j) = judged else {
        return item.key("forecast", Value::Null);
    };
    let mut json = forecast_json(&j.forecast);
    json.insert("took".to_owned(), rounded(j.took).into());
    json.insert("error".to_owned(), rounded(j.error).into());
    json.insert("learned".to_owned(), j.not_learned.is_none().into());
    json.insert("not_learned".to_owned(), json!(j.not_learned));
    item.shown(text::judged(j)).key("forecast", json)
}

fn json(time: &Foreseen) -> Value {
    let mut all = forecast_json(&time.forecast);
    if !time.by_mode.is_empty() {
        let mode = |(mode, f): &(&'static str, Result<Forecast, String>)| {
            let value = match f {
                Ok(f) => Value::Object(forecast_json(f)),
                Err(why) => json!({"not_possible": why}),
            };
            ((*mode).to_owned(), value)
        };
        let modes: Map<String, Value> = time.by_mode.iter().map(mode).collect();
        all.insert("by_import_mode".to_owned(), modes.into());
    }
    Value::Object(all)
}

fn forecast_json(f: &Forecast) -> Map<String, Value> {
    let stages: Map<String, Value> = f
        .stages
        .iter()
        .map(|(stage, s)| (stage.name().to_owned(), rounded(*s).into()))
        .collect();
    let [low, likely, high] = f.archive.map_or([None; 3], |sizes| sizes.map(Some));
    let measured = match f.spread {
        Spread::Measured(n) => n,
        Spread::Assumed => 0,
    };
    let mut map = Map::new();
    for (key, value) in [
        ("seconds", json!(rounded(f.seconds))),
        ("low", json!(rounded(f.low))),
        ("high", json!(rounded(f.high))),
        (
            "runs",
            json!(match f.basis {
                Basis::Runs(n) => n,
                Basis::Defaults => 0,
            }),
        ),
        ("range_of_forecasts", json!(measured)),
        ("based_on", json!(text::basis(f))),
        ("limited_by", json!(f.limited_by)),
        ("longest", json!(f.longest().0.name())),
        ("stages", stages.into()),
    ] {
        map.insert(key.to_owned(), value);
    }
    if likely.is_some() {
        map.insert("archive_bytes".to_owned(), json!(likely));
        map.insert("archive_bytes_range".to_owned(), json!([low, high]));
    }
    map
}
