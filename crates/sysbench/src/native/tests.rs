use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::cpu::Cpu;
use super::driver::{Event, Load, run};
use super::memory::{self, Memory};
use super::mutex::Mutexes;
use super::period::Period;
use super::threads::Threads;
use super::*;

/// Without a limit of time.
pub(crate) fn load(threads: u32, events: u64) -> Load {
    Load {
        threads,
        events,
        time: None,
        warmup: Duration::ZERO,
        forced_shutdown: None,
        rate: 0,
        seed: 1,
    }
}

/// For some milliseconds.
fn short(threads: u32) -> Load {
    Load {
        time: Some(Duration::from_millis(30)),
        ..load(threads, 0)
    }
}

/// Runs a test, and adds up its seconds.
pub(crate) fn run_for<T: Test>(
    test: &Arc<T>,
    load: &Load,
) -> (Result<usize, NativeError>, Period) {
    let mut period = Period::default();
    let ended = run(test, load, &Arc::default(), &mut |event| {
        if let Event::Second(second) = event {
            period.add(second);
        }
    });
    (ended, period)
}

/// Its events take a time, and do not end before they may.
#[derive(Default)]
struct Pause {
    time: Duration,
    executed: AtomicU64,
    is_stuck: AtomicBool,
    fails_at: Option<u64>,
    fails_to_start: bool,
}

impl Test for Pause {
    type Thread = u32;

    fn thread(&self, index: u32) -> Result<u32, NativeError> {
        match self.fails_to_start && index == 1 {
            true => Err(NativeError::new("no thread")),
            false => Ok(index),
        }
    }

    fn event(&self, _: &mut u32, counts: &mut Counts) -> Result<bool, NativeError> {
        let number = self.executed.fetch_add(1, Ordering::Relaxed);
        if self.fails_at.is_some_and(|at| number >= at) {
            return Err(NativeError::new(format!("event {number}")));
        }
        thread::sleep(self.time);
        while self.is_stuck.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        counts.reads += 1;
        Ok(true)
    }

    fn finish(&self, thread: &mut u32, counts: &mut Counts) -> Result<(), NativeError> {
        counts.fsyncs += u64::from(*thread) + 1;
        Ok(())
    }
}

#[test]
fn events_are_limited_and_all_of_them_are_counted() {
    let test = Arc::new(Pause::default());
    let (ended, period) = run_for(&test, &load(3, 1000));
    assert_eq!(ended.unwrap(), 0);
    assert_eq!((period.events(), period.counts.reads), (1000, 1000));
    // Each thread has finished.
    assert_eq!(period.counts.fsyncs, 1 + 2 + 3);
    let events = period.threads.iter().map(|thread| thread.events);
    assert_eq!(events.sum::<u64>(), 1000);
    let latency_ns = period.threads.iter().map(|thread| thread.latency_ns);
    assert_eq!(latency_ns.sum::<u128>(), period.latency.sum_ns());
}

#[test]
fn time_is_limited() {
    let test = Arc::new(Pause {
        time: Duration::from_millis(1),
        ..Pause::default()
    });
    let (ended, period) = run_for(&test, &short(2));
    ended.unwrap();
    assert!(period.end >= Duration::from_millis(30));
    assert!((1..=62).contains(&period.events()), "{}", period.events());
    assert!(period.latency.min_ns().unwrap() >= 990_000);
}

#[test]
fn a_warmup_comes_before_the_limits() {
    let test = Arc::new(Pause {
        time: Duration::from_millis(1),
        ..Pause::default()
    });
    let load = Load {
        warmup: Duration::from_millis(40),
        ..load(1, 10)
    };
    let (ended, period) = run_for(&test, &load);
    ended.unwrap();
    assert!(period.end >= Duration::from_millis(45), "{:?}", period.end);
    assert!(period.events() > 10);
}

#[test]
fn it_can_be_stopped() {
    let (test, stop) = (Arc::new(Pause::default()), Arc::new(AtomicBool::new(false)));
    let mut events = 0;
    let ended = run(&test, &load(2, 0), &stop, &mut |event| match event {
        Event::Started => stop.store(true, Ordering::Relaxed),
        Event::Second(second) => events += second.threads[0].latency.count(),
    });
    assert_eq!(ended.unwrap(), 0);
    assert_eq!(events, 0);
}

