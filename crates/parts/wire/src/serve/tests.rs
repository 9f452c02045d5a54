//! The server half against our own client half. Real replicas are served in the tests of the crate `replay`.

use super::{Account, Dump, Listener, Profile, Sender};
use crate::replication::LogRequest;
use crate::{Conn, Endpoint, Error, Options, SslMode};
use base::{Cancel, Secret};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// What serving one connection came to: the request for events, and the statements that were refused.
type Served = io::Result<(Option<Dump>, Vec<String>)>;

/// Serves one connection of `peer`, and sends what `send` does.
fn serve(
    version: &str,
    peer: IpAddr,
    send: impl FnOnce(&mut Sender) -> io::Result<()> + Send + 'static,
) -> (Options, Cancel, JoinHandle<Served>) {
    let stop = Cancel::new();
    let account = Account::random().expect("random letters");
    let address = SocketAddr::new(LOCAL, 0);
    let listener = Listener::bind(address, peer, account, &stop).expect("a port");
    let port = listener.address().expect("an address").port();
    let mut options = Options::new(
        Endpoint::Tcp("127.0.0.1".into(), port),
        listener.account().user.clone(),
    );
    options.password = Some(listener.account().password.clone());
    options.ssl_mode = SslMode::Disabled;
    let profile = Arc::new(Profile {
        version: version.to_owned(),
        server_id: 77,
        checksum: "NONE",
        variables: vec![("server_uuid", "u-u".to_owned())],
    });
    let thread = thread::spawn(move || {
        let Some(mut session) = listener.accept(&profile)? else {
            return Ok((None, Vec::new()));
        };
        let dump = session.until_dump()?;
        let refused = session.refused().to_vec();
        if dump.is_some() {
            send(&mut session.into_sender())?;
        }
        Ok((dump, refused))
    });
    (options, stop, thread)
}

fn request() -> LogRequest {
    LogRequest {
        server_id: 9,
        file: "binlog.000007".into(),
        position: 345,
        follow: true,
        silence: None,
        semi_sync: false,
    }
}

#[test]
fn both_kinds_of_login_lead_to_events() {
    for version in ["9.7.4", "5.5.5-10.11.19-MariaDB"] {
        let long = vec![7; (1 << 24) + 5];
        // Whole packets, to the byte: an empty one has to follow.
        let full = vec![8; (1 << 24) - 2];
        let sent = [vec![1, 2, 3], long, full, vec![4; 300_000], vec![5]];
        let events = sent.clone();
        let (options, _stop, thread) = serve(version, LOCAL, move |sender| {
            for event in &events {
                sender.event(event)?;
            }
            sender.flush()
        });
        let mut conn = Conn::connect(&options).expect("a login");
        let id = conn.fetch("SELECT @@GLOBAL.SERVER_ID").expect("a row");
        assert_eq!(id, [[Some(b"77".to_vec())]]);
        let unknown = conn.fetch("SELECT @@GLOBAL.rpl_semi_sync_source_enabled");
        assert_eq!(unknown.expect_err("no variable").code(), Some(1193));
        assert!(conn.execute("DROP TABLE t").is_err());
        conn.register_replica(9, "here").expect("a registration");
        let mut stream = conn.binary_log(&request()).expect("a stream");
        for event in &sent {
            let got = stream.next().expect("an event").expect("an event");
            assert!(got == event, "an event of {} bytes", event.len());
        }
        drop(stream);
        let (dump, refused) = thread.join().expect("a thread").expect("it is served");
        let dump = dump.expect("a request");
        assert_eq!(dump.file, b"binlog.000007");
        assert_eq!((dump.offset, dump.replica_id), (345, 9));
        assert_eq!(refused, ["DROP TABLE t"]);
    }
}

#[test]
fn others_are_not_let_in() {
    type Change = fn(&mut Options);
    let changes: [Change; 3] = [
        |o| o.password = Some(Secret::new("guessed")),
        |o| o.password = None,
        |o| o.user = "root".into(),
    ];
    for change in changes {
        let (mut options, _stop, thread) = serve("9.7.4", LOCAL, |_| Ok(()));
        change(&mut options);
        let e = Conn::connect(&options).expect_err("no login");
        assert_eq!(e.code(), Some(1045), "{e}");
        let e = thread.join().expect("a thread").expect_err("no login");
        assert_eq!(e.kind(), io::ErrorKind::PermissionDenied);
    }
    // Another address gets no word.
    let peer = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    let (options, stop, thread) = serve("9.7.4", peer, |_| Ok(()));
    let e = Conn::connect(&options).expect_err("no greeting");
    assert!(matches!(e, Error::Io(_)), "{e:?}");
    stop.raise();
    assert!(
        thread
            .join()
            .expect("a thread")
            .expect("no one")
            .0
            .is_none()
    );
}

#[test]
fn an_error_ends_the_stream() {
    let (options, _stop, thread) = serve("9.7.4", LOCAL, |sender| {
        sender.event(&[1, 2, 3])?;
        sender.fail("the log ends here")
    });
    let mut conn = Conn::connect(&options).expect("a login");
    let mut stream = conn.binary_log(&request()).expect("a stream");
    assert!(stream.next().expect("an event").is_some());
    let e = stream.next().expect_err("an error");
    assert!(e.to_string().contains("the log ends here"), "{e}");
    drop(stream);
    thread.join().expect("a thread").expect("it is served");
}

#[test]
fn a_stop_ends_a_session_that_says_nothing() {
    let (options, stop, thread) = serve("9.7.4", LOCAL, |_| Ok(()));
    let _conn = Conn::connect(&options).expect("a login");
    stop.raise();
    let e = thread.join().expect("a thread").expect_err("a stop");
    assert_eq!(e.kind(), io::ErrorKind::ConnectionAborted);
}
