use super::*;

fn points(data: &[(f64, f64)]) -> Vec<Observation> {
    let point = |&(size, per_s)| Observation {
        size,
        per_s,
        half_width: None,
        block: 1,
    };
    data.iter().map(point).collect()
}

/// A Sun SPARCcenter 2000 in the SPEC SDM91 benchmark (Gunther, *Performance Analysis for
/// Computer Systems*): scripts per hour by users.
const SDM91: [(f64, f64); 7] = [
    (1.0, 64.9),
    (18.0, 995.9),
    (36.0, 1652.4),
    (72.0, 1853.2),
    (108.0, 1828.9),
    (144.0, 1775.0),
    (216.0, 1702.2),
];

/// A ray tracer by number of processors (Gunther, *Guerrilla Capacity Planning*).
const RAY_TRACER: [(f64, f64); 11] = [
    (1.0, 20.0),
    (4.0, 78.0),
    (8.0, 130.0),
    (12.0, 170.0),
    (16.0, 190.0),
    (20.0, 200.0),
    (24.0, 210.0),
    (28.0, 230.0),
    (32.0, 260.0),
    (48.0, 280.0),
    (64.0, 310.0),
];

fn near(found: Estimate, value: f64, half: f64) {
    assert!((found.value / value - 1.0).abs() < 1e-5, "{found:?}");
    let found = found.half_width.unwrap();
    assert!((found / half - 1.0).abs() < 1e-4, "{found} {half}");
}

/// For these data, the R package `usl` publishes a peak at 96.52 users, from a fit of throughput
/// itself. The expected numbers and intervals here come from a Python program that fits the
/// logarithms, with numeric gradients, Student's t from a table, and intervals of the peak from its
/// covariances.
#[test]
fn a_published_system_with_a_peak() {
    let found = scaling(&points(&SDM91)).unwrap();
    near(found.alone_per_s, 67.942_323, 12.600_253);
    near(found.contention, 0.013_452_473_2, 0.011_222_917_9);
    near(found.coherency, 1.151_100_78e-4, 6.002_938_43e-5);
    assert!((found.r_squared - 0.997_548_751).abs() < 1e-8);
    let peak = found.peak.unwrap();
    near(peak.size, 92.576_835_5, 23.782_933);
    near(peak.per_s, 1_960.793_83, 214.008_504);
    assert!(peak.is_measured);
    let amdahl = found.amdahl.unwrap();
    near(amdahl.alone_per_s, 77.413_097, 30.241_224);
    near(amdahl.share, 0.033_097_654_8, 0.019_855_694_8);
    // λ 72 / (1 + σ 71 + κ 72 · 71) with the parameters above, in Python.
    assert!((found.per_s(72.0) - 1_923.222_28).abs() < 1e-2);
    let amdahl_at_1 = found.amdahl_per_s(1.0).unwrap();
    assert!((amdahl_at_1 - amdahl.alone_per_s.value).abs() < 1e-9);
}

/// κ may be 0, so the peak may be infinitely far away.
#[test]
fn a_published_system_without_one() {
    let found = scaling(&points(&RAY_TRACER)).unwrap();
    near(found.alone_per_s, 21.591_503_5, 2.195_025_4);
    near(found.contention, 0.056_405_440_3, 0.017_723_598_8);
    let coherency = found.coherency;
    assert!(coherency.value < 1e-5 && coherency.half_width.unwrap() > coherency.value);
    assert_eq!(found.goodness_of_fit, GoodnessOfFit::Untested);
    assert_eq!(found.peak.unwrap().size.half_width, None);
    assert!((found.r_squared - 0.995_866_461).abs() < 1e-8);
}

/// Data that the law generates must give the law.
#[test]
fn the_law_itself_is_found() {
    let law = |contention: f64, coherency: f64| {
        let sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        let law = |size: f64| universal_law(size, &[2231.0, contention, coherency]).0;
        blocks(0, &sizes, law, 1, [0.0; 2])
    };
    let found = scaling(&law(0.1, 0.01)).unwrap();
    assert!((found.contention.value - 0.1).abs() < 1e-6, "{found:?}");
    assert!((found.peak.unwrap().size.value - 90.0_f64.sqrt()).abs() < 1e-3);
    let only_pairs = scaling(&law(-0.001, 0.01)).unwrap();
    assert!(only_pairs.contention.half_width.unwrap() < 0.1);
    assert!(only_pairs.peak.unwrap().size.half_width.is_some());
    assert_eq!(scaling(&law(-0.01, 0.0)), Err(NoLaw::Superlinear));
    // Proportional growth.
    let straight = scaling(&law(0.0, 0.0)).unwrap();
    assert!((0.0..1e-6).contains(&straight.contention.value) && straight.peak.is_none());
}

