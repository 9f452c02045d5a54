//! The profiles of the AWS command line: `~/.aws/credentials` and `~/.aws/config`.
//!
//! Only keys that stand in the files are taken. A profile that gets its keys in another way (single sign-on,
//! a role, a program) is refused by name, because the environment's keys would be used in its place unnoticed.
//! Format: <https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html>.

use base::Secret;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// What a profile sets.
#[derive(Default)]
pub(super) struct Profile {
    /// Its identifier and its secret.
    pub(super) key: Option<(String, Secret)>,
    /// Of temporary keys.
    pub(super) token: Option<Secret>,
    pub(super) region: Option<String>,
    pub(super) endpoint: Option<String>,
}

/// The profile that is asked for, else the one AWS_PROFILE names, else the default one; the last two
/// only where the environment has no keys of its own.
pub(super) fn find(asked: Option<&str>) -> io::Result<Option<Profile>> {
    let env = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    if asked.is_none() && env("AWS_ACCESS_KEY_ID").is_some() {
        return Ok(None);
    }
    let named = asked.map(str::to_owned).or_else(|| env("AWS_PROFILE"));
    let name = named.as_deref().unwrap_or("default");
    let file = |variable: &str, usual: &str| {
        let home = || env("HOME").map(|home| PathBuf::from(home).join(".aws").join(usual));
        env(variable).map(PathBuf::from).or_else(home)
    };
    let mut text = Vec::new();
    for (path, group) in [
        (file("AWS_CONFIG_FILE", "config"), format!("profile {name}")),
        (
            file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            name.to_owned(),
        ),
    ] {
        let Some(path) = path else { continue };
        match std::fs::read_to_string(&path) {
            // In the configuration only the default profile goes without the word.
            Ok(read) => text.push((read, group)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(io::Error::new(e.kind(), format!("{}: {e}", path.display()))),
        }
    }
    let found = parse(&text, name)?;
    if found.is_none() && named.is_some() {
        let what = format!("there is no profile '{name}' in ~/.aws/credentials or ~/.aws/config");
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    }
    Ok(found)
}

fn parse(files: &[(String, String)], name: &str) -> io::Result<Option<Profile>> {
    let mut values = BTreeMap::new();
    let mut seen = false;
    for (text, group) in files {
        let mut inside = false;
        for line in text.lines() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
                continue;
            }
            if let Some(header) = trimmed.strip_prefix('[') {
                let header = header.split(']').next().unwrap_or_default().trim();
                inside = header == group || (name == "default" && header == "default");
                seen |= inside;
                continue;
            }
            // Indented lines belong to the setting above them: settings of one service.
            if !inside || line.starts_with([' ', '\t']) {
                continue;
            }
            if let Some((key, value)) = trimmed.split_once('=') {
                values.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
            }
        }
    }
    if !seen {
        return Ok(None);
    }
    let mut take = |key: &str| values.remove(key);
    let id = take("aws_access_key_id");
    let secret = take("aws_secret_access_key").map(Secret::new);
    let token = take("aws_session_token").map(Secret::new);
    let (region, endpoint) = (take("region"), take("endpoint_url"));
    let other = [
        "credential_process",
        "sso_session",
        "sso_start_url",
        "role_arn",
        "credential_source",
    ];
    if let (None, Some(way)) = (&id, other.iter().find(|key| values.contains_key(**key))) {
        let what = format!(
            "the profile '{name}' gets its keys by {way}, which is not supported: put keys into the environment \
             (aws configure export-credentials --profile {name} --format env)"
        );
        return Err(io::Error::new(io::ErrorKind::Unsupported, what));
    }
    let key = match (id, secret) {
        (Some(id), Some(secret)) => Some((id, secret)),
        (None, None) => None,
        _ => {
            let what = format!(
                "the profile '{name}' has only one of aws_access_key_id and aws_secret_access_key"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
    };
    Ok(Some(Profile {
        key,
        token,
        region,
        endpoint,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(config: &str, credentials: &str, name: &str) -> io::Result<Option<Profile>> {
        let files = [
            (config.to_owned(), format!("profile {name}")),
            (credentials.to_owned(), name.to_owned()),
        ];
        parse(&files, name)
    }

    #[test]
    fn both_files_make_one_profile() {
        let config = "[default]\nregion = eu-1\n[profile b]\nregion=eu-2\ns3 =\n  endpoint_url = no\nendpoint_url = http://h\n";
        let credentials = "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key = S=\n\n[b]\naws_access_key_id=B\naws_secret_access_key=T\naws_session_token=U\n";
        let found = of(config, credentials, "default")
            .expect("read")
            .expect("there");
        let (id, secret) = found.key.expect("a key");
        assert_eq!((id.as_str(), secret.reveal()), ("A", "S="));
        assert_eq!(found.region.as_deref(), Some("eu-1"));
        let found = of(config, credentials, "b").expect("read").expect("there");
        assert_eq!(found.region.as_deref(), Some("eu-2"));
        assert_eq!(found.endpoint.as_deref(), Some("http://h"));
        assert_eq!(found.token.expect("a token").reveal(), "U");
        assert!(of(config, credentials, "c").expect("read").is_none());
    }

    #[test]
    fn what_cannot_give_keys_is_refused() {
        let role = "[profile b]\nrole_arn = arn:x\nsource_profile = default\n";
        let e = of(role, "", "b").err().expect("refused");
        assert!(e.to_string().contains("role_arn"), "{e}");
        let e = of("", "[b]\naws_access_key_id=B\n", "b")
            .err()
            .expect("refused");
        assert!(e.to_string().contains("only one"), "{e}");
    }
}
