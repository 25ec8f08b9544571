//! Shared by the rivals: arguments, blocking logins, and the scheduling class of dyno's workers.

use std::io::{Read, Write};
use std::net::TcpStream;

use wire::Value;
use wire::gather::Gatherer;
use wire::mysql::command;
use wire::mysql::handshake::{Greeting, Login, Next};
use wire::mysql::packet::Message;
use wire::mysql::reply::{Reply, ReplyReader};
use workload::built_in::{BuiltIn, BuiltInUser};
use workload::name::WorkloadName;
use workload::options::{Data, Options};
use workload::session::Param;
use workload::virtual_user::Workload;

pub type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "usage: PROGRAM HOST:PORT USER WORKLOAD USERS SECONDS TABLES ROWS [THREADS]
  the account has no password; the database is sbtest and holds TABLES tables of ROWS rows
  THREADS defaults to 1; only floor uses it, and takes 0 for a thread that blocks for each user
  WORKLOAD may not be bulk_insert: only prepared statements are measured";

/// The load to drive.
pub struct Load {
    pub address: String,
    pub account: String,
    pub users: u32,
    pub seconds: f64,
    pub threads: usize,
    pub workload: BuiltIn,
}

impl Load {
    pub fn from_arguments() -> Result<Self, Failure> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let (arguments, threads) = match arguments.as_slice() {
            [most @ .., threads] if most.len() == 7 => (most, threads.parse()?),
            all => (all, 1),
        };
        let [address, account, workload, users, seconds, tables, rows] = arguments else {
            return Err(USAGE.into());
        };
        let workload: WorkloadName = workload.parse()?;
        if workload == WorkloadName::BulkInsert {
            return Err(USAGE.into());
        }
        let options = Options {
            data: Data {
                tables: tables.parse()?,
                rows: rows.parse()?,
                ..Data::default()
            },
            ..Options::default()
        };
        let users = users.parse()?;
        Ok(Self {
            address: address.clone(),
            account: account.clone(),
            users,
            seconds: seconds.parse()?,
            threads,
            workload: BuiltIn::new(workload, &options, &client::mysql::DIALECT, 1, users)?,
        })
    }

    /// The virtual user with this number.
    pub fn user(&self, index: u32) -> Result<BuiltInUser, Failure> {
        let mut users = self.workload.users(index..index + 1)()?;
        users.pop().ok_or_else(|| "there is no such user".into())
    }
}

/// A blocking connection, for everything before the load.
pub struct Conn {
    pub stream: TcpStream,
    pub capabilities: u64,
    reader: ReplyReader,
}

impl Conn {
    /// Connects, logs in without a password, and prepares every statement; also returns their
    /// numbers.
    pub fn open(load: &Load) -> Result<(Self, Vec<u32>), Failure> {
        let mut stream = TcpStream::connect(&load.address)?;
        stream.set_nodelay(true)?;
        let mut gatherer = Gatherer::new(1 << 20);
        let message = next_message(&mut stream, &mut gatherer)?;
        let greeting = Greeting::parse(&message.payload)?.map_err(|e| format!("{e:?}"))?;
        let login = Login {
            user: &load.account,
            database: "sbtest",
            tls: false,
        };
        let mut out = Vec::new();
        let plugin = "mysql_native_password";
        login.response(&mut out, message.sequence + 1, &greeting, plugin, &[]);
        stream.write_all(&out)?;
        let answer = Next::parse(&next_message(&mut stream, &mut gatherer)?.payload)?;
        if answer != Next::Ready {
            return Err(
                format!("the login needs an account without a password: {answer:?}").into(),
            );
        }
        let capabilities = login.capabilities(&greeting);
        let mut conn = Self {
            stream,
            capabilities,
            reader: ReplyReader::new(capabilities),
        };
        let mut numbers = Vec::new();
        for statement in &load.workload.catalog().statements {
            out.clear();
            command::prepare(&mut out, &statement.sql);
            conn.reader.expect_prepared(1);
            match conn.exchange(&out)? {
                Reply::Prepared(number) => numbers.push(number),
                other => return Err(format!("{}: {other:?}", statement.sql).into()),
            }
        }
        Ok((conn, numbers))
    }

    /// Sends a command and returns the server's reply, which may be an error.
    pub fn command(&mut self, packet: &[u8]) -> Result<Reply, Failure> {
        self.reader.expect_result(1);
        self.exchange(packet)
    }

    fn exchange(&mut self, packet: &[u8]) -> Result<Reply, Failure> {
        self.stream.write_all(packet)?;
        let mut buffer = [0; 16 * 1024];
        loop {
            let length = self.stream.read(&mut buffer)?;
            if length == 0 {
                return Err("the server closed the connection".into());
            }
            if let Some(reply) = self.reader.feed(&buffer[..length])? {
                return Ok(reply);
            }
        }
    }
}

fn next_message(stream: &mut TcpStream, gatherer: &mut Gatherer) -> Result<Message, Failure> {
    loop {
        if let Some(message) = gatherer.take_message()? {
            return Ok(message);
        }
        let mut buffer = [0; 4096];
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Err("the server closed the connection during the login".into());
        }
        gatherer.push(&buffer[..length]);
    }
}

/// The execution of a prepared statement, as dyno sends it.
pub fn put_execute(out: &mut Vec<u8>, number: u32, with_types: bool, params: &[Param<'_>]) {
    let values = params.iter().map(|param| match param {
        Param::Int(number) => Value::Int(*number),
        Param::Text(text) => Value::Text(text),
        Param::Double(number) => Value::Double(*number),
        Param::Null => Value::Null,
    });
    command::execute(out, number, with_types, values);
}

/// Sets the calling thread's scheduling class to SCHED_BATCH, as for dyno's workers.
pub fn schedule_as_batch() {
    // SAFETY: sched_param is plain data for which zeroes are valid; the pointer
    // to it is valid for the length of the call.
    unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters);
    }
}

/// Prints the result of a run. The CPU times are those of the whole process, including logins;
/// to measure a window of the load, read them from outside.
pub fn report(statements: u64, errors: u64, detail: &str) {
    // SAFETY: getrusage only writes the struct, for which zeroes are valid.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    println!(
        "statements {statements} errors {errors} user_s {:.2} system_s {:.2}{detail}",
        seconds(usage.ru_utime),
        seconds(usage.ru_stime),
    );
}
