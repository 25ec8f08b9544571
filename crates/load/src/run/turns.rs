//! A load that takes turns with others: its blocks.

use measure::slice::Phase;

use super::{Load, MS_NS, POLL_INTERVAL_NS};
use crate::clock::ns;
use crate::outcome::LoadEvent;
use crate::runtime::Runtime;
use crate::stop::Stop;
use crate::turns::{Next, Seat, Window};

impl<R: Runtime> Load<'_, R> {
    /// Runs whenever it is the load's turn, until the schedule is over.
    pub(super) fn take_turns(&mut self, stop: &Stop, on_event: &mut dyn FnMut(LoadEvent)) {
        while !self.is_over(stop) {
            match self.next_turn() {
                Next::Over => return,
                Next::Wait => self.await_turn(),
                Next::Run(window) => {
                    self.control.open_gate();
                    self.block(window, stop, on_event);
                    self.control.close_gate();
                    if !self.drain_block(stop) {
                        return;
                    }
                    self.seat.iter().for_each(Seat::pass);
                }
            }
        }
    }

    fn next_turn(&self) -> Next {
        let seat = self.seat.as_ref();
        seat.map_or(Next::Over, |seat| seat.next(|| self.now_ns()))
    }

    fn await_turn(&mut self) {
        let until_ns = self.now_ns() + POLL_INTERVAL_NS;
        let (control, seat) = (&self.control, self.seat.as_ref());
        self.runtime.wait(control, until_ns, || {
            let is_waiting = |seat: &Seat| seat.is_waiting();
            control.failure().is_some() || !seat.is_some_and(is_waiting)
        });
    }

    /// Reports the counted part of a block as one second. What is recorded before and after it is
    /// left out.
    fn block(&mut self, window: Window, stop: &Stop, on_event: &mut dyn FnMut(LoadEvent)) {
        self.run_until(window.start_ns, stop);
        if self.is_over(stop) {
            return;
        }
        self.leave_out();
        self.run_until(window.end_ns, stop);
        let second = self.cut(window.phase);
        on_event(LoadEvent::Second(Box::new(second)));
    }

    /// Waits until `until_ns`, or until the load is over.
    fn run_until(&mut self, until_ns: u64, stop: &Stop) {
        while self.now_ns() < until_ns && !self.is_over(stop) {
            let wake_ns = until_ns.min(self.now_ns() + POLL_INTERVAL_NS);
            let control = &self.control;
            self.runtime.wait(control, wake_ns, || {
                control.have_all_ended() || control.failure().is_some()
            });
        }
    }

    /// Waits for the running transactions of a block. Returns false if the load must end instead.
    fn drain_block(&mut self, stop: &Stop) -> bool {
        let deadline_ns = self.now_ns().saturating_add(ns(self.spec.stall_limit));
        while self.running().next().is_some() {
            let now_ns = self.now_ns();
            self.is_stalled = now_ns >= deadline_ns || self.lost(now_ns).is_some();
            if self.is_over(stop) {
                return false;
            }
            // Users do not notify this thread.
            let until_ns = now_ns + MS_NS;
            self.runtime.wait(&self.control, until_ns, || false);
        }
        self.leave_out();
        true
    }

    /// Discards what was recorded since the last cut.
    fn leave_out(&mut self) {
        drop(self.cut(Phase::Drain));
    }
}
