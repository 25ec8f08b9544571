//! The minimum work of a client on sockets: a few threads, each with an epoll, and one recv and
//! one send per statement; or, with 0 threads, a thread for each user that blocks in recv, as
//! sysbench does. It sends the same bytes as dyno, from a ring that was built in
//! advance, and reads a reply only to find its end.
//!
//! It omits what dyno adds: random values, building packets, parsing replies, two clock readings
//! and a histogram update per statement, and futures.

use std::future::Future;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rivals::{Conn, Failure, Load, put_execute, report, schedule_as_batch};
use wire::mysql::capability::DEPRECATE_EOF;
use workload::catalog::Label;
use workload::session::{Connections, FailureKind, Param, Reply, Rows, Session, SessionError};
use workload::virtual_user::VirtualUser;

/// Transactions in the ring: enough that users, who start at different positions, use
/// different rows.
const RING_TRANSACTIONS: usize = 4096;
const EVENTS_AT_ONCE: usize = 1024;
const BUFFER_BYTES: usize = 64 * 1024;
/// Offset of the statement's number in an execution: after the header and the command.
const NUMBER: std::ops::Range<usize> = 5..9;

/// The packets of many transactions, one after the other.
#[derive(Default)]
struct Ring {
    bytes: Vec<u8>,
    /// Where each packet starts, and where the last one ends.
    starts: Vec<u32>,
    /// For each packet, whether a transaction starts with it.
    is_first: Vec<bool>,
    numbers: Vec<u32>,
}

