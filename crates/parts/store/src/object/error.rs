//! What a service said: the kind that callers act on, and one plain line.
//!
//! The client's library describes every request with its URL, times and retries, and the service answers in
//! XML. People need the service's code and sentence, or the reason why it was not reached.

use crate::error::Far;
use std::io;

/// The error for callers.
pub(super) fn io_error(e: &object_store::Error) -> io::Error {
    use io::ErrorKind::{
        AlreadyExists, NotFound, Other, PermissionDenied, StorageFull, Unsupported,
    };
    use object_store::Error as E;
    let whole = chain(e);
    // The services have no common word for it.
    let full = [
        " 507",
        "StorageFull",
        "QuotaExceeded",
        "InsufficientStorage",
        "No space left",
    ];
    let kind = match e {
        E::NotFound { .. } => NotFound,
        E::AlreadyExists { .. } | E::Precondition { .. } => AlreadyExists,
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => PermissionDenied,
        E::NotSupported { .. } | E::NotImplemented { .. } => Unsupported,
        _ if full.iter().any(|w| whole.contains(w)) => StorageFull,
        _ => Other,
    };
    Far::error(kind, without_secrets(&plain(&whole)))
}

/// Whether the service does not know conditional writes.
pub(super) fn conditions_unknown(e: &object_store::Error) -> bool {
    use object_store::Error as E;
    let text = chain(e);
    matches!(e, E::NotImplemented { .. } | E::NotSupported { .. })
        || text.contains("501 ")
        || text.contains("NotImplemented")
}

/// Whether the answer was cut on its way: the library repeats requests, and not those whose answer had begun.
pub(super) fn was_cut(e: &object_store::Error) -> bool {
    use object_store::Error as E;
    matches!(e, E::Generic { .. }) && {
        let text = chain(e);
        text.contains("body")
            || text.contains("message length")
            || text.contains("connection closed")
    }
}

/// Whether the service refuses everything here, and not only this object.
pub(super) fn is_about_the_place(e: &object_store::Error) -> bool {
    use object_store::Error as E;
    let text = chain(e);
    match e {
        E::NotFound { .. } => ["NoSuchBucket", "ContainerNotFound", "bucket does not exist"]
            .iter()
            .any(|w| text.contains(w)),
        // An account that may not list gets this for every object that is not there.
        E::PermissionDenied { .. } => !text.contains("AccessDenied"),
        _ => true,
    }
}

/// An error with its causes, each once: the outer ones of this library often repeat the inner ones.
fn chain(e: &dyn std::error::Error) -> String {
    let mut text = e.to_string();
    let mut cause = e.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = inner.source();
    }
    text
}

/// The service's own words, or the last reason.
fn plain(text: &str) -> String {
    let between = |open: &str, close: &str| {
        let rest = &text[text.find(open)? + open.len()..];
        Some(rest[..rest.find(close)?].trim())
    };
    let status = between("status code: ", ":").map(|s| format!("HTTP {s}"));
    let code = between("<Code>", "</Code>").filter(|c| !c.is_empty());
    let message = between("<Message>", "</Message>").filter(|m| !m.is_empty());
    let message = message.map(|m| m.lines().next().unwrap_or_default());
    match (code, message, status) {
        (Some(code), Some(message), _) => format!("{code}: {message}"),
        (Some(code), None, Some(status)) => format!("{code} ({status})"),
        (Some(code), None, None) => code.to_owned(),
        (None, _, Some(status)) => format!("the service answered {status}"),
        // "Generic S3 error: Error performing PUT http://… in 3.2s, after 10 retries, … - HTTP error: …"
        (None, _, None) => match text.rsplit_once("HTTP error: ") {
            Some((_, reason)) => reason.to_owned(),
            None => text.to_owned(),
        },
    }
}

/// A message without what follows the question mark in a URL, where Azure has its tokens.
fn without_secrets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let url = &rest[at..];
        let end = url
            .find([' ', '"', '\'', ')', '>', ','])
            .unwrap_or(url.len());
        let shown = url[..end].split('?').next().unwrap_or_default();
        out.push_str(&rest[..at]);
        out.push_str(shown);
        rest = &url[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::{plain, without_secrets};

    #[test]
    fn messages_lose_the_queries_of_urls() {
        let said =
            "GET https://a.blob/c/x?sv=1&sig=SECRET failed (http://h/?t=SECRET), see http://h";
        let shown = without_secrets(said);
        assert_eq!(
            shown,
            "GET https://a.blob/c/x failed (http://h/), see http://h"
        );
    }

    #[test]
    fn the_services_own_words_are_left() {
        for (text, wanted) in [
            (
                "Generic S3 error: Error performing GET http://h/b in 5ms - Server returned non-2xx status code: 404 Not Found: <?xml?>\n<Error><Code>NoSuchBucket</Code><Message>The bucket does not exist</Message></Error>",
                "NoSuchBucket: The bucket does not exist",
            ),
            (
                "x in 2ms - Server returned non-2xx status code: 403 Forbidden: ",
                "the service answered HTTP 403 Forbidden",
            ),
            (
                "x, after 10 retries, max_retries: 10, retry_timeout: 120s  - HTTP error: error sending request: Connection refused (os error 111)",
                "error sending request: Connection refused (os error 111)",
            ),
            ("something else", "something else"),
        ] {
            assert_eq!(plain(text), wanted);
        }
    }
}
