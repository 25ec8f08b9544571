//! Loop devices: block devices backed by files.
//!
//! The kernel detaches a loop device when its last user closes it, so none outlives dyno unless it
//! is mounted.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, Setter, ioctl};

use crate::failure::Failure;
use crate::tool::{no_volume, shown};

/// The file that allocates free devices.
const CONTROL: &str = "/dev/loop-control";
/// Requests of `linux/loop.h`.
const CONFIGURE: Opcode = 0x4C0A;
const SET_STATUS: Opcode = 0x4C04;
const GET_FREE: Opcode = 0x4C82;
/// Detach on last close, and bypass the page cache, since the file system below caches already.
const AUTO_CLEAR: u32 = 4;
const DIRECT_IO: u32 = 16;
/// The kernel's limit of a device's file name.
const NAME_BYTES: usize = 64;
/// How many times another program may take the free device first.
const TRIES: u32 = 100;

/// A loop device, detached when this value is dropped unless something still uses it.
#[derive(Debug)]
pub(crate) struct LoopDevice {
    /// Keeps the device attached.
    device: File,
    path: PathBuf,
    file: PathBuf,
}

/// The layout of the kernel's `struct loop_info64`; what dyno does not set is zero.
#[repr(C)]
struct Info {
    /// Device, inode, device number, and offset.
    place: [u64; 4],
    size_limit: u64,
    /// Number, and kind and key size of an encryption.
    kind: [u32; 3],
    flags: u32,
    file_name: [u8; NAME_BYTES],
    /// Name and key of an encryption, and reserved bytes.
    rest: [u8; 112],
}

/// The layout of the kernel's `struct loop_config`.
#[repr(C)]
struct Config {
    file: i32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// An ioctl whose return value is the device's number.
struct GetFree;

#[expect(
    unsafe_code,
    reason = "neither std nor rustix has this request, which reads and writes no memory"
)]
// SAFETY: LOOP_CTL_GET_FREE has no argument; the kernel only returns a number.
unsafe impl Ioctl for GetFree {
    type Output = i32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        GET_FREE
    }

    fn as_ptr(&mut self) -> *mut rustix::ffi::c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(
        output: IoctlOutput,
        _: *mut rustix::ffi::c_void,
    ) -> rustix::io::Result<i32> {
        Ok(output)
    }
}

impl LoopDevice {
    /// Attaches a file to a free device.
    pub(crate) fn attach(file: &Path) -> Result<Self, Failure> {
        let backing = OpenOptions::new().read(true).write(true).open(file);
        let backing = backing.map_err(Failure::at("open", file))?;
        for _ in 0..TRIES {
            let path = free().map_err(no_loop)?;
            let device = open(&path).map_err(no_loop)?;
            match configure(&device, &backing, &name_of(file)) {
                Ok(()) => {
                    return Ok(Self {
                        device,
                        path,
                        file: file.to_owned(),
                    });
                }
                Err(Errno::BUSY) => {}
                Err(error) => return Err(no_loop(error.into())),
            }
        }
        Err(no_loop(io::Error::other(
            "other programs take each free device",
        )))
    }

    /// Makes the device fail requests beyond its first `bytes`, even while in use; 0 removes the
    /// limit. Returns when it did.
    pub(crate) fn limit(&self, bytes: u64) -> Result<Instant, Failure> {
        let limited = set_status(&self.device, info(bytes, &name_of(&self.file)));
        limited.map_err(Failure::at("change the size of", &self.path))?;
        Ok(Instant::now())
    }

    pub(crate) fn numbers(&self) -> Result<(u32, u32), Failure> {
        let state = rustix::fs::fstat(&self.device);
        let state = state.map_err(Failure::at("examine", &self.path))?;
        let device = state.st_rdev;
        Ok((rustix::fs::major(device), rustix::fs::minor(device)))
    }

    /// Detaches the device and removes its file.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        fs::remove_file(&self.file).map_err(Failure::at("remove", &self.file))
    }

    /// For example `/dev/loop3`.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The name that tools such as `losetup` show.
fn name_of(file: &Path) -> String {
    format!("dyno {}", shown(file))
}

/// Finds a device that nothing uses.
#[expect(
    unsafe_code,
    reason = "neither std nor rustix has this request, which reads and writes no memory"
)]
fn free() -> io::Result<PathBuf> {
    let control = OpenOptions::new().read(true).write(true).open(CONTROL)?;
    // SAFETY: see `GetFree`.
    let number = unsafe { ioctl(&control, GetFree)? };
    Ok(PathBuf::from(format!("/dev/loop{number}")))
}

fn open(path: &Path) -> io::Result<File> {
    let device = OpenOptions::new().read(true).write(true).open(path)?;
    match device.metadata()?.file_type().is_block_device() {
        true => Ok(device),
        false => Err(io::Error::other(format!(
            "{} is no block device",
            path.display()
        ))),
    }
}

fn info(size_limit: u64, name: &str) -> Info {
    let mut file_name = [0; NAME_BYTES];
    // The last byte terminates the name.
    for (to, from) in file_name[..NAME_BYTES - 1].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    Info {
        place: [0; 4],
        size_limit,
        kind: [0; 3],
        flags: AUTO_CLEAR,
        file_name,
        rest: [0; 112],
    }
}

/// Attaches the file, bypassing the page cache if its file system supports that.
fn configure(device: &File, backing: &File, name: &str) -> rustix::io::Result<()> {
    match configure_with(device, backing, name, AUTO_CLEAR | DIRECT_IO) {
        Err(Errno::INVAL) => configure_with(device, backing, name, AUTO_CLEAR),
        configured => configured,
    }
}

#[expect(
    unsafe_code,
    reason = "neither std nor rustix has this request; the call only reads a structure"
)]
fn configure_with(device: &File, backing: &File, name: &str, flags: u32) -> rustix::io::Result<()> {
    let config = Config {
        file: backing.as_raw_fd(),
        block_size: 0,
        info: Info {
            flags,
            ..info(0, name)
        },
        reserved: [0; 8],
    };
    // SAFETY: LOOP_CONFIGURE reads a `struct loop_config`, whose layout the type has.
    unsafe { ioctl(device, Setter::<CONFIGURE, _>::new(config)) }
}

#[expect(
    unsafe_code,
    reason = "neither std nor rustix has this request; the call only reads a structure"
)]
fn set_status(device: &File, info: Info) -> rustix::io::Result<()> {
    // SAFETY: LOOP_SET_STATUS64 reads a `struct loop_info64`, whose layout the type has.
    unsafe { ioctl(device, Setter::<SET_STATUS, _>::new(info)) }
}

fn no_loop(error: io::Error) -> Failure {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "run dyno as root (a container needs --privileged, or the loop devices), or remove \
             `filesystem`"
        }
        io::ErrorKind::NotFound => {
            "load the kernel's module (modprobe loop); in a container, give it /dev/loop-control \
             and /dev/loop*"
        }
        _ => "detach loop devices that nothing needs (losetup -a lists them)",
    };
    no_volume(format!("cannot attach a loop device: {error}"), remedy)
}