/// Random numbers from -1 to 1 that are the same everywhere (SplitMix64, as published by its
/// author).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// Throughput that grows in proportion and varies by 1 % has costs of 0 or small ones, and is
/// hardly ever called superlinear: a 95 % interval ends below 0 in 2.5 % of cases, and slightly
/// more often if the noise grows with the size.
#[test]
fn no_cost_is_below_0() {
    const SEEDS: u64 = 1000;
    let (mut lines, mut superlinear) = (0, 0);
    for seed in 0..SEEDS {
        let mut noise = Noise(seed);
        let sizes = (1..=8).map(f64::from);
        let data: Vec<(f64, f64)> = sizes
            .map(|size| (size, 1000.0 * size * (1.0 + 0.01 * noise.next())))
            .collect();
        let found = match scaling(&points(&data)) {
            Ok(found) => found,
            Err(NoLaw::Superlinear) => {
                superlinear += 1;
                continue;
            }
            Err(other) => panic!("{seed}: {other}"),
        };
        let share = found.amdahl.map(|law| law.share);
        let costs = [Some(found.contention), Some(found.coherency), share];
        for cost in costs.into_iter().flatten() {
            assert!(cost.value >= 0.0, "{seed}: {found:?}");
        }
        if (found.contention.value, found.coherency.value) == (0.0, 0.0) {
            lines += 1;
            assert!(found.alone_per_s.half_width.unwrap() > 0.0);
            assert_eq!(found.peak, None);
        }
    }
    assert!(
        lines > 0 && superlinear * 20 < SEEDS,
        "{lines} {superlinear}"
    );
}

/// In Python: ln λ is the mean of ln y - ln x, its error s / √n, times t(5) = 2.570582.
#[test]
fn a_line_has_its_interval() {
    let data = [(1.0, 101.0), (2.0, 199.0), (3.0, 301.0), (4.0, 401.0)];
    let data = [&data[..], &[(5.0, 502.0), (6.0, 603.0)]].concat();
    let found = scaling(&points(&data)).unwrap();
    assert_eq!((found.contention.value, found.coherency.value), (0.0, 0.0));
    near(found.alone_per_s, 100.329_575_6, 0.509_968_77);
}

/// Superlinear growth is rejected without contention, too.
#[test]
fn what_grows_by_more_than_in_proportion_is_refused() {
    for exponent in [1.05, 1.1, 1.2, 1.5, 2.0] {
        for largest in [8_u32, 24, 3000] {
            let sizes: Vec<f64> = (1..=8).map(|step| f64::from(largest * step / 8)).collect();
            let found = scaling(&blocks(0, &sizes, |size| size.powf(exponent), 1, [0.0; 2]));
            assert_eq!(found, Err(NoLaw::Superlinear), "{exponent} {largest}");
        }
    }
}

/// Where throughput only falls, Amdahl's law cannot fit.
#[test]
fn a_share_is_never_more_than_the_whole() {
    let falls = [971.0, 933.0, 875.0, 650.0, 601.0, 343.0];
    let sizes = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
    let data: Vec<(f64, f64)> = sizes.into_iter().zip(falls).collect();
    let found = scaling(&points(&data)).unwrap();
    assert_eq!(found.amdahl, None);
    assert_eq!(found.amdahl_per_s(4.0), None);
    assert!(found.contention.value < 1.0);
}

#[test]
fn what_tells_nothing_is_refused() {
    let few = scaling(&points(&SDM91[..5]));
    assert_eq!(few, Err(NoLaw::TooFew { points: 5 }));
    // Repeats of a size do not count as further sizes.
    let twice = [&SDM91[..5], &SDM91[..5]].concat();
    assert_eq!(scaling(&points(&twice)), Err(NoLaw::TooFew { points: 5 }));
    let noise: Vec<(f64, f64)> = (1..=8)
        .map(|i| (f64::from(i), if i % 2 == 0 { 100.0 } else { 900.0 }))
        .collect();
    assert!(matches!(
        scaling(&points(&noise)),
        Err(NoLaw::BadFit { .. } | NoLaw::NotFound | NoLaw::Serial)
    ));
    let mut bad = points(&SDM91);
    bad[0].per_s = f64::NAN;
    assert!(matches!(scaling(&bad), Err(NoLaw::BadPoint { .. })));
}

const SIZES: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];

/// Blocks of a law at given sizes, with noise of each trial and of each block.
fn blocks(
    seed: u64,
    sizes: &[f64],
    law: impl Fn(f64) -> f64,
    count: u32,
    [between, within]: [f64; 2],
) -> Vec<Observation> {
    let mut noise = Noise(seed);
    // The sum of twelve uniform numbers is nearly normal.
    let mut normal = || (0..12).map(|_| noise.next()).sum::<f64>() / 2.0;
    let mut all = Vec::new();
    for block in 1..=count {
        let pace = between * normal();
        for size in sizes {
            let off = pace + within * normal();
            all.push(Observation {
                size: *size,
                per_s: law(*size) * off.exp(),
                half_width: None,
                block,
            });
        }
    }
    all
}

