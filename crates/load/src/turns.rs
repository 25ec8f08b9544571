//! A limit on how many tasks do something at once.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Lets so many tasks of one thread pass at once.
#[derive(Debug)]
pub(crate) struct Turns {
    free: Cell<u32>,
    waiting: RefCell<VecDeque<Waker>>,
}

pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    pub(crate) fn new(at_once: u32) -> Self {
        Self {
            free: Cell::new(at_once.max(1)),
            waiting: RefCell::default(),
        }
    }

    pub(crate) async fn enter(&self) -> Turn<'_> {
        poll_fn(|context| {
            if self.free.get() == 0 {
                self.waiting.borrow_mut().push_back(context.waker().clone());
                return Poll::Pending;
            }
            self.free.set(self.free.get() - 1);
            Poll::Ready(())
        })
        .await;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.free.set(self.0.free.get() + 1);
        if let Some(waker) = self.0.waiting.borrow_mut().pop_front() {
            waker.wake();
        }
    }
}
