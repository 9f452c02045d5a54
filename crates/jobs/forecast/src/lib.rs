//! How long a dump, a load or a replay will take on this host, and with what uncertainty.
//!
//! `work` says what a run has to do, in amounts that are known before its first row moves. `model` divides it into stages
//! and says what each costs by built-in rates (`rates`). `history` has what earlier runs of this host took, stage by
//! stage; `fit` corrects the rates by that. `make` adds the stages up, and `judge` compares a forecast with the run.
//! `cpu` measures the processor where there is no history, and `text` has the words.
//!
//! Invariants: nothing here fails a job, asks a server anything, or keeps a name, a statement or an address. A forecast
//! says what it is based on, and a range. What this does not do: measure a run; jobs and their phases have done that.

mod cpu;
mod fit;
mod history;
mod judge;
mod make;
mod model;
mod rates;
mod stage;
#[cfg(test)]
mod tests;
pub mod text;
mod work;

pub use history::{Disk, History};
pub use judge::{Ended, Judged};
pub use make::{Basis, Forecast, Limits, Spread};
pub use stage::Stage;
pub use work::{Amount, Job, Work, own_server, place, server, server_at};
