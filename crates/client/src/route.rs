//! Which of several servers virtual users connect to.
//!
//! Followers of the servers open and close them while a load runs. Closing a server breaks the
//! connections that users have to it: a hanging server would hold its users forever.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use rustix::net::{Shutdown, shutdown};
use serde::{Deserialize, Serialize};
use slab::Slab;

/// A route as another process can build it, too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RouteCopy {
    open: Vec<bool>,
    turn: usize,
    expects_writes: bool,
    is_list: bool,
}

impl RouteCopy {
    /// Of a fleet, each agent starts with another server, unless all stay with the first.
    pub fn build(&self, agent: usize) -> Route {
        let is_open = |index: usize| self.open[index];
        let mut route = Route::new(self.open.len(), is_open, self.expects_writes);
        let turn = match self.is_list {
            true => self.turn,
            false => self.turn % self.open.len().max(1) + agent,
        };
        route.lock().turn = turn;
        route.is_list = self.is_list;
        route
    }
}

/// The servers that accept a load's connections. Users are spread over those that are open.
#[derive(Debug)]
pub struct Route {
    state: Mutex<State>,
    alerted: Condvar,
    /// Whether a server that refuses writes has lost its role, rather than being unfit for the
    /// load.
    expects_writes: bool,
    /// Whether each server has accepted a write, which proves it fit.
    has_written: Box<[AtomicBool]>,
    /// Whether users stay with one server until it fails, rather than being spread.
    is_list: bool,
}

#[derive(Debug, Default)]
struct State {
    servers: Vec<Server>,
    /// The index of the next connection's server, if that one is open. May exceed the last index.
    turn: usize,
    /// Number of changes of the set of open servers.
    changes: u64,
    alerts: u64,
    /// The wakers of the tasks that wait for a change, by ticket.
    waiting: BTreeMap<u64, Waker>,
    next_ticket: u64,
}

#[derive(Debug, Default)]
struct Server {
    is_open: bool,
    sockets: Slab<RawFd>,
}

impl Route {
    /// A route whose owner opens and closes servers. A server that refuses a write because it is
    /// read-only counts as away, so that its users reconnect, if it has accepted a write before or
    /// `expects_writes` is set.
    pub fn new(servers: usize, is_open: impl Fn(usize) -> bool, expects_writes: bool) -> Self {
        let server = |index| Server {
            is_open: is_open(index),
            sockets: Slab::new(),
        };
        Self {
            state: Mutex::new(State {
                servers: (0..servers).map(server).collect(),
                ..State::default()
            }),
            alerted: Condvar::new(),
            expects_writes,
            has_written: (0..servers).map(|_| AtomicBool::default()).collect(),
            is_list: false,
        }
    }

    /// A route as a connection pool with a list of hosts has it: all users connect to one server,
    /// starting with `first`, until it fails or refuses a write because it is read-only; then they
    /// try the next one in the list. Nobody tells them which one accepts writes.
    pub fn list(servers: usize, first: usize) -> Self {
        let mut route = Self::new(servers, |_| true, true);
        route.lock().turn = first;
        route.is_list = true;
        route
    }

    /// A route to the first server, whatever happens to it.
    pub fn fixed() -> Self {
        Self::new(1, |_| true, false)
    }

    /// Opens the servers for whose index `is_open` is true, and closes the others, whose
    /// connections are shut down.
    pub fn set(&self, is_open: impl Fn(usize) -> bool) {
        let mut state = self.lock();
        let mut has_changed = false;
        for (index, server) in state.servers.iter_mut().enumerate() {
            if server.is_open != is_open(index) {
                server.is_open = !server.is_open;
                has_changed = true;
            }
            if !server.is_open {
                server.shut_down();
            }
        }
        if has_changed {
            state.changes += 1;
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            waiting.into_values().for_each(Waker::wake);
        }
    }

    pub fn copy(&self) -> RouteCopy {
        RouteCopy {
            open: self.open(),
            turn: self.lock().turn,
            expects_writes: self.expects_writes,
            is_list: self.is_list,
        }
    }

    /// Whether each server is open.
    pub fn open(&self) -> Vec<bool> {
        let state = self.lock();
        state.servers.iter().map(|server| server.is_open).collect()
    }

    pub fn is_open(&self, server: usize) -> bool {
        self.lock().is_open(server)
    }