/// The speed of the host differs by 5 or 10 % from block to block, which moves all sizes equally.
#[test]
fn intervals_cover_the_truth_with_noisy_blocks() {
    const STUDIES: u64 = 1000;
    let (contention, coherency) = (0.03, 0.002);
    let law = |size: f64| universal_law(size, &[1000.0, contention, coherency]).0;
    let peak_size = ((1.0 - contention) / coherency).sqrt();
    let truths = [1000.0, contention, coherency, peak_size, law(peak_size)];
    let sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0];
    for (count, between, within) in [
        (3, 0.05, 0.03),
        (3, 0.1, 0.03),
        (5, 0.1, 0.03),
        (5, 0.1, 0.05),
    ] {
        let (mut held, mut given) = ([0_u64; 5], 0_u64);
        for seed in 0..STUDIES {
            let points = blocks(seed, &sizes, law, count, [between, within]);
            let Ok(found) = scaling(&points) else {
                continue;
            };
            let Some(peak) = found.peak.filter(|peak| peak.size.half_width.is_some()) else {
                continue;
            };
            given += 1;
            let all = [
                found.alone_per_s,
                found.contention,
                found.coherency,
                peak.size,
                peak.per_s,
            ];
            for ((held, found), truth) in held.iter_mut().zip(all).zip(truths) {
                *held += u64::from((found.value - truth).abs() <= found.half_width.unwrap());
            }
        }
        let shares = held.map(|held| 100.0 * held as f64 / given as f64);
        println!(
            "{count} blocks, {between} between, {within} within: λ, σ, κ, peak, its throughput: \
             {shares:.1?} % of {given}, seeds 0 to {STUDIES}"
        );
        assert!(given * 10 >= STUDIES * 9, "{given}");
        assert!((93.0..=98.0).contains(&shares[3]), "{shares:?}");
        assert!(shares.iter().all(|share| *share >= 92.0), "{shares:?}");
    }
}

/// Proportional up to a limit: by R² alone, a good fit.
#[test]
fn a_hard_ceiling_is_refused() {
    const STUDIES: u64 = 200;
    for (cap, spread) in [(4.0, 0.02), (6.0, 0.03), (8.0, 0.03)] {
        let ceiling = |size: f64| 1000.0 * f64::min(size, cap);
        let mut refused = 0;
        for seed in 0..STUDIES {
            let found = scaling(&blocks(seed, &SIZES, ceiling, 3, [0.0, spread]));
            let is_refused = matches!(found, Err(NoLaw::LackOfFit { .. } | NoLaw::BadFit { .. }));
            refused += u64::from(is_refused);
        }
        println!("cap {cap}, noise {spread}: refused {refused} of {STUDIES}, seeds 0 to {STUDIES}");
        assert!(refused * 100 >= STUDIES * 95, "{cap}: {refused}");
    }
    // Without repeats, the interval of each point decides; without intervals, nothing does.
    let ceiling = |size: f64| 1000.0 * f64::min(size, 6.0);
    let mut points = blocks(1, &SIZES, ceiling, 1, [0.0, 0.01]);
    let untested = scaling(&points).unwrap();
    assert_eq!(untested.goodness_of_fit, GoodnessOfFit::Untested);
    for point in &mut points {
        point.half_width = Some(0.02 * point.per_s);
    }
    assert!(matches!(scaling(&points), Err(NoLaw::LackOfFit { .. })));
}

/// A true law is rejected in no more studies than promised, and σ hardly ever exceeds its reported
/// upper limit.
#[test]
fn a_true_law_is_kept_and_its_bounds_hold() {
    const STUDIES: u64 = 1000;
    for (contention, coherency) in [(0.0, 0.0), (0.002, 0.0), (0.05, 0.002)] {
        let law = |size: f64| universal_law(size, &[1000.0, contention, coherency]).0;
        let (mut refused, mut at_bound, mut above) = (0, 0, 0);
        for seed in 0..STUDIES {
            match scaling(&blocks(seed, &SIZES, law, 3, [0.0, 0.03])) {
                Ok(found) if found.contention.value <= 0.0 => {
                    at_bound += 1;
                    let most = found.contention.half_width.unwrap();
                    above += u64::from(contention > most);
                }
                Ok(_) | Err(NoLaw::Superlinear) => {}
                Err(NoLaw::LackOfFit { .. }) => refused += 1,
                Err(other) => panic!("{seed}: {other}"),
            }
        }
        println!(
            "σ {contention}, κ {coherency}: refused {refused}, at the bound {at_bound}, above it \
             {above}, of {STUDIES}, seeds 0 to {STUDIES}"
        );
        assert!(refused * 100 <= STUDIES * 2, "{refused}");
        // 5 % and three standard errors: noise that grows with the size lowers the confidence from
        // 97.5 to 95 %.
        assert!(above * 1000 <= STUDIES * 71, "{above} of {at_bound}");
    }
}
