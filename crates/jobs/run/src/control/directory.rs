//! The directory of control sockets: only its user may enter it, and a socket that refuses connections is removed.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Refuses a directory that other users can enter.
pub(super) fn check_private(directory: &Path) -> io::Result<()> {
    let meta = std::fs::symlink_metadata(directory)?;
    let mine = meta.uid() == rustix::process::geteuid().as_raw();
    if !meta.is_dir() || !mine || meta.mode() & 0o077 != 0 {
        let why = "it is not a directory of this user alone (mode 0700)";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

/// The sockets at which a process listens; sockets left by dead processes are removed.
pub(super) fn live_sockets(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let socket = std::fs::symlink_metadata(&path).is_ok_and(|m| m.file_type().is_socket());
        if !socket || path.extension().is_none_or(|e| e != "sock") {
            continue;
        }
        match connect(&path) {
            Ok(_) => found.push(path),
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                let _ = std::fs::remove_file(&path);
            }
            // Busy, or removed meanwhile.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => found.push(path),
            Err(_) => {}
        }
    }
    Ok(found)
}

/// Connects to a socket, however long its path is.
pub(super) fn connect(path: &Path) -> io::Result<UnixStream> {
    let (address, _directory) = socket_address(path)?;
    UnixStream::connect(address)
}

/// A path that fits into a socket address, which has room for 107 bytes: a long path goes through its directory's
/// descriptor. The second value must live as long as the first is used.
pub(super) fn socket_address(path: &Path) -> io::Result<(PathBuf, Option<std::fs::File>)> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    if path.as_os_str().len() <= 100 {
        return Ok((path.to_owned(), None));
    }
    use std::os::fd::AsRawFd;
    let directory = std::fs::File::open(directory)?;
    let by_descriptor = format!("/proc/self/fd/{}", directory.as_raw_fd());
    Ok((Path::new(&by_descriptor).join(name), Some(directory)))
}