    /// Number of users' connections to a server.
    pub fn connections(&self, server: usize) -> usize {
        let state = self.lock();
        state.servers.get(server).map_or(0, |it| it.sockets.len())
    }

    /// Makes followers probe the servers at once, because a connection has failed.
    pub fn alert(&self) {
        self.lock().alerts += 1;
        self.alerted.notify_all();
    }

    /// Waits until the number of alerts differs from `known`, or for `limit`; returns the number.
    pub fn wait_for_alert(&self, known: u64, limit: Duration) -> u64 {
        let is_known = |state: &mut State| state.alerts == known;
        let waited = self
            .alerted
            .wait_timeout_while(self.lock(), limit, is_known)
            .unwrap_or_else(PoisonError::into_inner);
        waited.0.alerts
    }

    /// Notes that a server failed, could not be connected to, or has lost its role.
    pub(crate) fn failed(&self, server: usize) {
        if self.is_list {
            let mut state = self.lock();
            let count = state.servers.len();
            // Other users may have moved on already.
            if state.turn.checked_rem(count) == Some(server) {
                state.turn = (server + 1) % count;
            }
        }
        self.alert();
    }

    /// The number of the present choice; `None` while no server is open.
    pub(crate) fn choice(&self) -> Option<u64> {
        self.lock().choice()
    }

    /// Waits until the choice differs from `known`.
    pub(crate) async fn changed(&self, known: Option<u64>) {
        let ticket = Ticket::take(self);
        poll_fn(|context| {
            let mut state = self.lock();
            if state.choice() != known {
                return Poll::Ready(());
            }
            let waker = context.waker().clone();
            state.waiting.insert(ticket.number, waker);
            Poll::Pending
        })
        .await;
    }

    pub(crate) async fn closed(&self, server: usize) {
        loop {
            let choice = {
                let state = self.lock();
                if !state.is_open(server) {
                    return;
                }
                state.choice()
            };
            self.changed(choice).await;
        }
    }

    /// The server for the next connection; `None` while none is open.
    pub(crate) fn next(&self) -> Option<usize> {
        let mut state = self.lock();
        let count = state.servers.len();
        let turn = state.turn;
        let mut indexes = (0..count).map(|step| (turn + step) % count);
        let next = indexes.find(|index| state.is_open(*index))?;
        state.turn = if self.is_list { next } else { next + 1 };
        Some(next)
    }

    /// Registers a connection to be shut down when its server is closed; `None` if it is already
    /// closed. The result must be dropped before the socket is closed.
    pub(crate) fn add(self: &Arc<Self>, server: usize, socket: BorrowedFd<'_>) -> Option<Place> {
        let mut state = self.lock();
        let open = state.servers.get_mut(server).filter(|it| it.is_open)?;
        Some(Place {
            key: open.sockets.insert(socket.as_raw_fd()),
            server,
            route: Arc::clone(self),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No holder of the lock leaves the state inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_open(&self, server: usize) -> bool {
        self.servers.get(server).is_some_and(|it| it.is_open)
    }

    fn choice(&self) -> Option<u64> {
        let has_open = self.servers.iter().any(|server| server.is_open);
        has_open.then_some(self.changes)
    }
}

impl Server {
    #[expect(
        unsafe_code,
        reason = "a copy of each descriptor would double the number of open files"
    )]
    fn shut_down(&self) {
        for (_, socket) in &self.sockets {
            // SAFETY: the socket is open, because its place is dropped before it is closed, and
            // dropping the place takes the lock that is held here.
            let socket = unsafe { BorrowedFd::borrow_raw(*socket) };
            // Fails only if the connection is already broken.
            let _ = shutdown(socket, Shutdown::Both);
        }
    }
}

/// A task's place among those that wait for a change of a route. Dropping it leaves the queue, as
/// each login does once it has succeeded.
struct Ticket<'a> {
    route: &'a Route,
    number: u64,
}

impl<'a> Ticket<'a> {
    fn take(route: &'a Route) -> Self {
        let mut state = route.lock();
        state.next_ticket += 1;
        Self {
            route,
            number: state.next_ticket,
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.route.lock().waiting.remove(&self.number);
    }
}

/// A connection that is registered to be shut down when its server is closed. Dropping it
/// unregisters the connection.
#[derive(Debug)]
pub(crate) struct Place {
    route: Arc<Route>,
    server: usize,
    key: usize,
}

impl Place {
    pub(crate) fn failed(&self) {
        self.route.failed(self.server);
    }

