//! How a service is reached: endpoint, credentials, timeouts and retries.
//!
//! Credentials come from where the service's own tools look: environment, profile files, and what the
//! machine's role gives.

use super::place::Service;
use super::profile::{self, Profile};
use super::{Inner, ObjectPlace, Objects};
use crate::remote::Finishing;
use crate::{Error, Result};
use base::RateLimiter;
use object_store::aws::{AmazonS3Builder, AwsCredential, Checksum, S3ConditionalPut};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{
    BackoffConfig, Certificate, ClientOptions, ObjectStore, RetryConfig, StaticCredentialProvider,
};
use std::io;
use std::sync::{Arc, Once};
use std::time::Duration;

impl Objects {
    /// Finds the credentials, and asks the service whether the bucket is there and may be read.
    pub(crate) fn open(place: &ObjectPlace, limiter: Option<&Arc<RateLimiter>>) -> Result<Objects> {
        // The HTTP client takes the provider of the process, and the program has one: that of its MySQL connections.
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Fails if there is one already, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let shown = place.to_string();
        let fail = |e: io::Error| Error::new("reach", &shown, e);
        let with = |client| {
            Objects(Arc::new(Inner {
                client,
                prefix: place.prefix.clone(),
                shown: shown.clone(),
                limiter: limiter.cloned(),
                link: Arc::default(),
                finishing: Finishing::default(),
            }))
        };
        with(client(place, AT_FIRST).map_err(fail)?).probe()?;
        Ok(with(client(place, UNDER_WAY).map_err(fail)?))
    }
}

fn client(place: &ObjectPlace, retry: Retries) -> io::Result<Arc<dyn ObjectStore>> {
    let failed = |e: object_store::Error| super::error::io_error(&e);
    let anonymous = place.get("anonymous") == Some("true");
    let profile = match place.service {
        Service::S3 if !anonymous => profile::find(place.get("profile"))?.unwrap_or_default(),
        _ => Profile::default(),
    };
    let endpoint = endpoint(place, &profile);
    let (options, retry) = (options(place, endpoint.as_deref())?, retry.config());
    Ok(match place.service {
        Service::S3 => {
            let mut s3 = AmazonS3Builder::from_env()
                .with_bucket_name(&place.bucket)
                .with_client_options(options)
                .with_retry(retry)
                .with_conditional_put(S3ConditionalPut::ETagMatch)
                .with_skip_signature(anonymous);
            if let Some((key_id, secret)) = profile.key {
                // All of it from the profile: the environment may hold the token of another key.
                let credential = AwsCredential {
                    key_id,
                    secret_key: secret.reveal().to_owned(),
                    token: profile.token.map(|t| t.reveal().to_owned()),
                };
                s3 = s3.with_credentials(Arc::new(StaticCredentialProvider::new(credential)));
            }
            if let Some(endpoint) = endpoint {
                // The variable AWS_ENDPOINT_URL_S3 would win over an endpoint that is set otherwise.
                s3 = s3.with_config("aws_endpoint_url_s3".parse().map_err(failed)?, endpoint);
            }
            let of_environment = variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
            let region = place.get("region").map(str::to_owned);
            if let Some(region) = region.or(of_environment).or(profile.region) {
                s3 = s3.with_region(region);
            }
            if let Some(style) = place.get("path-style") {
                s3 = s3.with_virtual_hosted_style_request(style == "false");
            }
            match place.get("checksum") {
                Some("sha256") => s3 = s3.with_checksum_algorithm(Checksum::SHA256),
                Some(_) => s3 = s3.with_checksum_algorithm(Checksum::CRC64NVME),
                None => {}
            }
            Arc::new(s3.build().map_err(failed)?)
        }
        Service::Google => {
            let mut gs = GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(&place.bucket)
                .with_client_options(options)
                .with_retry(retry)
                .with_skip_signature(anonymous);
            if let Some(endpoint) = place.get("endpoint") {
                gs = gs.with_base_url(endpoint);
            }
            Arc::new(gs.build().map_err(failed)?)
        }
        Service::Azure => {
            let mut az = MicrosoftAzureBuilder::from_env()
                .with_container_name(&place.bucket)
                .with_client_options(options)
                .with_retry(retry)
                .with_skip_signature(anonymous);
            if let Some(account) = place.get("account") {
                az = az.with_account(account);
            }
            if let Some(endpoint) = place.get("endpoint") {
                az = az.with_endpoint(endpoint.to_owned());
            }
            Arc::new(az.build().map_err(failed)?)
        }
    })
}

/// The first of these variables that is set.
fn variable(names: &[&str]) -> Option<String> {
    let set = |name: &&str| std::env::var(name).ok().filter(|v| !v.is_empty());
    names.iter().find_map(set)
}

/// Where the service is: by the URL, else by the environment, else by the profile. That of others than S3 only
/// if the URL says it.
fn endpoint(place: &ObjectPlace, profile: &Profile) -> Option<String> {
    let named = place.get("endpoint").map(str::to_owned);
    if place.service != Service::S3 {
        return named;
    }
    let of_environment = || variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]);
    named
        .or_else(of_environment)
        .or_else(|| profile.endpoint.clone())
}

fn options(place: &ObjectPlace, endpoint: Option<&str>) -> io::Result<ClientOptions> {
    // A part takes long on a slow link; what must not last is silence.
    let mut options = ClientOptions::new()
        .with_timeout(Duration::from_secs(900))
        .with_read_timeout(Duration::from_secs(60))
        .with_connect_timeout(Duration::from_secs(10))
        .with_http1_only();
    // Without TLS only where the operator has written http:// himself.
    let plain = endpoint.is_some_and(|e| e.starts_with("http://"));
    options = options
        .with_allow_http(plain || std::env::var("AWS_ALLOW_HTTP").is_ok_and(|v| v == "true"));
    let file = place.get("ca").map(str::to_owned);
    let bundle = file.or_else(|| std::env::var("AWS_CA_BUNDLE").ok());
    if let Some(file) = bundle {
        let named = |e: io::Error| io::Error::new(e.kind(), format!("{file}: {e}"));
        let pem = std::fs::read(&file).map_err(named)?;
        let list = Certificate::from_pem_bundle(&pem)
            .map_err(|e| named(io::Error::new(io::ErrorKind::InvalidData, e.to_string())))?;
        for certificate in list {
            options = options.with_root_certificate(certificate);
        }
    }
    Ok(options)
}

/// How often, and for how long, a request is tried again.
#[derive(Clone, Copy)]
struct Retries {
    most: usize,
    within: Duration,
}

/// At the start nothing is lost yet, and somebody waits for the error of a mistyped endpoint.
const AT_FIRST: Retries = Retries {
    most: 4,
    within: Duration::from_secs(20),
};

/// Later, hours of work are given up with the request.
const UNDER_WAY: Retries = Retries {
    most: 10,
    within: Duration::from_secs(120),
};

impl Retries {
    /// With growing, random pauses.
    fn config(self) -> RetryConfig {
        RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: Duration::from_secs(10),
                base: 2.0,
            },
            max_retries: self.most,
            retry_timeout: self.within,
        }
    }
}
