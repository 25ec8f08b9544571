//! The test files: creating, opening, and removing them.
//!
//! Their names are known and anybody may write to their directory, so what another account put
//! there is neither followed nor written.

use std::fmt;
use std::fs::{File, OpenOptions, remove_file};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Instant;

use rustix::process::geteuid;

use super::schedule::{Layout, Mode};
use super::{block, buffer};
use crate::native::random::Random;
use crate::native::{NativeError, choose};

/// Flags for open(2): their names on the command line and in sysbench's output, and their values.
const EXTRA_FLAGS: [(&str, (&str, i32)); 3] = [
    ("sync", ("sync", libc::O_SYNC)),
    ("dsync", ("dsync", libc::O_DSYNC)),
    ("direct", ("directio", libc::O_DIRECT)),
];

const NOT_PREPARED: &str = "Did you forget to run the prepare step?";
const OTHERWISE_PREPARED: &str =
    "Did you run 'prepare' with different --file-total-size or --file-num values?";

/// Flags for open(2). Their text is what sysbench prints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtraFlags {
    words: Vec<&'static str>,
    bits: i32,
}

impl ExtraFlags {
    /// Reads `--file-extra-flags`. Fails on an unknown name.
    pub fn parse<T: AsRef<str>>(names: &[T]) -> Result<Self, NativeError> {
        let mut flags = Self::default();
        for name in names {
            let (word, bits) = choose("file-extra-flags", name.as_ref(), &EXTRA_FLAGS)?;
            flags.words.push(word);
            flags.bits |= bits;
        }
        Ok(flags)
    }
}

impl fmt::Display for ExtraFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.words.is_empty() {
            true => f.write_str("(none)"),
            false => f.write_str(&self.words.join(" ")),
        }
    }
}

/// The files `test_file.0`, `test_file.1`, … of a directory.
#[derive(Debug, Clone)]
pub struct FileSet {
    pub directory: PathBuf,
    pub files: u32,
    pub block_bytes: u64,
    /// Of all files together.
    pub total_bytes: u64,
    pub extra_flags: ExtraFlags,
    /// Whether each block has a checksum.
    pub validate: bool,
}

impl FileSet {
    /// Creates the files, or extends them. `line` receives what sysbench prints.
    pub fn prepare(&self, line: &mut dyn FnMut(&str)) -> Result<(), NativeError> {
        let started = Instant::now();
        let layout = self.layout()?;
        let (file_kib, total_mib) = (layout.file_bytes >> 10, layout.total_bytes() >> 20);
        line(&format!("{} files, {file_kib}Kb each, {total_mib}Mb total", self.files));
        line("Creating files for the test...");
        line(&format!("Extra file open flags: {}", self.extra_flags));
        let mut written = 0;
        for index in 0..self.files {
            written += self.create(index, layout.file_bytes, line)?;
        }
        let seconds = started.elapsed().as_secs_f64();
        let mib_per_s = written as f64 / f64::from(1 << 20) / seconds;
        match written {
            0 => line("No bytes written."),
            _ => line(&format!(
                "{written} bytes written in {seconds:.2} seconds ({mib_per_s:.2} MiB/sec)."
            )),
        }
        Ok(())
    }

    /// Removes the files that exist.
    pub fn cleanup(&self, line: &mut dyn FnMut(&str)) -> Result<(), NativeError> {
        line("Removing test files...");
        (0..self.files).try_for_each(|index| self.remove(index))
    }

    /// Fails if a size or the number of files is 0.
    pub(crate) fn layout(&self) -> Result<Layout, NativeError> {
        let file_bytes = self.total_bytes.checked_div(self.files.into());
        let (option, value) = match file_bytes {
            None => ("file-num", 0),
            Some(0) => ("file-total-size", self.total_bytes),
            Some(_) if self.block_bytes == 0 => ("file-block-size", 0),
            Some(file_bytes) => {
                return Ok(Layout {
                    files: self.files,
                    file_bytes,
                    request_bytes: self.block_bytes,
                });
            }
        };
        Err(NativeError::invalid(option, value))
    }

    /// Opens a file of at least this size for a run; [`Mode::SequentialWrite`] starts with an empty
    /// one.
    pub(crate) fn open(&self, index: u32, mode: Mode, bytes: u64) -> Result<File, NativeError> {
        if mode == Mode::SequentialWrite {
            self.remove(index)?;
            let created = self.open_own(index, true);
            return created.map(|(file, _)| file).map_err(failed("create", index));
        }
        let opened = self.open_own(index, false).map_err(failed("open", index));
        let (file, found) = opened.map_err(|failure| failure.with_hint(NOT_PREPARED))?;
        if found >= bytes {
            return Ok(file);
        }
        let (name, is, least) = (name(index), size(found), size(bytes));
        let message = format!("Size of file '{name}' is {is}, but at least {least} is expected.");
        Err(NativeError::new(message).with_hint(OTHERWISE_PREPARED))
    }

    /// Returns the file and its size.
    fn open_own(&self, index: u32, create: bool) -> io::Result<(File, u64)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create).truncate(false);
        options.mode(0o600);
        options.custom_flags(libc::O_NOFOLLOW | self.extra_flags.bits);
        let file = options.open(self.path(index))?;
        let found = file.metadata()?;
        let is_own = found.is_file() && found.uid() == geteuid().as_raw();
        match is_own && found.nlink() == 1 {
            true => Ok((file, found.len())),
            false => Err(io::Error::other("Not a file of this user, or a hard link")),
        }
    }

    /// Returns the number of bytes that were written.
    fn create(
        &self,
        index: u32,
        bytes: u64,
        line: &mut dyn FnMut(&str),
    ) -> Result<u64, NativeError> {
        let created = self.open_own(index, true);
        let (file, found) = created.map_err(failed("create", index))?;
        let action = match found {
            0 => "Creating",
            found if found < bytes => "Extending existing",
            _ => "Reusing existing",
        };
        line(&format!("{action} file {}", name(index)));
        self.extend(&file, found, bytes).map_err(failed("write", index))
    }

    fn extend(&self, file: &File, from: u64, to: u64) -> io::Result<u64> {
        // Checksums are of whole blocks.
        let start = if from < to { from - from % self.block_bytes } else { to };
        let (mut offset, mut random) = (start, Random::new(start, 0));
        let mut buffer = buffer(self.block_bytes.min(to))?;
        while offset < to {
            let block = buffer.bytes(self.block_bytes.min(to - offset) as usize);
            if self.validate {
                block::fill(block, offset, self.block_bytes, &mut random);
            }
            file.write_all_at(block, offset)?;
            offset += block.len() as u64;
        }
        file.sync_all()?;
        Ok(to - start)
    }

    fn remove(&self, index: u32) -> Result<(), NativeError> {
        match remove_file(self.path(index)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", index)(error))
            }
            _ => Ok(()),
        }
    }

    fn path(&self, index: u32) -> PathBuf {
        self.directory.join(name(index))
    }
}

fn name(index: u32) -> String {
    format!("test_file.{index}")
}

fn failed(verb: &'static str, index: u32) -> impl Fn(io::Error) -> NativeError {
    move |error| NativeError::system(format!("Cannot {verb} file '{}'", name(index)), error)
}

/// A size as sysbench prints it: at most five digits, and a binary unit.
fn size(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value >= 1024.0 {
            (value, unit) = (value / 1024.0, larger);
        }
    }
    let scale = 10_f64.powi(4 - value.max(1.0).log10() as i32);
    format!("{}{unit}", (value * scale).round() / scale)
}
