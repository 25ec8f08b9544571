//! A semaphore for the tasks of one thread.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Limits how many tasks of a thread hold a permit at once. Other tasks wait in the order of their
/// arrival.
#[derive(Debug, Clone)]
pub struct Semaphore {
    state: Rc<State>,
}

#[derive(Debug)]
struct State {
    free: Cell<usize>,
    /// The wakers of the waiting tasks, by ticket. A task stays here until it gets a permit or is
    /// dropped. In either case, the next task in the queue is woken if a permit is free, so dropping
    /// a task that was woken loses no permit.
    waiting: RefCell<BTreeMap<u64, Waker>>,
    next_ticket: Cell<u64>,
}

impl Semaphore {
    /// A semaphore with `permits` permits; at least one.
    pub fn new(permits: usize) -> Self {
        Self {
            state: Rc::new(State {
                free: Cell::new(permits.max(1)),
                waiting: RefCell::default(),
                next_ticket: Cell::new(0),
            }),
        }
    }

    /// Waits for a permit. A task that is dropped while it waits leaves the queue.
    pub fn acquire(&self) -> impl Future<Output = Permit> + use<> {
        let ticket = self.state.next_ticket.get();
        self.state.next_ticket.set(ticket + 1);
        Acquire {
            state: Rc::clone(&self.state),
            ticket,
        }
    }
}

impl State {
    /// Wakes the first in the queue, which leaves it when it runs and wakes the next.
    fn wake_first(&self) {
        if self.free.get() > 0
            && let Some(first) = self.waiting.borrow().values().next()
        {
            first.wake_by_ref();
        }
    }

    /// Takes a task out of the queue, if it is in it.
    fn leave(&self, ticket: u64) {
        let left = self.waiting.borrow_mut().remove(&ticket);
        if left.is_some() {
            self.wake_first();
        }
    }
}

/// A permit; returned when dropped.
#[derive(Debug)]
pub struct Permit {
    state: Rc<State>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.state.free.set(self.state.free.get() + 1);
        self.state.wake_first();
    }
}

#[derive(Debug)]
struct Acquire {
    state: Rc<State>,
    /// Its place in the queue.
    ticket: u64,
}

impl Future for Acquire {
    type Output = Permit;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Permit> {
        let (state, ticket) = (&self.state, self.ticket);
        let first = state.waiting.borrow().keys().next().copied();
        let free = state.free.get();
        if free == 0 || first.is_some_and(|first| first < ticket) {
            let waker = context.waker().clone();
            state.waiting.borrow_mut().insert(ticket, waker);
            return Poll::Pending;
        }
        state.free.set(free - 1);
        state.leave(ticket);
        Poll::Ready(Permit {
            state: Rc::clone(state),
        })
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        // A task that is dropped after it was woken must not keep others waiting.
        self.state.leave(self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::{Reactor, sleep_until};
    use super::*;

    type Boxed = Pin<Box<dyn Future<Output = Permit>>>;

    fn is_pending(acquire: &mut Boxed) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        acquire.as_mut().poll(&mut context).is_pending()
    }

    #[test]
    fn no_more_than_the_limit_hold_a_permit_and_all_get_one() {
        let reactor = Reactor::new().unwrap();
        let semaphore = Semaphore::new(32);
        let (now, most, passed) = (
            Rc::new(Cell::new(0)),
            Rc::new(Cell::new(0)),
            Rc::new(Cell::new(0)),
        );
        for _ in 0..1000 {
            let (now, most, passed) = (Rc::clone(&now), Rc::clone(&most), Rc::clone(&passed));
            let semaphore = semaphore.clone();
            reactor.spawn(async move {
                let _permit = semaphore.acquire().await;
                now.set(now.get() + 1);
                most.set(most.get().max(now.get()));
                sleep_until(Instant::now() + Duration::from_micros(100)).await;
                now.set(now.get() - 1);
                passed.set(passed.get() + 1);
            });
        }
        // Wakes all tasks meanwhile, as each stage of a load does.
        reactor.waker().wake();
        reactor.run_tasks(|| false).unwrap();
        assert_eq!((most.get(), passed.get()), (32, 1000));
    }

    #[test]
    fn a_spurious_poll_takes_no_wake_up_from_others() {
        let reactor = Reactor::new().unwrap();
        let semaphore = Semaphore::new(1);
        let passed = Rc::new(Cell::new(0));
        let first = reactor.block_on(semaphore.acquire()).unwrap();
        for _ in 0..3 {
            let (semaphore, passed) = (semaphore.clone(), Rc::clone(&passed));
            reactor.spawn(async move {
                let _permit = semaphore.acquire().await;
                passed.set(passed.get() + 1);
            });
        }
        let waker = reactor.waker();
        let all_passed = async {
            for _ in 0..5 {
                waker.wake_by_ref();
                sleep_until(Instant::now() + Duration::from_millis(1)).await;
            }
            drop(first);
            while passed.get() < 3 {
                sleep_until(Instant::now() + Duration::from_millis(1)).await;
            }
        };
        let limit = Duration::from_secs(20);
        let all_passed = reactor.block_on(super::super::timeout(limit, all_passed));
        assert_eq!(all_passed.unwrap(), Some(()));
    }

    #[test]
    fn a_task_dropped_after_it_was_woken_lets_the_next_one_run() {
        let reactor = Reactor::new().unwrap();
        let semaphore = Semaphore::new(1);
        let passed = reactor.block_on(async {
            let held = semaphore.acquire().await;
            let mut first: Boxed = Box::pin(semaphore.acquire());
            let mut second: Boxed = Box::pin(semaphore.acquire());
            assert!(is_pending(&mut first));
            std::future::poll_fn(|context| {
                assert!(second.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            // Wakes the first task, which then does not run.
            drop(held);
            drop(first);
            second.await
        });
        drop(passed.unwrap());
    }

    #[test]
    fn permits_are_given_in_order_of_arrival() {
        let semaphore = Semaphore::new(1);
        let held = semaphore.acquire();
        let mut held: Boxed = Box::pin(held);
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(permit) = held.as_mut().poll(&mut context) else {
            unreachable!("it is free")
        };
        let mut first: Boxed = Box::pin(semaphore.acquire());
        assert!(is_pending(&mut first));
        drop(permit);
        // A new task waits behind the one that was woken.
        let mut late: Boxed = Box::pin(semaphore.acquire());
        assert!(is_pending(&mut late));
        let Poll::Ready(permit) = first.as_mut().poll(&mut context) else {
            unreachable!("it is the first one's turn")
        };
        assert!(is_pending(&mut late));
        drop(permit);
        assert!(!is_pending(&mut late));
    }
}
