//! TLS over the socket, as strict as the mode says.
//!
//! `Required` and `Preferred` encrypt without asking who is there, exactly as
//! the mysql client does; `VerifyCa` wants a chain to the given authorities;
//! `VerifyIdentity` also the host's name. A handshake that was begun and failed
//! is an error in every mode; the connection never continues in clear.

use crate::socket::Socket;
use crate::{Endpoint, Error, Options, Result, SslMode, rsa};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Cipher text read from the kernel at a time; rustls alone would ask for 4 KiB.
const READ: usize = 128 * 1024;

/// An encrypted connection.
pub(crate) struct TlsStream {
    tls: ClientConnection,
    socket: BufReader<Socket>,
}

impl std::fmt::Debug for TlsStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsStream").finish_non_exhaustive()
    }
}

impl TlsStream {
    /// Shakes hands over `socket`.
    pub(crate) fn connect(socket: Socket, options: &Options) -> Result<TlsStream> {
        let config = config(options)?;
        let name = match &options.endpoint {
            Endpoint::Tcp(host, _) => host.trim_matches(['[', ']']).to_owned(),
            // What a unix socket leads to has no name on the network but this one.
            Endpoint::Unix(_) => "localhost".to_owned(),
        };
        let name = ServerName::try_from(name)
            .map_err(|_| Error::Tls("the host is not a name or an address".into()))?;
        let mut tls =
            ClientConnection::new(Arc::new(config), name).map_err(|e| Error::Tls(e.to_string()))?;
        let mut socket = BufReader::with_capacity(READ, socket);
        while tls.is_handshaking() {
            step(&mut tls, &mut socket).map_err(explain)?;
        }
        // What is left to send (the client's Finished) must not wait for the first statement.
        while tls.wants_write() {
            tls.write_tls(socket.get_mut())?;
        }
        Ok(TlsStream { tls, socket })
    }

    pub(crate) fn socket(&self) -> &Socket {
        self.socket.get_ref()
    }

    pub(crate) fn socket_mut(&mut self) -> &mut Socket {
        self.socket.get_mut()
    }

    fn send(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(self.socket.get_mut())?;
        }
        Ok(())
    }
}

/// Sends what waits to be sent, then takes in what arrives.
fn step(tls: &mut ClientConnection, socket: &mut BufReader<Socket>) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(socket.get_mut())?;
    }
    if !tls.wants_read() {
        return Ok(());
    }
    if tls.read_tls(socket)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if let Err(e) = tls.process_new_packets() {
        // The alert that tells the server why; it may be gone already.
        let _ = tls.write_tls(socket.get_mut());
        return Err(io::Error::new(io::ErrorKind::InvalidData, e));
    }
    Ok(())
}

impl Read for TlsStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(buf) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    step(&mut self.tls, &mut self.socket)?;
                }
                done => return done,
            }
        }
    }
}

impl Write for TlsStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = self.tls.writer().write(buf)?;
        self.send()?;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

fn config(options: &Options) -> Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = match options.ssl_mode {
        SslMode::VerifyCa | SslMode::VerifyIdentity => {
            let path = options.ssl_ca.as_deref().ok_or_else(|| {
                Error::Untrusted(
                    "a file of certificate authorities is needed to verify the server".into(),
                )
            })?;
            Some(authorities(path)?)
        }
        _ => None,
    };
    let verifier = Verifier {
        provider: provider.clone(),
        roots,
        identity: options.ssl_mode == SslMode::VerifyIdentity,
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::Tls(e.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match (&options.ssl_cert, &options.ssl_key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(cert), Some(key)) => {
            let chain = certificates(cert)?;
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|e| Error::Tls(format!("{}: {e}", key.display())))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|e| Error::Tls(format!("client certificate: {e}")))?
        }
        _ => {
            return Err(Error::Tls(
                "a client certificate and its key are only good together".into(),
            ));
        }
    };
    // A session that is resumed would skip the certificate check of this connection.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let wrong = |e: &dyn std::fmt::Display| Error::Tls(format!("{}: {e}", path.display()));
    let list = CertificateDer::pem_file_iter(path)
        .map_err(|e| wrong(&e))?
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|e| wrong(&e))?;
    if list.is_empty() {
        return Err(wrong(&"holds no certificate"));
    }
    Ok(list)
}

fn authorities(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates(path)?);
    if added == 0 {
        return Err(Error::Tls(format!(
            "{}: holds no certificate that can be used",
            path.display()
        )));
    }
    Ok(roots)
}

/// Checks as much of the server's certificate as the mode asks for.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
    identity: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        if is_version_1(end_entity) {
            return Err(rustls::Error::General(VERSION_1.to_owned()));
        }
        if let Some(roots) = &self.roots {
            let cert = ParsedCertificate::try_from(end_entity)?;
            verify_server_cert_signed_by_trust_anchor(
                &cert,
                roots,
                intermediates,
                now,
                self.provider.signature_verification_algorithms.all,
            )?;
            if self.identity {
                verify_server_name(&cert, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

const VERSION_1: &str = "the server's certificate is of X.509 version 1, which cannot be used; give the server one of version 3, or connect without TLS";

/// Whether a certificate is of version 1: its inner sequence then has no version field in front.
fn is_version_1(der: &[u8]) -> bool {
    rsa::element(der, 0x30)
        .and_then(|(certificate, _)| rsa::element(certificate, 0x30))
        .is_some_and(|(inner, _)| inner.first() != Some(&0xA0))
}

/// Says what a failed handshake means in words of this field.
fn explain(e: io::Error) -> Error {
    use rustls::{CertificateError as C, Error as R};
    let reason = e.get_ref().and_then(|e| e.downcast_ref::<R>());
    let Some(reason) = reason else {
        return match e.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Error::Tls(
                "the server hung up in the handshake; it may know no TLS newer than 1.1".into(),
            ),
            _ => Error::Io(e),
        };
    };
    if let R::InvalidCertificate(C::UnknownIssuer) = reason {
        return Error::Untrusted(
            "the server's certificate is not signed by one of the given authorities".into(),
        );
    }
    Error::Tls(match reason {
        R::General(text) => text.clone(),
        R::AlertReceived(rustls::AlertDescription::ProtocolVersion) => {
            "the server knows no TLS newer than 1.1, which is not spoken here".into()
        }
        R::AlertReceived(rustls::AlertDescription::HandshakeFailure) => {
            "the server knows none of the ciphers spoken here".into()
        }
        R::InvalidCertificate(C::Expired | C::ExpiredContext { .. }) => {
            "the server's certificate has expired".into()
        }
        R::InvalidCertificate(C::NotValidYet | C::NotValidYetContext { .. }) => {
            "the server's certificate is not valid yet".into()
        }
        R::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. }) => {
            "the server's certificate is for another host".into()
        }
        other => other.to_string(),
    })
}