impl Ring {
    fn push(&mut self, statement: u32, params: &[Param<'_>]) {
        let number = self.numbers[statement as usize];
        put_execute(&mut self.bytes, number, false, params);
        self.starts.push(self.bytes.len() as u32);
        self.is_first.push(false);
    }

    fn packet(&self, place: usize) -> &[u8] {
        &self.bytes[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    /// Offset of a connection's statement numbers from those of the ring: MariaDB reuses
    /// connection objects and continues their counters.
    fn offset(&self, numbers: &[u32]) -> Result<u32, Failure> {
        let offset = numbers[0].wrapping_sub(self.numbers[0]);
        let differs = |(ring, own): (&u32, &u32)| ring.wrapping_add(offset) != *own;
        match self.numbers.iter().zip(numbers).any(differs) {
            true => Err(format!(
                "the statements' numbers {numbers:?} are not {:?} plus a constant",
                self.numbers
            )
            .into()),
            false => Ok(offset),
        }
    }

    fn len(&self) -> usize {
        self.is_first.len()
    }

    fn next(&self, place: usize) -> usize {
        let next = place + 1;
        if next == self.len() { 0 } else { next }
    }

    fn next_transaction(&self, mut place: usize) -> usize {
        loop {
            place = self.next(place);
            if self.is_first[place] {
                return place;
            }
        }
    }
}

/// A session that passes each statement of a virtual user to a function instead of a server.
struct Memory<F>(F);

impl<F: FnMut(u32, &[Param<'_>])> Session for Memory<F> {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        (self.0)(statement, params);
        Ok(Reply {
            has_result: true,
            rows: 1,
            affected: 1,
        })
    }

    async fn query(&mut self, _label: Label, sql: &str) -> Result<Reply, SessionError> {
        Err(SessionError {
            kind: FailureKind::Refused,
            sqlstate: None,
            number: None,
            message: "only prepared statements can be kept".to_owned(),
            statement: Some(sql.to_owned()),
        })
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        Ok(())
    }
}

impl<F: FnMut(u32, &[Param<'_>])> Connections for Memory<F> {
    async fn open(&mut self) -> Result<u32, SessionError> {
        Ok(0)
    }

    fn select(&mut self, _: u32) {}

    async fn shut(&mut self) {}

    async fn run(&mut self, sql: &str, _: Option<&mut Rows>) -> Result<Reply, SessionError> {
        self.query(Label::default(), sql).await
    }

    async fn pause(&mut self, _: Duration) {}

    fn caught(&mut self, _: &SessionError) {}
}

/// Runs a future that never waits.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a session in memory never waits"),
    }
}

fn ring(load: &Load, numbers: &[u32]) -> Result<Ring, Failure> {
    let mut ring = Ring {
        numbers: numbers.to_vec(),
        starts: vec![0],
        ..Ring::default()
    };
    let mut user = load.user(0)?;
    for _ in 0..RING_TRANSACTIONS {
        let first = ring.len();
        let keep = |statement, params: &[Param<'_>]| ring.push(statement, params);
        at_once(user.transaction(&mut Memory(keep)))?;
        ring.is_first[first] = true;
    }
    Ok(ring)
}

/// The first execution of each statement, which carries the types.
fn types(load: &Load, numbers: &[u32]) -> Result<Vec<Vec<u8>>, Failure> {
    let mut packets = vec![None; numbers.len()];
    let mut user = load.user(1)?;
    while packets.contains(&None) {
        let keep = |statement, params: &[Param<'_>]| {
            let place = statement as usize;
            packets[place].get_or_insert_with(|| {
                let mut out = Vec::new();
                put_execute(&mut out, numbers[place], true, params);
                out
            });
        };
        at_once(user.transaction(&mut Memory(keep)))?;
    }
    Ok(packets.into_iter().flatten().collect())
}

#[derive(PartialEq)]
enum End {
    Done,
    Refused,
    /// Incomplete.
    Open,
}

/// Whether these bytes are a whole reply. One OK or ERR packet is; a result ends
/// with an OK packet of 7 bytes behind 0xfe, which the rows of these workloads
/// (digits and dashes, or one number) cannot imitate.
#[inline]
fn end(bytes: &[u8]) -> End {
    let [a, b, c, _, first, ..] = *bytes else {
        return End::Open;
    };
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    match first {
        0x00 if length + 4 == bytes.len() => End::Done,
        0xff if length + 4 == bytes.len() => End::Refused,
        0x00 | 0xff => End::Open,
        _ => match bytes.last_chunk::<11>() {
            Some([7, 0, 0, _, 0xfe, ..]) => End::Done,
            // A result may also end with an error, which is small and rare.
            _ => End::Open,
        },
    }
}

struct FloorUser {
    stream: TcpStream,
    /// Added to the ring's statement numbers.
    offset: u32,
    /// The packet whose reply is pending.
    place: usize,
    /// The beginning of a reply that arrives in pieces.
    pieces: Vec<u8>,
}

impl FloorUser {
    /// Sends the packet with this connection's number, written into a copy unless it is the
    /// ring's own.
    fn send(&self, ring: &Ring, copy: &mut Vec<u8>) -> Result<(), Failure> {
        let mut packet = ring.packet(self.place);
        if self.offset != 0 {
            copy.clear();
            copy.extend_from_slice(packet);
            if let Some(number) = copy[NUMBER].first_chunk_mut() {
                *number = u32::from_le_bytes(*number)
                    .wrapping_add(self.offset)
                    .to_le_bytes();
            }
            packet = copy;
        }
        // SAFETY: the pointer and length are a live slice's.
        let sent = unsafe {
            libc::send(
                self.stream.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        // A packet is far smaller than a socket's buffer, which is empty here.
        if sent as usize != packet.len() {
            return Err(std::io::Error::last_os_error().into());
        }
        Ok(())
    }

    /// The next packet after one whose reply ended so.
    fn after(&self, ring: &Ring, ended: &End) -> usize {
        match ended {
            // A deadlock rolled back the transaction; continue with the next one.
            End::Refused => ring.next_transaction(self.place),
            End::Done | End::Open => ring.next(self.place),
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<End, Failure> {
        // SAFETY: the pointer and length are a live slice's.
        let got = unsafe {
            libc::recv(
                self.stream.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                0,
            )
        };
        let Ok(got @ 1..) = usize::try_from(got) else {
            return Err(format!("recv: {got}: {}", std::io::Error::last_os_error()).into());
        };
        if !self.pieces.is_empty() {
            self.pieces.extend_from_slice(&buffer[..got]);
            let ended = end(&self.pieces);
            if ended != End::Open {
                self.pieces.clear();
            }
            return Ok(ended);
        }
        let ended = end(&buffer[..got]);
        if ended == End::Open {
            self.pieces.extend_from_slice(&buffer[..got]);
        }
        Ok(ended)
    }
}

fn main() -> Result<(), Failure> {
    let load = Load::from_arguments()?;
    let mut users = Vec::new();
    let mut shared_ring: Option<Ring> = None;
    for _ in 0..load.users {
        let (mut conn, numbers) = Conn::open(&load)?;
        if conn.capabilities & DEPRECATE_EOF == 0 {
            return Err(
                "this server still ends results with EOF packets; floor does not know them".into(),
            );
        }
        let offset = match &shared_ring {
            Some(ring) => ring.offset(&numbers)?,
            None => {
                shared_ring = Some(ring(&load, &numbers)?);
                0
            }
        };
        // Its changes are rolled back.
        let types = types(&load, &numbers)?;
        let mut text = Vec::new();
        wire::mysql::command::query(&mut text, "BEGIN");
        conn.command(&text)?;
        for packet in types {
            conn.command(&packet)?;
        }
        text.clear();
        wire::mysql::command::query(&mut text, "ROLLBACK");
        conn.command(&text)?;
        conn.stream.set_nonblocking(load.threads > 0)?;
        users.push(FloorUser {
            stream: conn.stream,
            offset,
            place: 0,
            pieces: Vec::new(),
        });
    }
    let ring = shared_ring.ok_or("at least one user is needed")?;
    let far = ring.len() / users.len();
    for (number, user) in users.iter_mut().enumerate() {
        user.place = ring.next_transaction(number * far % ring.len());
    }

    let stop = AtomicBool::new(false);
    let (share, drive): (_, Drive) = match load.threads {
        0 => (1, block),
        threads => (users.len().div_ceil(threads), poll),
    };
    let (statements, errors) = std::thread::scope(|scope| {
        let threads: Vec<_> = users
            .chunks_mut(share)
            .map(|users| scope.spawn(|| drive(users, &ring, &stop).map_err(|e| e.to_string())))
            .collect();
        std::thread::sleep(Duration::from_secs_f64(load.seconds));
        stop.store(true, Ordering::Relaxed);
        let mut totals = (0, 0);
        for thread in threads {
            let (statements, errors) = thread.join().map_err(|_| "a thread panicked")??;
            totals = (totals.0 + statements, totals.1 + errors);
        }
        Ok::<_, Failure>(totals)
    })?;
    report(statements, errors, "");
    Ok(())
}

/// Drives users until they are told to stop; returns the numbers of statements and errors.
type Drive = fn(&mut [FloorUser], &Ring, &AtomicBool) -> Result<(u64, u64), Failure>;

/// A thread that has no other user, in the scheduling class of other programs.
fn block(users: &mut [FloorUser], ring: &Ring, stop: &AtomicBool) -> Result<(u64, u64), Failure> {
    let [user] = users else {
        return Err("a thread that blocks has one user".into());
    };
    let (mut copy, mut buffer) = (Vec::new(), vec![0; BUFFER_BYTES]);
    let (mut statements, mut errors) = (0_u64, 0_u64);
    while !(ring.is_first[user.place] && stop.load(Ordering::Relaxed)) {
        user.send(ring, &mut copy)?;
        let ended = loop {
            match user.receive(&mut buffer)? {
                End::Open => {}
                ended => break ended,
            }
        };
        errors += u64::from(ended == End::Refused);
        user.place = user.after(ring, &ended);
        statements += 1;
    }
    Ok((statements, errors))
}

/// A thread that waits for all of its users at once, in the scheduling class of dyno's workers.
fn poll(users: &mut [FloorUser], ring: &Ring, stop: &AtomicBool) -> Result<(u64, u64), Failure> {
    schedule_as_batch();
    // SAFETY: plain system calls; every pointer is to a live value of the right type.
    let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    let mut copy = Vec::new();
    for (number, user) in users.iter_mut().enumerate() {
        let mut event = libc::epoll_event {
            events: (libc::EPOLLIN | libc::EPOLLET) as u32,
            u64: number as u64,
        };
        // SAFETY: as above.
        unsafe {
            libc::epoll_ctl(
                epoll,
                libc::EPOLL_CTL_ADD,
                user.stream.as_raw_fd(),
                &raw mut event,
            )
        };
        user.send(ring, &mut copy)?;
    }
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS_AT_ONCE];
    let mut buffer = vec![0; BUFFER_BYTES];
    let (mut statements, mut errors, mut idle) = (0_u64, 0_u64, 0);
    while idle < users.len() {
        // SAFETY: the pointer and length are a live vector's.
        let count =
            unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), EVENTS_AT_ONCE as i32, -1) };
        for event in &events[..usize::try_from(count).unwrap_or(0)] {
            let user = &mut users[event.u64 as usize];
            let ended = user.receive(&mut buffer)?;
            if ended == End::Open {
                continue;
            }
            errors += u64::from(ended == End::Refused);
            user.place = user.after(ring, &ended);
            statements += 1;
            if ring.is_first[user.place] && stop.load(Ordering::Relaxed) {
                idle += 1;
            } else {
                user.send(ring, &mut copy)?;
            }
        }
    }
    Ok((statements, errors))
}
