//! The controller against a model of a server: latency grows with the rate and is noisy; clients wait
//! for each answer, so throughput falls as latency grows.

use super::*;

/// A server with its application.
struct Model {
    /// Latency without the run, in seconds.
    base: f64,
    /// Logarithm of latency for each byte per second.
    cost: f64,
    /// The most that the run can move.
    most: f64,
    /// Spread of latency between slots, as a logarithm.
    noise: f64,
    clients: f64,
    state: u64,
}

impl Model {
    fn new() -> Model {
        Model {
            base: 0.001,
            cost: 0.4 / 50e6,
            most: 50e6,
            noise: 0.04,
            clients: 8.0,
            state: 7,
        }
    }

    /// About normal, from a generator that is the same in each run.
    fn normal(&mut self) -> f64 {
        let mut sum = 0.0;
        for _ in 0..12 {
            self.state = self
                .state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            sum += (self.state >> 40) as f64 / (1u64 << 24) as f64;
        }
        sum - 6.0
    }

    fn slot(&mut self, action: Action) -> Sample {
        let rate = match action {
            Action::Open => self.most,
            Action::Rate(r) => (r as f64).min(self.most),
            Action::Rest => 0.0,
        };
        let seconds = 0.25;
        let latency = self.base * (self.cost * rate + self.noise * self.normal()).exp();
        Sample {
            seconds,
            statements: self.clients * seconds / latency,
            mean: Some(latency),
            p95: Some(3.0 * latency * (self.noise * self.normal()).exp()),
            under_way: self.clients as u64,
            bytes: (rate * seconds) as u64,
        }
    }

    /// Runs this many intervals; returns the loss of throughput against no run at all, and the bytes.
    fn run(&mut self, control: &mut Controller, slots: usize, action: &mut Action) -> (f64, u64) {
        let (mut done, mut bytes) = (0.0, 0);
        for _ in 0..slots {
            let sample = self.slot(*action);
            done += sample.statements;
            bytes += sample.bytes;
            *action = control.step(sample);
        }
        let alone = self.clients * 0.25 * slots as f64 / self.base;
        (1.0 - done / alone, bytes)
    }
}

#[test]
fn the_budget_is_kept_and_used() {
    for seed in 1..30 {
        let (mut model, mut control, mut action) =
            (Model::new(), Controller::new(0.05, 1 << 20), Action::Rest);
        model.state = seed;
        let (loss, bytes) = model.run(&mut control, 240, &mut action);
        assert!(loss < 0.055, "seed {seed}: {loss}");
        // The budget is worth 6 MB/s; a minute of a third of that must have moved.
        assert!(bytes > 120_000_000, "seed {seed}: {bytes}");
        let (loss, bytes) = model.run(&mut control, 480, &mut action);
        assert!(loss < 0.05, "seed {seed}: {loss}");
        assert!(bytes > 250_000_000, "seed {seed}: {bytes}");
    }
}

#[test]
fn a_coarse_probe_gets_half_the_rate() {
    for seed in 1..30 {
        let spent = |trusted: bool| {
            let (mut model, mut control, mut action) =
                (Model::new(), Controller::new(0.05, 1 << 20), Action::Rest);
            model.state = seed;
            if !trusted {
                control.use_coarse_target();
            }
            model.run(&mut control, 240, &mut action);
            model.run(&mut control, 480, &mut action)
        };
        let (loss, bytes) = spent(false);
        assert!(loss < 0.025, "seed {seed}: {loss}");
        let share = bytes as f64 / spent(true).1 as f64;
        assert!((0.3..0.8).contains(&share), "seed {seed}: {share}");
    }
}

#[test]
fn a_noisy_server_keeps_the_budget_too() {
    for seed in 1..20 {
        let (mut model, mut control, mut action) =
            (Model::new(), Controller::new(0.05, 1 << 20), Action::Rest);
        (model.state, model.noise) = (seed, 0.2);
        let (_, bytes) = model.run(&mut control, 400, &mut action);
        assert!(bytes > 150_000_000, "seed {seed}: {bytes}");
        // What the bytes cost by the model, without its noise.
        let cost = bytes as f64 / 100.0 * model.cost;
        assert!(cost < 0.06, "seed {seed}: {cost}");
    }
}

