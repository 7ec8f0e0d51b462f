//! Laws of long runs: a billion steps leave the ledger exact.

use lazyglm::optim::ledger::Ledger;
use lazyglm::{ElasticNet, Method};

/// Steps of each ledger: as many as a billion rows, or ten million rows in a hundred epochs.
const STEPS: u64 = 1_000_000_000;

/// The sums have closed forms for a constant rate. With r = ηλ₂:
///
/// ```text
/// FoBoS   S = (1 + r)ⁿ       θ = ηλ₁·(S − 1)/r
/// SGD     S = (1 − r)⁻ⁿ      θ = ηλ₁·(S − 1)/r
/// λ₂ = 0  S = 1              θ = n·ηλ₁
/// ```
#[test]
fn a_ledger_is_exact_after_a_billion_steps() {
    let (eta, l1) = (1e-3, 1e-6);
    let penalties = [(l1, 1e-6), (l1, 3e-6), (l1, 0.0)].map(|(l1, l2)| ElasticNet { l1, l2 });
    let methods = [Method::Fobos, Method::Sgd, Method::Fobos];
    let mut ledgers = [0, 1, 2].map(|k| Ledger::new(penalties[k], methods[k]));
    let stored = ledgers.map(|ledger| ledger.store(-50.0));
    for _ in 0..STEPS {
        ledgers.iter_mut().for_each(|ledger| ledger.charge(eta)); // together, so that one waits while others add
    }
    let n = STEPS as f64;
    for (k, ledger) in ledgers.iter().enumerate() {
        let (r, lasso) = (eta * penalties[k].l2, eta * l1);
        let stretch = match methods[k] {
            Method::Fobos => (n * r.ln_1p()).exp(),
            Method::Sgd => (-n * (-r).ln_1p()).exp(),
        };
        let debt = if r == 0.0 { n * lasso } else { lasso * (stretch - 1.0) / r };
        let weight = -(50.0 - debt).max(0.0) / stretch;
        let pairs = [(ledger.stretch(), stretch), (ledger.debt(), debt), (ledger.settle(stored[k]), weight)];
        for (found, expected) in pairs {
            assert!((found - expected).abs() <= 1e-14 * expected.abs(), "{k}: {found:e} for {expected:e}");
        }
        assert!(weight < 0.0, "something is left");
    }
}
