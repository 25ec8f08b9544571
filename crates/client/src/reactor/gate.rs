//! How many of a thread's tasks may be at the same place at once.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::Inner;

/// A server's queue of connections that it has not yet accepted is short (MariaDB:
/// 50 and more), and the system drops what comes to a full one: the client then
/// waits for a greeting that never comes. So few knock at once.
const KNOCKING_AT_ONCE: usize = 32;

#[derive(Debug)]
pub(super) struct Gate {
    free: Cell<usize>,
    /// In the order of their coming.
    waiting: RefCell<VecDeque<(u64, Waker)>>,
    next_ticket: Cell<u64>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            free: Cell::new(KNOCKING_AT_ONCE),
            waiting: RefCell::default(),
            next_ticket: Cell::new(0),
        }
    }
}

impl Gate {
    /// The first in the queue leaves it when it runs, and wakes the next.
    fn wake_first(&self) {
        if self.free.get() > 0
            && let Some((_, waker)) = self.waiting.borrow().front()
        {
            waker.wake_by_ref();
        }
    }

    fn leave(&self, ticket: u64) {
        self.waiting
            .borrow_mut()
            .retain(|(other, _)| *other != ticket);
        self.wake_first();
    }
}

/// The right to knock at a server; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    reactor: Rc<Inner>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let gate = &self.reactor.gate;
        gate.free.set(gate.free.get() + 1);
        gate.wake_first();
    }
}

/// Waits until few enough of this thread's tasks knock at a server.
pub(crate) fn permit() -> impl Future<Output = Permit> {
    Waiting {
        reactor: Inner::current(),
        ticket: None,
    }
}

struct Waiting {
    reactor: Rc<Inner>,
    /// Its place in the queue.
    ticket: Option<u64>,
}

impl Future for Waiting {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Permit> {
        let reactor = Rc::clone(&self.reactor);
        let gate = &reactor.gate;
        if let Some(left) = gate.free.get().checked_sub(1) {
            gate.free.set(left);
            if let Some(ticket) = self.ticket.take() {
                gate.leave(ticket);
            }
            return Poll::Ready(Permit { reactor });
        }
        if self.ticket.is_none() {
            let ticket = gate.next_ticket.get();
            gate.next_ticket.set(ticket + 1);
            let waiting = (ticket, context.waker().clone());
            gate.waiting.borrow_mut().push_back(waiting);
            self.ticket = Some(ticket);
        }
        Poll::Pending
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // Who was woken and goes instead must not keep the others waiting.
        if let Some(ticket) = self.ticket {
            self.reactor.gate.leave(ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::{Reactor, sleep_until};
    use super::*;

    #[test]
    fn no_more_than_the_limit_pass_and_all_do_in_the_end() {
        let reactor = Reactor::new().unwrap();
        let (now, most, passed) = (
            Rc::new(Cell::new(0)),
            Rc::new(Cell::new(0)),
            Rc::new(Cell::new(0)),
        );
        for _ in 0..1000 {
            let (now, most, passed) = (Rc::clone(&now), Rc::clone(&most), Rc::clone(&passed));
            reactor.spawn(async move {
                let _permit = permit().await;
                now.set(now.get() + 1);
                most.set(most.get().max(now.get()));
                sleep_until(Instant::now() + std::time::Duration::from_micros(100)).await;
                now.set(now.get() - 1);
                passed.set(passed.get() + 1);
            });
        }
        reactor.run_tasks(|| false).unwrap();
        assert_eq!((most.get(), passed.get()), (KNOCKING_AT_ONCE, 1000));
    }

    #[test]
    fn who_goes_instead_of_passing_lets_the_next_pass() {
        let reactor = Reactor::new().unwrap();
        let passed = reactor.block_on(async {
            let mut held = Vec::new();
            for _ in 0..KNOCKING_AT_ONCE {
                held.push(permit().await);
            }
            let (mut first, mut second) = (Box::pin(permit()), Box::pin(permit()));
            std::future::poll_fn(|context| {
                assert!(first.as_mut().poll(context).is_pending());
                assert!(second.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            held.pop();
            drop(first);
            second.await
        });
        drop(passed.unwrap());
    }
}
