//! A semaphore for the tasks of one thread.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
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
    /// A task stays here until it gets a permit or is dropped, so no wake-up is lost: it goes to
    /// whichever task is then first, not to a particular one.
    waiting: RefCell<VecDeque<Waiting>>,
    next_ticket: Cell<u64>,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    waker: Waker,
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
        Acquire {
            state: Rc::clone(&self.state),
            ticket: None,
        }
    }
}

impl State {
    /// Wakes the first in the queue, which leaves it when it runs and wakes the next.
    fn wake_first(&self) {
        if self.free.get() > 0
            && let Some(first) = self.waiting.borrow().front()
        {
            first.waker.wake_by_ref();
        }
    }

    fn leave(&self, ticket: u64) {
        let mut waiting = self.waiting.borrow_mut();
        match waiting.front() {
            Some(first) if first.ticket == ticket => drop(waiting.pop_front()),
            _ => waiting.retain(|other| other.ticket != ticket),
        }
        drop(waiting);
        self.wake_first();
    }

    /// Takes a permit if one is free and no other task has waited longer.
    fn try_acquire(&self, ticket: Option<u64>) -> bool {
        let waiting = self.waiting.borrow();
        let is_first = waiting
            .front()
            .is_none_or(|first| Some(first.ticket) == ticket);
        let free = self.free.get();
        if free == 0 || !is_first {
            return false;
        }
        self.free.set(free - 1);
        true
    }

    /// Joins the queue, or updates the waker of a task that is in it.
    fn wait(&self, ticket: Option<u64>, waker: &Waker) -> u64 {
        let mut waiting = self.waiting.borrow_mut();
        let place = waiting
            .iter_mut()
            .find(|other| Some(other.ticket) == ticket);
        if let Some(place) = place {
            place.waker.clone_from(waker);
            return place.ticket;
        }
        let ticket = self.next_ticket.get();
        self.next_ticket.set(ticket + 1);
        waiting.push_back(Waiting {
            ticket,
            waker: waker.clone(),
        });
        ticket
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
    ticket: Option<u64>,
}

impl Future for Acquire {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Permit> {
        let state = Rc::clone(&self.state);
        if state.try_acquire(self.ticket) {
            if let Some(ticket) = self.ticket.take() {
                state.leave(ticket);
            }
            return Poll::Ready(Permit { state });
        }
        self.ticket = Some(state.wait(self.ticket, context.waker()));
        Poll::Pending
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        // A task that is dropped after it was woken must not keep others waiting.
        if let Some(ticket) = self.ticket {
            self.state.leave(ticket);
        }
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
        assert_eq!(all_passed.unwrap(), Ok(()));
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
