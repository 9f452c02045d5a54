//! Snapshots under TPC-C at full speed, again and again: its conditions hold in what is restored, and the position is
//! exact. This takes long, so only a thorough run does it; `PENSTOCK_SNAPSHOT_RUNS` says how often for each method.

use super::scene::Scene;
use crate::kit::waiting::until;
use crate::kit::{Done, each_kind, thorough};
use rustix::process::Signal;
use testkit::{Kind, Server};

/// Snapshots by each method.
fn runs() -> usize {
    let asked = std::env::var("PENSTOCK_SNAPSHOT_RUNS").ok();
    asked.map_or(2, |n| n.parse().expect("PENSTOCK_SNAPSHOT_RUNS: a number"))
}

const SUMS: &str = "CHECKSUM TABLE tpcc.warehouse, tpcc.district, tpcc.customer, tpcc.history, tpcc.new_orders, \
    tpcc.orders, tpcc.order_line, tpcc.stock, tpcc.item";

fn bench(scene: &Scene, server: &Server, verb: &str) -> crate::kit::Tool {
    scene
        .tool(&["bench", "tpcc", verb, "--socket"])
        .arg(server.socket())
        .args(["--user", "root"])
}

/// Does this while orders come in at full speed.
fn meanwhile(scene: &Scene, run: usize, work: impl FnOnce(&Scene) -> Done) -> Done {
    let newest = "SELECT SUM(d_next_o_id) FROM tpcc.district";
    let orders = || -> u64 {
        let text = scene.server.value(newest).expect("a number");
        text.parse().expect("a number")
    };
    let more = |n: u64| {
        let before = orders();
        until("orders come in", || orders() > before + n);
    };
    let load = bench(scene, &scene.server, "run")
        .args(["--connections", "4", "--ramp", "0s", "--measure", "1h"])
        .args(["--seed".to_owned(), (run + 1).to_string()])
        .start();
    more(50);
    let done = work(scene);
    more(50);
    load.signal(Signal::INT);
    load.wait();
    done
}

/// A dump of a snapshot, and not its files.
fn dumped_under_tpcc(scene: &mut Scene, method: &str) {
    bench(scene, &scene.server, "load")
        .args(["--warehouses", "1"])
        .run()
        .ok();
    for run in 0..runs() {
        let dump = |scene: &Scene| scene.dump(method, &["--schemas", "tpcc"]).run().ok();
        let dumped = meanwhile(scene, run, dump).summary();
        scene.is_of_its_moment(&dumped, SUMS, |target| {
            bench(scene, target, "check").run().ok();
        });
    }
}

fn under_tpcc(method: &str, kind: Kind) {
    if !thorough() {
        return;
    }
    let Some(scene) = &mut Scene::for_method(method, kind) else {
        return;
    };
    bench(scene, &scene.server, "load")
        .args(["--warehouses", "1"])
        .run()
        .ok();
    for run in 0..runs() {
        meanwhile(scene, run, |scene| scene.take(method, "to", &[]).run().ok());
        let restored = scene.restore("to", "back", &[]).run().ok().summary();
        let tool = scene.tool(&["bench", "tpcc", "check", "--user", "root", "--socket"]);
        let tool = std::cell::Cell::new(Some(tool));
        scene.follows("back", &restored, SUMS, |copy| {
            let tool = tool.take().expect("once");
            tool.arg(copy.socket()).run().ok();
        });
        scene.nothing_left(&["to"]);
        std::fs::remove_dir_all(scene.path("to")).expect("removed");
    }
}

each_kind!(clones_of_files_under_tpcc; mysql, mariadb);
fn clones_of_files_under_tpcc(kind: Kind) {
    under_tpcc("reflink", kind);
}

each_kind!(subvolumes_under_tpcc; mysql, mariadb);
fn subvolumes_under_tpcc(kind: Kind) {
    under_tpcc("btrfs", kind);
}

each_kind!(copies_by_the_server_under_tpcc; mysql, mariadb);
fn copies_by_the_server_under_tpcc(kind: Kind) {
    let method = match kind {
        Kind::MySql => "clone",
        _ => "copy",
    };
    under_tpcc(method, kind);
}

each_kind!(dumps_of_snapshots_under_tpcc; mysql, mariadb);
fn dumps_of_snapshots_under_tpcc(kind: Kind) {
    if !thorough() {
        return;
    }
    for method in ["reflink", "btrfs"] {
        if let Some(mut scene) = Scene::for_method(method, kind) {
            dumped_under_tpcc(&mut scene, method);
        }
    }
}