#[test]
fn the_first_failure_ends_the_run() {
    let test = Arc::new(Pause {
        fails_at: Some(50),
        ..Pause::default()
    });
    let (ended, _) = run_for(&test, &load(2, 0));
    let message = ended.unwrap_err().message;
    assert!(message.starts_with("event 5"), "{message}");
}

#[test]
fn a_thread_that_cannot_start_ends_the_run_before_it_begins() {
    let test = Arc::new(Pause {
        fails_to_start: true,
        ..Pause::default()
    });
    let mut has_started = false;
    let ended = run(&test, &load(3, 0), &Arc::default(), &mut |event| {
        has_started |= matches!(event, Event::Started);
    });
    assert_eq!(ended.unwrap_err().message, "no thread");
    assert!(!has_started);
    assert_eq!(test.executed.load(Ordering::Relaxed), 0);
}

#[test]
fn stuck_events_are_abandoned() {
    let test = Arc::new(Pause {
        is_stuck: AtomicBool::new(true),
        ..Pause::default()
    });
    let load = Load {
        forced_shutdown: Some(Duration::from_millis(100)),
        ..short(2)
    };
    let begin = Instant::now();
    let (ended, period) = run_for(&test, &load);
    test.is_stuck.store(false, Ordering::Relaxed);
    assert_eq!(ended.unwrap(), 2);
    assert_eq!(period.events(), 0);
    assert!(begin.elapsed() >= Duration::from_millis(130));
}

#[test]
fn events_arrive_at_the_rate_and_wait_for_a_thread() {
    let load = Load {
        rate: 500,
        time: Some(Duration::from_millis(400)),
        ..load(2, 0)
    };
    let (ended, period) = run_for(&Arc::new(Pause::default()), &load);
    ended.unwrap();
    assert!((140..260).contains(&period.events()), "{}", period.events());
    // Two events of 40 ms at a time: 20 of 200 can be executed, and the last ones waited long.
    let slow = Arc::new(Pause {
        time: Duration::from_millis(40),
        ..Pause::default()
    });
    let mut queue = None;
    let ended = run(&slow, &load, &Arc::default(), &mut |event| {
        if let Event::Second(second) = event {
            queue = second.queue;
            let longest = second.threads[0].latency.max_ns().unwrap();
            assert!(longest > 200_000_000, "{longest}");
        }
    });
    ended.unwrap();
    let (waiting, _) = queue.unwrap();
    assert!((100..260).contains(&waiting), "{waiting}");
}

#[test]
fn a_queue_that_is_full_ends_the_run() {
    let test = Arc::new(Pause {
        time: Duration::from_millis(1),
        ..Pause::default()
    });
    let load = Load {
        rate: 1_000_000,
        ..load(1, 0)
    };
    let message = run_for(&test, &load).0.unwrap_err().message;
    assert!(message.starts_with("The event queue is full."), "{message}");
}

#[test]
fn the_tests_run_on_two_threads() {
    let (cpu, yields) = (Cpu::new(100).unwrap(), Threads::new(5, 1).unwrap());
    assert!(run_for(&Arc::new(cpu), &short(2)).1.events() > 0);
    assert!(run_for(&Arc::new(yields), &short(2)).1.events() > 0);
    let memory = memory::Options {
        block_bytes: 1024,
        total_bytes: 100 * 1024,
        threads: 2,
        operation: memory::Operation::Write,
        is_local: false,
        is_random: false,
        has_huge_pages: false,
        seed: 1,
    };
    // Both limit themselves; a number of events does not.
    let memory = Arc::new(Memory::new(memory).unwrap());
    assert_eq!(run_for(&memory, &load(2, 1)).1.events(), 100);
    let mutexes = Arc::new(Mutexes::new(16, 100, 100, 1).unwrap());
    let (ended, period) = run_for(&mutexes, &load(2, 1));
    ended.unwrap();
    assert_eq!(period.events(), 2);
    assert_eq!(period.threads[0].events, 1);
}

#[test]
fn names_of_options_are_exact() {
    let choices = [("read", 1), ("write", 2)];
    assert_eq!(choose("memory-oper", "write", &choices).unwrap(), 2);
    let error = choose("memory-oper", "Write", &choices).unwrap_err();
    assert_eq!(error.message, "Invalid value for memory-oper: Write");
}