    /// Records that the server has accepted a write.
    #[inline]
    pub(crate) fn wrote(&self) {
        if let Some(has_written) = self.route.has_written.get(self.server)
            && !has_written.load(Ordering::Relaxed)
        {
            has_written.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the server has lost its role if it refuses writes.
    pub(crate) fn expects_writes(&self) -> bool {
        let has_written = self.route.has_written.get(self.server);
        self.route.expects_writes || has_written.is_some_and(|it| it.load(Ordering::Relaxed))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.route.lock();
        if let Some(server) = state.servers.get_mut(self.server) {
            server.sockets.try_remove(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use super::*;
    use crate::reactor::{Reactor, timeout};

    fn none(_: usize) -> bool {
        false
    }

    #[test]
    fn users_are_spread_over_the_open_servers() {
        let route = Route::new(3, |_| true, false);
        let next = |count: usize| -> Vec<_> { (0..count).map(|_| route.next()).collect() };
        assert_eq!(next(4), [Some(0), Some(1), Some(2), Some(0)]);
        route.set(|server| server != 1);
        assert_eq!(next(3), [Some(2), Some(0), Some(2)]);
        route.set(none);
        assert_eq!((next(1), route.choice()), (vec![None], None));
    }

    #[test]
    fn users_of_a_list_move_on_together() {
        let route = Route::list(3, 1);
        let next = |count: usize| -> Vec<_> { (0..count).map(|_| route.next()).collect() };
        assert_eq!(next(2), [Some(1), Some(1)]);
        route.failed(1);
        assert_eq!(next(2), [Some(2), Some(2)]);
        // A user that notices the failure of the first server later.
        route.failed(1);
        assert_eq!(next(1), [Some(2)]);
        route.failed(2);
        assert_eq!(next(1), [Some(0)]);
    }

    #[test]
    fn a_closed_server_loses_its_connections_and_accepts_none() {
        let route = Arc::new(Route::new(2, |server| server == 0, true));
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        let place = route.add(0, ours.as_fd()).unwrap();
        assert_eq!(route.connections(0), 1);
        assert!(route.add(1, ours.as_fd()).is_none());
        route.set(|server| server == 1);
        // Would block if the connection were open.
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
        assert!(route.add(0, ours.as_fd()).is_none());
        drop(place);
        assert_eq!(route.connections(0), 0);
    }

    #[test]
    fn a_connection_that_left_is_not_shut_down() {
        let route = Arc::new(Route::fixed());
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(route.add(0, ours.as_fd()).unwrap());
        route.set(none);
        theirs.set_nonblocking(true).unwrap();
        let read = (&theirs).read(&mut [0]).unwrap_err();
        assert_eq!(read.kind(), std::io::ErrorKind::WouldBlock);
    }

    #[test]
    fn waiting_tasks_notice_a_change_by_another_thread() {
        let route = Arc::new(Route::new(2, none, true));
        let remote = Arc::clone(&route);
        let thread = std::thread::spawn(move || {
            // Repeated, because the task may not be waiting yet.
            while remote.lock().waiting.is_empty() {}
            remote.set(|server| server == 1);
            while remote.lock().waiting.is_empty() {}
            remote.set(|server| server == 0);
        });
        let waited = async {
            route.changed(None).await;
            let next = route.next();
            route.closed(1).await;
            (next, route.next())
        };
        let waited = Reactor::new().unwrap().block_on(waited).unwrap();
        assert_eq!(waited, (Some(1), Some(0)));
        thread.join().unwrap();
        assert!(route.lock().waiting.is_empty());
    }

    #[test]
    fn a_task_that_no_longer_waits_is_forgotten() {
        let route = Route::fixed();
        let choice = route.choice();
        let limit = Duration::from_millis(1);
        let wait = timeout(limit, route.changed(choice));
        assert_eq!(Reactor::new().unwrap().block_on(wait).unwrap(), None);
        assert!(route.lock().waiting.is_empty());
    }

    #[test]
    fn an_alert_ends_the_wait_for_it() {
        let route = Route::fixed();
        assert_eq!(route.wait_for_alert(0, Duration::ZERO), 0);
        route.alert();
        let begun = Instant::now();
        assert_eq!(route.wait_for_alert(0, Duration::from_secs(600)), 1);
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}
