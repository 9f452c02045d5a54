//! `penstock preflight`: what goes with a server, and what with its other answers.

use super::connection::connects;
use super::refused::{first_given, refuse};
use crate::args::preflight::{For, Only, Preflight};
use crate::settings::place;
use base::Result;

/// `penstock preflight`.
pub fn preflight(a: &Preflight) -> Result<()> {
    if a.list || !a.stripe.is_empty() {
        return without_server(a);
    }
    let wants = |only: Only| a.only.is_empty() || a.only.contains(&only);
    if !a.job.is_empty() && !wants(Only::Jobs) {
        return refuse(
            "--for is about what jobs need, and --only leaves that out",
            "leave one of the two out, or add --only jobs",
        );
    }
    let dumps = a.job.is_empty() || a.job.contains(&For::Dump);
    if a.to.is_some() && !(wants(Only::Jobs) && dumps) {
        return refuse(
            "--to is where a dump would be written, and no dump is looked at",
            "leave it out, or add --for dump",
        );
    }
    if !wants(Only::Server) {
        let about_backups = [
            ("--repository", a.repository.is_some()),
            ("--server-name", a.server_name.is_some()),
            ("--max-backup-age", a.max_backup_age.is_some()),
        ];
        if let Some(option) = first_given(&about_backups) {
            return refuse(
                format!("{option} is about the last backup, and --only leaves that out"),
                "leave one of the two out, or add --only server",
            );
        }
    }
    if a.repository.is_none() && place::named_by_environment().is_none() {
        let about_backups = [
            ("--server-name", a.server_name.is_some()),
            ("--max-backup-age", a.max_backup_age.is_some()),
        ];
        if let Some(option) = first_given(&about_backups) {
            return refuse(
                format!("{option} is about backups, and no repository is named"),
                "add --repository REPO, or leave it out",
            );
        }
    }
    Ok(())
}

/// The list, and a striped volume, have no server and no record.
fn without_server(a: &Preflight) -> Result<()> {
    let c = &a.connection;
    let files = first_given(&[
        ("--record", a.recording.record.is_some()),
        ("--defaults-file", c.defaults_file.is_some()),
        ("--defaults-extra-file", c.defaults_extra_file.is_some()),
        ("--defaults-group-suffix", c.defaults_group_suffix.is_some()),
        ("--no-defaults", c.no_defaults),
    ]);
    let what = if a.list { "--list" } else { "--stripe" };
    if let Some(option) = connects(c).or(files) {
        return refuse(
            format!("{option} is about a server, and {what} looks at none"),
            "leave one of the two out",
        );
    }
    Ok(())
}