#[test]
fn a_run_without_impact_is_hardly_limited() {
    let (mut model, mut control, mut action) =
        (Model::new(), Controller::new(0.05, 1 << 20), Action::Rest);
    model.cost = 0.0;
    model.run(&mut control, 120, &mut action);
    let (_, bytes) = model.run(&mut control, 400, &mut action);
    assert!(bytes as f64 > 0.6 * 100.0 * model.most, "{bytes}");
}

#[test]
fn the_limit_is_lifted_while_the_application_is_idle() {
    let (mut model, mut control, mut action) =
        (Model::new(), Controller::new(0.05, 1 << 20), Action::Rest);
    model.run(&mut control, 100, &mut action);
    model.clients = 0.0;
    model.run(&mut control, 2, &mut action);
    assert_eq!((action, control.mode()), (Action::Open, Mode::Idle));
    model.run(&mut control, 40, &mut action);
    assert_eq!(action, Action::Open);
    model.clients = 8.0;
    // One interval with statements may be monitoring; two are an application.
    model.run(&mut control, 1, &mut action);
    assert_eq!(action, Action::Open);
    model.clients = 0.0;
    model.run(&mut control, 1, &mut action);
    model.clients = 8.0;
    model.run(&mut control, 1, &mut action);
    assert_eq!(action, Action::Open);
    model.run(&mut control, 1, &mut action);
    assert_eq!(action, Action::Rest);
    model.run(&mut control, 12, &mut action);
    let (loss, _) = model.run(&mut control, 100, &mut action);
    assert!(loss < 0.06, "{loss}");
}

#[test]
fn a_stalled_application_is_waited_for() {
    let (mut model, mut control, mut action) =
        (Model::new(), Controller::new(0.05, 1 << 20), Action::Rest);
    model.run(&mut control, 100, &mut action);
    let stall = Sample {
        seconds: 0.25,
        under_way: 8,
        ..Sample::default()
    };
    for slot in 0..100 {
        action = control.step(stall);
        assert_eq!(
            (action, control.mode()),
            (Action::Rest, Mode::Stalled),
            "{slot}"
        );
    }
    // The application continues, and so does the run, with the estimates it had.
    model.run(&mut control, 4, &mut action);
    assert_eq!(control.mode(), Mode::Hold);
    let (loss, bytes) = model.run(&mut control, 100, &mut action);
    assert!(loss < 0.06 && bytes > 0, "{loss} {bytes}");
    // A statement of half an hour is not an application.
    for _ in 0..121 {
        action = control.step(stall);
    }
    assert_eq!((action, control.mode()), (Action::Open, Mode::Idle));
}

#[test]
fn a_growing_cost_is_answered_within_seconds() {
    let (mut model, mut control, mut action) =
        (Model::new(), Controller::new(0.05, 1 << 20), Action::Rest);
    model.cost /= 100.0;
    model.run(&mut control, 200, &mut action);
    // The application needs the whole server from now on.
    model.cost *= 200.0;
    model.run(&mut control, 16, &mut action);
    let (loss, _) = model.run(&mut control, 40, &mut action);
    assert!(loss < 0.10, "{loss}");
    let (loss, _) = model.run(&mut control, 200, &mut action);
    assert!(loss < 0.055, "{loss}");
}

#[test]
fn drift_of_the_server_is_not_taken_for_cost() {
    let (mut model, mut control, mut action) =
        (Model::new(), Controller::new(0.05, 1 << 20), Action::Rest);
    model.cost = 0.0;
    model.run(&mut control, 100, &mut action);
    // Three times slower within a minute, for reasons of its own.
    let mut bytes = 0;
    for _ in 0..240 {
        model.base *= 1.005;
        bytes += model.run(&mut control, 1, &mut action).1;
    }
    assert!(bytes as f64 > 0.4 * 60.0 * model.most, "{bytes}");
}

#[test]
fn the_floor_holds_whatever_the_cost() {
    let (mut model, mut control, mut action) =
        (Model::new(), Controller::new(0.01, 1 << 20), Action::Rest);
    model.cost *= 100.0;
    model.run(&mut control, 100, &mut action);
    let (_, bytes) = model.run(&mut control, 400, &mut action);
    assert!(bytes >= 95 << 20, "{bytes}");
}
