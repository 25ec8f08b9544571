//! The test files: creating, opening, and removing them.
//!
//! Their names are known and anybody may write to their directory, so what another account put
//! there is neither followed nor written.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{Error, ErrorKind, Result as IoResult};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Instant;

use rustix::process::geteuid;

use super::block;
use super::schedule::Layout;
use crate::native::failed;
use crate::native::region::{self, FileMap};
use crate::options::{OptionError, Values, meaning};
use crate::report::prefixed;

/// Flags for open(2): what they are called in an option and in sysbench's output, and their bits.
const FLAGS: [(&str, (&str, i32)); 3] = [
    ("sync", ("sync ", libc::O_SYNC)),
    ("dsync", ("dsync ", libc::O_DSYNC)),
    ("direct", ("directio", libc::O_DIRECT)),
];
const NOT_PREPARED: &str = "\nWARNING: Did you forget to run the prepare step?";
const OTHERWISE_PREPARED: &str =
    "\nWARNING: Did you run 'prepare' with different --file-total-size or --file-num values?";

/// The files `test_file.0`, `test_file.1`, … in the current directory.
pub struct FileSet {
    pub(super) directory: PathBuf,
    /// Requests are of one block.
    pub(super) layout: Layout,
    /// Whether each block has a checksum.
    pub(super) validate: bool,
    flags: Vec<(&'static str, i32)>,
}

impl FileSet {
    /// Reads the options, unless one is out of range.
    pub fn new(values: &Values) -> Result<Self, OptionError> {
        let files = values.within("file-num", 1..=u32::MAX)?;
        let layout = Layout {
            files,
            file_bytes: values.size("file-total-size") / u64::from(files),
            request_bytes: values.size("file-block-size"),
        };
        if layout.file_bytes == 0 {
            return Err(values.invalid("file-total-size"));
        }
        if layout.request_bytes == 0 {
            return Err(values.invalid("file-block-size"));
        }
        let flags = values.list("file-extra-flags");
        let flags = flags.iter().map(|flag| meaning(flag, &FLAGS));
        let flags = flags.collect::<Option<_>>();
        Ok(Self {
            directory: PathBuf::new(),
            layout,
            validate: values.bool("validate"),
            flags: flags.ok_or_else(|| values.invalid("file-extra-flags"))?,
        })
    }

    /// The flags for opening the files, in sysbench's words.
    pub fn open_flags(&self) -> String {
        let given = FLAGS.iter().filter(|(_, flag)| self.flags.contains(flag));
        let words: String = given.map(|(_, (word, _))| *word).collect();
        match words.as_str() {
            "" => "(none)".to_owned(),
            _ => words,
        }
    }

    /// Creates the files, or extends them. `line` receives what sysbench prints.
    pub fn prepare(&self, line: &mut dyn FnMut(&str)) -> Result<(), OptionError> {
        let (started, layout) = (Instant::now(), self.layout);
        let (file_kib, total_mib) = (layout.file_bytes >> 10, layout.total_bytes() >> 20);
        let files = layout.files;
        line(&format!(
            "{files} files, {file_kib}Kb each, {total_mib}Mb total"
        ));
        line("Creating files for the test...");
        line(&format!("Extra file open flags: {}", self.open_flags()));
        let buffer = region::buffer(layout.request_bytes.min(layout.file_bytes) as usize);
        let buffer = buffer.map_err(|error| cannot("write", 0, &error))?;
        let mut written = 0;
        for file in 0..files {
            written += self.create(file, buffer, line)?;
        }
        let seconds = started.elapsed().as_secs_f64();
        let mib_per_s = written as f64 / f64::from(1 << 20) / seconds;
        line(&match written {
            0 => "No bytes written.".to_owned(),
            _ => {
                format!("{written} bytes written in {seconds:.2} seconds ({mib_per_s:.2} MiB/sec).")
            }
        });
        Ok(())
    }

