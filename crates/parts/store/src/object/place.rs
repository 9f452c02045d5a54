//! The URL of a prefix in a bucket: its parts, and what may follow after the question mark.
//!
//! Secrets have no place in it, because command lines, logs and configuration files show it.

use crate::Result;
use crate::invalid::Invalid;
use std::fmt;

/// Which protocol a service speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    Google,
    Azure,
}

/// A prefix of a bucket or container, as named by a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPlace {
    pub(super) service: Service,
    /// The bucket, or the container of Azure.
    pub(super) bucket: String,
    /// Without slashes at its ends; may be empty.
    pub(super) prefix: String,
    /// What follows the question mark, in its order.
    pub(super) settings: Vec<(String, String)>,
}

impl Service {
    fn scheme(self) -> &'static str {
        match self {
            Service::S3 => "s3",
            Service::Google => "gs",
            Service::Azure => "az",
        }
    }

    /// What a URL can set.
    fn settings(self) -> &'static [&'static str] {
        match self {
            Service::S3 => &[
                "endpoint",
                "region",
                "profile",
                "path-style",
                "ca",
                "checksum",
                "anonymous",
            ],
            Service::Google => &["endpoint", "ca", "anonymous"],
            Service::Azure => &["account", "endpoint", "ca", "anonymous"],
        }
    }

    /// Where its secrets belong.
    fn secrets(self) -> &'static str {
        match self {
            Service::S3 => {
                "put credentials into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or into ~/.aws/credentials"
            }
            Service::Google => {
                "put the credentials into the file that GOOGLE_APPLICATION_CREDENTIALS names"
            }
            Service::Azure => {
                "put the key into AZURE_STORAGE_ACCOUNT_KEY, or the token into AZURE_STORAGE_SAS_TOKEN"
            }
        }
    }
}

impl ObjectPlace {
    /// Reads what follows `scheme://`.
    pub(crate) fn parse(scheme: &str, rest: &str) -> Result<Self, Invalid> {
        let service = match scheme {
            "s3" => Service::S3,
            "gs" => Service::Google,
            _ => Service::Azure,
        };
        let form = format!(
            "the form is {scheme}://{}",
            if service == Service::Azure {
                "CONTAINER/PREFIX"
            } else {
                "BUCKET/PREFIX"
            }
        );
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        if bucket.contains('@') {
            return Err(Invalid::new(
                "credentials in the URL would be seen by others",
                service.secrets(),
            ));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if bucket.is_empty() || !bucket.chars().all(plain) {
            return Err(Invalid::new("the name of the bucket is not one", form));
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let part =
            |p: &str| !p.is_empty() && p != "." && p != ".." && !p.contains(char::is_control);
        if !prefix.is_empty() && !prefix.split('/').all(part) {
            let what = "the prefix must be without an empty part, . and .. and control characters";
            return Err(Invalid::new(what, form));
        }
        let mut settings = Vec::new();
        for pair in query.split('&').filter(|p| !p.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            settings.push(Self::setting(service, key, value)?);
        }
        Ok(Self {
            service,
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            settings,
        })
    }

    fn setting(service: Service, key: &str, value: &str) -> Result<(String, String), Invalid> {
        let known = service.settings();
        if !known.contains(&key) {
            let secret = ["key", "secret", "token", "password", "sas", "sig"];
            if secret.iter().any(|s| key.to_ascii_lowercase().contains(s)) {
                return Err(Invalid::new(
                    "a secret in the URL would be seen by others",
                    service.secrets(),
                ));
            }
            return Err(Invalid::new(
                format!("'{}' cannot be set in the URL", base::units::printable(key)),
                format!("what can be set is {}", known.join(", ")),
            ));
        }
        let wanted = match key {
            "endpoint" if !value.starts_with("http://") && !value.starts_with("https://") => {
                Some("http://HOST:PORT or https://HOST:PORT")
            }
            "endpoint" if value.contains('@') => Some("a URL without credentials"),
            "path-style" | "anonymous" if !matches!(value, "true" | "false") => {
                Some("true or false")
            }
            "checksum" if !matches!(value, "sha256" | "crc64nvme") => Some("sha256 or crc64nvme"),
            _ if value.is_empty() => Some("a value"),
            _ => None,
        };
        match wanted {
            Some(wanted) => Err(Invalid::new(
                format!("{key} in the URL is not one"),
                format!("write {key}={wanted}"),
            )),
            None => Ok((key.to_owned(), value.to_owned())),
        }
    }

    /// The place of this name beside this one.
    pub(crate) fn beside(&self, name: &str) -> Option<Self> {
        let prefix = match self.prefix.rsplit_once('/') {
            None if self.prefix.is_empty() => return None,
            None => name.to_owned(),
            Some((above, _)) => format!("{above}/{name}"),
        };
        Some(Self {
            prefix,
            ..self.clone()
        })
    }

    /// The value of a setting; the last one counts.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let of = self.settings.iter().rev().find(|(k, _)| k == key);
        of.map(|(_, value)| value.as_str())
    }

    pub(crate) fn join(&self, name: &str) -> Self {
        let prefix = match self.prefix.as_str() {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        };
        Self {
            prefix,
            ..self.clone()
        }
    }
}

impl fmt::Display for ObjectPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.service.scheme(), self.bucket)?;
        if !self.prefix.is_empty() {
            write!(f, "/{}", base::units::printable(&self.prefix))?;
        }
        for (n, (key, value)) in self.settings.iter().enumerate() {
            let mark = if n == 0 { '?' } else { '&' };
            write!(f, "{mark}{key}={}", base::units::printable(value))?;
        }
        Ok(())
    }
}
