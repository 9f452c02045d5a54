//! `penstock config check`.

use crate::screen::Screen;
use crate::settings::config::{self, Config};
use base::{Error, Kind, Result};
use report::summary;

/// Says what the configuration means.
pub fn check(config: Option<&Config>, screen: &Screen) -> Result<u8> {
    let Some(config) = config else {
        return Err(Error::new(Kind::Usage, "there is no configuration").hint(
            "write /etc/penstock/penstock.toml, or name a file with --config: docs/configuration.md",
        ));
    };
    let explained = config::explain(config)?;
    screen.summary(&summary::configuration(&explained));
    Ok(0)
}
