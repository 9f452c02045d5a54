//! Removes objects that are of no use, in a thread of its own: commits that wait for the archive do not wait for that.
//!
//! What could not be removed, a later run removes ([`Kept::remove_covered`](crate::kept::Kept::remove_covered)).

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use store::Store;

pub(crate) struct Remover {
    names: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Remover {
    pub(crate) fn new(store: Arc<dyn Store>) -> Remover {
        let (names, received) = channel::<String>();
        let work = move || {
            for name in received {
                let _ = store.remove(&name);
            }
        };
        let thread = std::thread::Builder::new()
            .name("remover".into())
            .spawn(work);
        Remover {
            names: Some(names),
            thread: thread.ok(),
        }
    }

    /// Removes them, by and by.
    pub(crate) fn remove(&self, names: Vec<String>) {
        for name in names {
            if let Some(names) = &self.names {
                let _ = names.send(name);
            }
        }
    }
}

impl Drop for Remover {
    /// Waits until all are removed.
    fn drop(&mut self) {
        self.names = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
