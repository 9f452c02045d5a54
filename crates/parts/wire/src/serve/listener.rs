//! Where replicas connect: one address, one account, one peer.

use super::account::Account;
use super::answers::Profile;
use super::pipe::Pipe;
use super::session::Session;
use base::Cancel;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long an accept may take to notice a stop.
const MOMENT: Duration = Duration::from_millis(20);

/// Listens for replicas.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    account: Account,
    /// The only address that may connect.
    peer: IpAddr,
    connections: AtomicU32,
    stop: Cancel,
}

impl Listener {
    /// Listens on `address`; port 0 is a free one. Only `peer` may connect. `stop` ends every call.
    pub fn bind(
        address: SocketAddr,
        peer: IpAddr,
        account: Account,
        stop: &Cancel,
    ) -> io::Result<Listener> {
        let socket = TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Listener {
            socket,
            account,
            peer: peer.to_canonical(),
            connections: AtomicU32::new(1),
            stop: stop.clone(),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The account that may log in.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The next connection of the peer, not logged in yet; `None` once a stop is requested.
    pub fn accept(&self, profile: &Arc<Profile>) -> io::Result<Option<Session>> {
        while !self.stop.is_raised() {
            match self.socket.accept() {
                // Hung up without a word: not the replica.
                Ok((_, from)) if from.ip().to_canonical() != self.peer => {}
                Ok((socket, _)) => {
                    let id = self.connections.fetch_add(1, Ordering::Relaxed);
                    let pipe = Pipe::new(socket, self.stop.clone())?;
                    let account = self.account.clone();
                    return Ok(Some(Session::new(pipe, profile.clone(), account, id)));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.stop.sleep(MOMENT);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(None)
    }
}