    /// Removes the files that exist.
    pub fn cleanup(&self, line: &mut dyn FnMut(&str)) -> Result<(), OptionError> {
        line("Removing test files...");
        (0..self.layout.files).try_for_each(|file| self.remove(file))
    }

    /// Opens a file for a run, which creates it or expects it to be prepared.
    pub(super) fn open(
        &self,
        file: u32,
        creates: bool,
        is_mapped: bool,
    ) -> Result<(File, Option<FileMap>), OptionError> {
        if creates {
            self.remove(file)?;
        }
        let (opened, found) = self.open_own(file, creates)?;
        let bytes = self.layout.file_bytes;
        if !creates && found < bytes {
            let [found, least] = [found, bytes].map(|bytes| prefixed(bytes as f64, "i"));
            let name = name(file);
            let message =
                format!("Size of file '{name}' is {found}B, but at least {least}B is expected.");
            return Err(OptionError::fatal(message + OTHERWISE_PREPARED));
        }
        let map = is_mapped.then(|| FileMap::new(&opened, bytes));
        let map = map
            .transpose()
            .map_err(|error| cannot("map", file, &error))?;
        Ok((opened, map))
    }

    /// Opens a file, or creates one unless it exists. Returns its size too.
    fn open_own(&self, file: u32, creates: bool) -> Result<(File, u64), OptionError> {
        let bits = self.flags.iter().fold(0, |bits, (_, bit)| bits | bit);
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        options.create(creates).truncate(false).mode(0o600);
        options.custom_flags(libc::O_NOFOLLOW | bits);
        let opened = options.open(self.path(file)).and_then(|file| {
            let found = file.metadata()?;
            let is_own = found.is_file() && found.uid() == geteuid().as_raw();
            match is_own && found.nlink() == 1 {
                true => Ok((file, found.len())),
                false => Err(Error::other("Not a file of this user, or a hard link")),
            }
        });
        let verb = if creates { "create" } else { "open" };
        opened.map_err(|error| cannot(verb, file, &error))
    }

    /// Returns the number of bytes that were written.
    fn create(
        &self,
        file: u32,
        buffer: &mut [u8],
        line: &mut dyn FnMut(&str),
    ) -> Result<u64, OptionError> {
        let (created, found) = self.open_own(file, true)?;
        let (bytes, block_bytes) = (self.layout.file_bytes, self.layout.request_bytes);
        let (action, start) = match found {
            0 => ("Creating", 0),
            // Checksums are of whole blocks.
            _ if found < bytes => ("Extending existing", found - found % block_bytes),
            _ => ("Reusing existing", bytes),
        };
        line(&format!("{action} file {}", name(file)));
        let written = self.write(&created, start, buffer);
        written.map_err(|error| cannot("write", file, &error))?;
        Ok(bytes - start)
    }

    /// Writes the blocks from this offset on. `buffer` has room for one.
    fn write(&self, file: &File, start: u64, buffer: &mut [u8]) -> IoResult<()> {
        let block_bytes = self.layout.request_bytes as usize;
        for offset in (start..self.layout.file_bytes).step_by(block_bytes) {
            let (block, _) = buffer.split_at_mut(self.layout.at(offset).bytes);
            if self.validate {
                block::fill(block, offset, block_bytes);
            }
            file.write_all_at(block, offset)?;
        }
        file.sync_all()
    }

    fn remove(&self, file: u32) -> Result<(), OptionError> {
        match remove_file(self.path(file)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(cannot("remove", file, &error))
            }
            _ => Ok(()),
        }
    }

    fn path(&self, file: u32) -> PathBuf {
        self.directory.join(name(file))
    }
}

fn name(file: u32) -> String {
    format!("test_file.{file}")
}

fn cannot(verb: &str, file: u32, error: &Error) -> OptionError {
    let message = failed(format!("Cannot {verb} file '{}'", name(file)), error);
    let hint = if verb == "open" { NOT_PREPARED } else { "" };
    OptionError::fatal(message + hint)
}
