//! Rate limits are kept, as counted at a proxy between penstock and the server, not by penstock.
//!
//! Only what a slow machine cannot break is asserted here: never more than the limit plus five per
//! cent in any five seconds. How close to the limit the rate stays is measured by `./dev bench
//! rate`.

use crate::kit::proxied::{dumping, filled, proxy};
use crate::kit::{Pair, Tool, both};
use std::time::{Duration, Instant};
use testkit::proxy::{Flow, Proxy};

/// The window in which a limit must hold.
pub const WINDOW: Duration = Duration::from_secs(5);

#[track_caller]
fn never_above(flow: &Flow, limit: u64) {
    let (_, most) = flow.windows(WINDOW).expect("a flow longer than a window");
    let share = most / limit as f64;
    assert!(
        share <= 1.05,
        "{share} of the limit in {} s",
        flow.seconds()
    );
}

both!(a_dump_keeps_its_rate_with_many_workers);
fn a_dump_keeps_its_rate_with_many_workers(pair: &Pair) {
    pair.fill(&filled(17));
    let proxy = proxy(pair);
    let done = dumping(
        pair,
        &proxy,
        "d",
        &["--max-rate", "4M", "--threads", "8", "--json"],
    )
    .run()
    .ok();
    let flow = proxy.to_client();
    never_above(&flow.all(), 4 << 20);
    // The figures in the summary are what passed the proxy.
    let said = done.summary();
    let counted: u64 = said["traffic"]
        .as_array()
        .expect("phases")
        .iter()
        .map(|p| p["server"]["bytes"].as_u64().expect("bytes"))
        .sum();
    let all = flow.bytes();
    assert!(
        counted <= all && counted + all / 50 >= all,
        "{counted} of {all}"
    );
    let rows = said["traffic"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["phase"] == "dumping rows")
        .unwrap();
    assert_eq!(rows["server"]["limit"].as_u64(), Some(4 << 20));
    assert_eq!(said["bottleneck"]["dominant"], "limit", "{said:?}");
    pair.load("d", &[]).ok();
    pair.same_checksums();
}

both!(a_load_keeps_its_rate);
fn a_load_keeps_its_rate(pair: &Pair) {
    pair.fill(&filled(16));
    pair.dump("d", &["--chunk-size", "1M"]).ok();
    let server = pair.target().options().endpoint;
    let proxy = Proxy::unix(&pair.path("proxy.sock"), &server).expect("a proxy");
    let done = Tool::new(["load"])
        .arg(pair.path("d"))
        .arg("--socket")
        .arg(proxy.socket())
        .args(["--user", "root", "--threads", "4", "--max-rate", "2M"])
        .env("PENSTOCK_STATE", pair.path("state"))
        .run()
        .ok()
        .says(&["verified", "equal", "rate limit", "2 MiB/s; loading rows:"]);
    drop(done);
    never_above(&proxy.to_server().all(), 2 << 20);
    // The comparison reads at the same rate.
    never_above(&proxy.to_client().all(), 2 << 20);
}

both!(the_disk_has_a_limit_of_its_own);
fn the_disk_has_a_limit_of_its_own(pair: &Pair) {
    pair.fill(&filled(16));
    let began = Instant::now();
    let done = pair
        .dumping(
            "d",
            &[
                "--max-rate-disk",
                "4M",
                "--threads",
                "4",
                "--compression",
                "none",
            ],
        )
        .env("PENSTOCK_STATE", pair.path("state"))
        .arg("--json")
        .run()
        .ok();
    let took = began.elapsed().as_secs_f64();
    let stored = done.summary()["stored_bytes"].as_u64().expect("bytes");
    assert!(stored > 12 << 20, "{stored}");
    assert!(
        stored as f64 / took <= 1.05 * f64::from(4 << 20),
        "{stored} bytes in {took} s"
    );
    pair.load("d", &[]).ok();
    pair.same_checksums();
}

#[test]
fn invalid_rates_are_refused() {
    for (option, value, why) in [
        ("--max-rate", "fast", "--max-rate: \"fast\" is not a rate"),
        (
            "--max-rate",
            "100",
            "--max-rate: \"100\" is too low: the minimum is 1 KiB/s",
        ),
        (
            "--max-rate-disk",
            "-5M",
            "--max-rate-disk: \"-5M\" is not a rate",
        ),
    ] {
        let option = format!("{option}={value}");
        let tool = Tool::new([
            "dump",
            "--socket",
            "/nonexistent",
            "--to",
            "/nonexistent/d",
            &option,
        ]);
        tool.run().code(2).says(&[why]);
    }
}
