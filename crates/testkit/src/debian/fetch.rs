//! Where this machine gets its packages from, and the two indexes from there.
//!
//! apt itself is asked for both: it reads its sources in either format, and knows the proxies and
//! accounts that this machine needs.

use super::for_lines;
use crate::install::cache_directory;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HELPER: &str = "/usr/lib/apt/apt-helper";

/// A package mirror, as the machine's apt sources name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// Where it is, with a slash at the end.
    pub uri: String,
    /// Which release is taken from it, e.g. `bookworm`.
    pub suite: String,
    /// Processor architecture, e.g. `amd64`.
    pub architecture: String,
}

/// An index that a mirror holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The files of all packages that do not depend on the architecture, which is most of them.
    Contents,
    /// Every package of this machine's architecture.
    Packages,
}

impl Mirror {
    /// The first source of Debian's main component that is not an update channel.
    pub fn of_this_machine() -> Result<Mirror> {
        let out = Command::new("apt-get")
            .args([
                "indextargets",
                "--format",
                "$(REPO_URI) $(RELEASE) $(ARCHITECTURE) $(ORIGIN)",
            ])
            .args(["Created-By: Packages", "Component: main"])
            .output()
            .map_err(Error::doing("apt-get indextargets"))?;
        Self::first(&String::from_utf8_lossy(&out.stdout)).ok_or_else(|| {
            Error::new("no Debian source among the apt sources (apt-get update may be needed)")
        })
    }

    fn first(targets: &str) -> Option<Mirror> {
        let mirror = |line: &str| {
            let mut words = line.split(' ');
            let [uri, suite, architecture, origin] =
                [words.next()?, words.next()?, words.next()?, words.next()?];
            (origin == "Debian" && !suite.contains('-')).then(|| Mirror {
                uri: uri.to_owned(),
                suite: suite.to_owned(),
                architecture: architecture.to_owned(),
            })
        };
        targets.lines().find_map(mirror)
    }

    /// The index, from the cache directory or else fetched into it.
    pub fn index(&self, index: Index) -> Result<Cached> {
        let path = match index {
            Index::Contents => "main/Contents-all.gz".to_owned(),
            Index::Packages => format!("main/binary-{}/Packages.xz", self.architecture),
        };
        let directory = cache_directory().join("debian").join(&self.suite);
        let file = directory.join(path.replace('/', "-"));
        if !file.is_file() {
            std::fs::create_dir_all(&directory).map_err(Error::doing(directory.display()))?;
            let uri = format!("{}dists/{}/{path}", self.uri, self.suite);
            download(&uri, &file)?;
        }
        Ok(Cached(file))
    }
}

fn download(uri: &str, file: &Path) -> Result<()> {
    let part = file.with_extension(format!("{}.part", std::process::id()));
    let out = Command::new(HELPER)
        .args(["-qq", "download-file", uri])
        .arg(&part)
        .output()
        .map_err(Error::doing(HELPER))?;
    if !out.status.success() || !part.is_file() {
        return Err(Error(format!(
            "fetch {uri}: {}",
            String::from_utf8_lossy(&out.stderr).trim()
        )));
    }
    std::fs::rename(&part, file).map_err(Error::doing(file.display()))
}

/// An index on this machine's disk, compressed.
#[derive(Clone, Debug)]
pub struct Cached(PathBuf);

impl Cached {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Calls `each` with every line until it says false.
    pub(super) fn lines(&self, each: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let mut child = Command::new(HELPER)
            .arg("cat-file")
            .arg(&self.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::doing(HELPER))?;
        let output = child
            .stdout
            .take()
            .ok_or_else(|| Error::new("apt-helper has no output"))?;
        // The program sees its pipe closed and ends once `each` stops, so its exit status says
        // nothing.
        let read = for_lines(output, each).map_err(Error::doing(self.0.display()));
        let _ = child.kill();
        let _ = child.wait();
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_itself_is_chosen_and_not_its_updates_or_strangers() {
        let targets = "http://example.org/tools/ stable amd64 Example\n\
                       http://mirror.example/debian-security/ trixie-security amd64 Debian\n\
                       http://mirror.example/debian/ trixie amd64 Debian\n";
        let mirror = Mirror::first(targets).expect("one of them");
        assert_eq!(mirror.uri, "http://mirror.example/debian/");
        assert_eq!(mirror.suite, "trixie");
        assert_eq!(Mirror::first(""), None);
    }
}
