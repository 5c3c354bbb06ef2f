//! Cost of an evaluation, by the number of patterns in each list.
//!
//! `cargo bench -p pyxis-core --bench policy`

use divan::{Bencher, black_box};
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::policy::{CompiledPolicy, Method, Policy, evaluate};
use pyxis_core::target::Target;

const COUNTS: [usize; 3] = [1, 100, 1000];

fn main() {
    divan::main();
}

/// `count` patterns in each of the three lists: fixed paths, stars in the middle, stars in front, hosts.
fn policy(count: usize) -> Policy {
    let list = |name: &str| {
        let pattern = |i: usize| match i % 4 {
            0 => format!("/v1/{name}{i}/items"),
            1 => format!("/v1/*/{name}{i}"),
            2 => format!("/*/{name}{i}"),
            _ => format!("api{}.example.com/v1/{name}{i}", i % 40),
        };
        (0..count).map(pattern).collect()
    };
    Policy {
        deny_urls: list("deny"),
        require_approval_urls: list("require"),
        auto_approve_urls: list("auto"),
        auto_approve_methods: vec![Method::Get],
        ..Policy::default()
    }
}

fn measure(bencher: Bencher<'_, '_>, count: usize, url: &str) {
    let compiled: CompiledPolicy = policy(count).compile();
    let target = Target::parse(url).expect("a valid target");
    bencher.bench_local(|| {
        let decision =
            evaluate(Some(black_box(&compiled)), ApprovalMode::Gated, Method::Get, black_box(&target));
        black_box(decision.verdict)
    });
}

/// The common case: a plain path that no pattern matches.
#[divan::bench(args = COUNTS)]
fn plain_path_without_match(bencher: Bencher<'_, '_>, count: usize) {
    measure(bencher, count, "https://api3.example.com/v1/customers/42/invoices/2026?page=3");
}

/// The last list decides.
#[divan::bench(args = COUNTS)]
fn plain_path_with_auto_match(bencher: Bencher<'_, '_>, count: usize) {
    measure(bencher, count, "https://api3.example.com/v1/auto0/items/7");
}

/// An ordinary escape: two variants.
#[divan::bench(args = COUNTS)]
fn path_with_an_escape(bencher: Bencher<'_, '_>, count: usize) {
    measure(bencher, count, "https://api3.example.com/v1/customers/jane%20doe/invoices");
}

/// The worst case that an attacker can cause: as many variants as are tried.
#[divan::bench(args = COUNTS)]
fn path_with_many_readings(bencher: Bencher<'_, '_>, count: usize) {
    let odd = ["/a;b", "/%252e%252e", "//", "/%255C..%253B", "/%25252e;", "/%2F%252F..;"].concat();
    measure(bencher, count, &format!("https://api3.example.com{}", odd.repeat(40)));
}

/// Runs once for each policy change.
#[divan::bench(args = COUNTS)]
fn compile(bencher: Bencher<'_, '_>, count: usize) {
    let policy = policy(count);
    bencher.bench_local(|| black_box(&policy).compile());
}
