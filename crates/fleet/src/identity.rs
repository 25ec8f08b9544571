//! Who a process of a fleet is.

use std::fs::File;
use std::io;
use std::num::NonZero;
use std::thread::available_parallelism;

use plan::Failure;
use sha2::{Digest, Sha256};

use crate::key::unique;
use crate::message::Identity;

const EXECUTABLE: &str = "/proc/self/exe";
/// Digits of a program's digest that tell its builds apart.
const BUILD_DIGITS: usize = 12;

impl Identity {
    /// This process, with the version of its program.
    pub fn of_this_process(label: &str, version: &str) -> Result<Self, Failure> {
        let cpus = available_parallelism().map_or(1, NonZero::get);
        Ok(Self {
            label: label.to_owned(),
            id: unique()?,
            build: format!("{version}+{}", build()?),
            architecture: std::env::consts::ARCH.to_owned(),
            cpus: cpus as u32,
            machine: machine(),
            network: network(),
            process: std::process::id(),
        })
    }
}

/// A digest of the running program: processes of a fleet exchange data in a form that belongs to it.
fn build() -> Result<String, Failure> {
    let failed = Failure::at("read", EXECUTABLE);
    let mut digest = Sha256::new();
    let mut file = File::open(EXECUTABLE).map_err(failed)?;
    io::copy(&mut file, &mut digest).map_err(failed)?;
    Ok(format!("{:.BUILD_DIGITS$x}", digest.finalize()))
}

fn machine() -> String {
    let files = ["/proc/sys/kernel/random/boot_id", "/etc/machine-id"];
    let mut read = files.iter().map(std::fs::read_to_string);
    let known = read.find_map(Result::ok).unwrap_or_default();
    known.trim().to_owned()
}

fn network() -> String {
    let namespace = std::fs::read_link("/proc/self/ns/net");
    namespace.map_or_else(|_| String::new(), |link| link.display().to_string())
}
