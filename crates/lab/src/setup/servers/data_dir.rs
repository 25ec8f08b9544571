//! The directory of a server, with its data.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::{LogEntries, Paths, Server};
use host::{Files, device};
use ipnet::Ipv4Net;
use measure::instance::Space;
use plan::FaultVolume;

use crate::copy::{Copied, copy_dir, copy_entries};
use crate::failure::{Failure, of_log};
use crate::home::Home;
use crate::home::outside::own_prefix;
use crate::home::scheduler::Scheduler;
use crate::site::Site;
use crate::tree::{self, OpenDir};
use crate::volume::no_volume;
use crate::volume::{self, Made, Volume};

/// The subdirectory that belongs to the server's account.
const OWN: &str = "own";

/// A server's directory in the run directory; removed when this value is dropped.
///
/// ```text
/// my.cnf, …     its configuration and other files that it reads; they belong to dyno
/// init.sql, …   files with the password; removed once it has started
/// process       its process ID
/// closed/       the only directory for `INTO OUTFILE`, in which nobody may write
/// own/          belongs to the server's account, closed to others: its socket, tmp/
/// own/data/     its data, unless it is on another disk
/// ```
///
/// If the log has a volume of its own, it is in the directory `log` there.
#[derive(Debug)]
pub struct DataDir {
    home: Home,
    dir: PathBuf,
    /// Restored before the volumes end.
    schedulers: Vec<Scheduler>,
    /// Contains the directory `data`.
    volume: Arc<dyn Volume>,
    /// Contains the directory `log`; `None` if the log is in `data`.
    log_volume: Option<Arc<dyn Volume>>,
    /// Whether a process of the node could not be ended and may still use the directory, which then
    /// stays for the next run.
    pub(super) is_in_use: Arc<AtomicBool>,
}

impl DataDir {
    /// Creates the directory and the volumes of a node. The caller creates `data`, then hands the
    /// directory over.
    pub(crate) fn new(
        home: &Home,
        prefix: &str,
        node: &plan::Node,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        let dir = home.new_path(prefix);
        make(&dir, 0o755)?;
        let own = dir.join(OWN);
        let mut new = Self {
            home: home.clone(),
            schedulers: Vec::new(),
            volume: Arc::new(own.clone()),
            log_volume: None,
            is_in_use: Arc::default(),
            dir,
        };
        make(&own, 0o700)?;
        new.make_own("tmp")?;
        make(&new.closed(), 0o555)?;
        new.volume = new.create(&node.volume, own, interrupted)?;
        if let Some(log) = &node.log_volume {
            let made = new.create(log, PathBuf::new(), interrupted);
            new.log_volume = Some(made.map_err(of_log)?);
        }
        Ok(new)
    }

    /// What a former process of this run created at `dir`, with the directories of its data and log.
    pub(crate) fn of_former(
        home: &Home,
        dir: &Path,
        directories: &[PathBuf],
    ) -> Result<Self, Failure> {
        // It will be removed.
        if dir.parent() != Some(home.run_dir()) {
            return Err(Failure::internal("a node outside of the run directory"));
        }
        let own = dir.join(OWN);
        let volume = |directory: &PathBuf| match directory.parent() {
            Some(parent) if directory.is_dir() => volume::of_former(home, parent, &own),
            _ => Err(no_volume(
                format!("{} is gone", directory.display()),
                "name a directory on a disk that the host mounts by itself, and that it does not empty",
            )),
        };
        let [data, log] = [directories.first(), directories.get(1)]
            .map(|directory| directory.map(volume).transpose());
        Ok(Self {
            home: home.clone(),
            schedulers: Vec::new(),
            volume: data?.ok_or_else(|| Failure::internal("a node without data"))?,
            log_volume: log?,
            is_in_use: Arc::default(),
            dir: dir.to_owned(),
        })
    }

    /// Creates a volume, and sets the scheduler of its devices.
    fn create(
        &mut self,
        plan: &plan::Volume,
        own: PathBuf,
        interrupted: &AtomicBool,
    ) -> Result<Arc<dyn Volume>, Failure> {
        let volume = volume::create(&self.home, plan, own, interrupted)?;
        if let Some(wanted) = &plan.scheduler {
            let set = Scheduler::set(&self.home, volume.path(), wanted)?;
            self.schedulers.push(set);
        }
        Ok(volume)
    }

    /// Fills `data` with a copy of prepared data.
    pub(crate) fn fill(
        &self,
        from: &Path,
        engine: &dyn Server,
        interrupted: &AtomicBool,
    ) -> Result<Copied, Failure> {
        let account = self.home.account();
        let Some(log) = self.log() else {
            return copy_dir(from, &self.data(), account, interrupted);
        };
        let entries = engine.traits().log_entries;
        let is_data = |name: &OsStr| !entries.include(name);
        let data = copy_entries(from, &self.data(), account, &is_data, interrupted)?;
        let is_log = |name: &OsStr| entries.include(name);
        let copied = copy_entries(from, &log, account, &is_log, interrupted);
        let copied = copied.map_err(of_log)?;
        self.link(&log, entries)?;
        Ok(data.and(copied))
    }

    /// Creates the links through which the server finds its log.
    fn link(&self, log: &Path, entries: LogEntries) -> Result<(), Failure> {
        if !entries.are_linked {
            return Ok(());
        }
        let data = self.open_data()?;
        for entry in OpenDir::open(log)?.entries()? {
            data.create_link(&entry.name, &log.join(&entry.name))?;
        }
        Ok(())
    }

    /// The whole directory, which belongs to dyno.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The subdirectory that belongs to the server's account.
    pub(crate) fn own(&self) -> PathBuf {
        self.dir.join(OWN)
    }

    pub fn data(&self) -> PathBuf {
        self.volume.path().join("data")
    }

    /// The volume of the data or of the log; `None` if the log has no volume of its own.
    pub(crate) fn volume(&self, which: FaultVolume) -> Option<Arc<dyn Volume>> {
        match which {
            FaultVolume::Data => Some(Arc::clone(&self.volume)),
            FaultVolume::Log => self.log_volume.clone(),
        }
    }

    /// The directory of the log; `None` if the log is in the data directory.
    pub(crate) fn log(&self) -> Option<PathBuf> {
        let volume = self.log_volume.as_ref()?;
        Some(volume.path().join("log"))
    }

    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        std::iter::once(self.data()).chain(self.log()).collect()
    }

    pub(crate) fn volumes(&self) -> impl Iterator<Item = &Arc<dyn Volume>> {
        std::iter::once(&self.volume).chain(&self.log_volume)
    }

    /// A file of dyno's that fills a volume; `None` for a volume in dyno's cache.
    pub(crate) fn filler(&self, which: FaultVolume) -> Result<Option<PathBuf>, Failure> {
        let volume = self.volume(which);
        let Some(volume) = volume.filter(|volume| volume.path() != self.own()) else {
            return Ok(None);
        };
        if let (None, Some(directory)) = (volume.made(), volume.path().parent()) {
            let own = own_prefix(self.home.run_dir());
            volume::fillable::check(directory, self.home.root(), Some(&own))?;
        }
        Ok(Some(volume.path().join("filler")))
    }

    pub(crate) fn paths(
        &self,
        engine: &dyn Server,
        number: u32,
        address: Ipv4Net,
        port: u16,
        connections: u32,
    ) -> Paths {
        Paths {
            number,
            dir: self.dir.clone(),
            config_file: engine.traits().config_file,
            own: self.own(),
            data: self.data(),
            log: self.log(),
            closed: self.closed(),
            socket: engine.socket(&self.own(), port),
            address,
            port,
            connections,
        }
    }

    /// The only directory in which statements may read and write files: it is empty and read-only.
    fn closed(&self) -> PathBuf {
        self.dir.join("closed")
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Creates a directory in `own` that will also belong to the server's account. Called before
    /// `own` is handed over.
    pub(crate) fn make_own(&self, name: &str) -> Result<(), Failure> {
        let path = self.own().join(name);
        make(&path, 0o700)?;
        self.home.account().own(&path)
    }

    /// Shares equal blocks of the data if the study asks for it.
    pub(crate) fn deduplicate(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let made = self.volume.made();
        made.map_or(Ok(()), |made| made.deduplicate(interrupted))
    }

    /// Limits what the processes of a site do to the devices of the volumes, before there are any
    /// processes.
    pub(crate) fn limit_io(&self, site: &dyn Site, node: &plan::Node) -> Result<(), Failure> {
        let mut limited = Vec::new();
        for (volume, plan) in self.volumes().zip(node.volumes()) {
            if plan.limits.is_none() {
                continue;
            }
            let devices = devices(&**volume, site.files())?;
            if devices.iter().any(|device| limited.contains(device)) {
                return Err(no_volume(
                    "data and log are on one device, which has one set of limits",
                    "limit one of the volumes, or choose another disk for the log",
                ));
            }
            site.limit_io(&devices, &plan.limits)?;
            limited.extend(devices);
        }
        Ok(())
    }

    /// Disk space of data and log; `None` if it cannot be read.
    pub(crate) fn space(&self) -> Option<Space> {
        let space = |(volume, directory): (&Arc<dyn Volume>, PathBuf)| {
            let data_bytes = tree::used_bytes(&directory);
            let made = volume.made();
            let unreduced = |made: &Made| (data_bytes as f64 * made.raw_per_byte()) as u64;
            Some(Space {
                data_bytes,
                used_bytes: made.map(Made::used_bytes).transpose().ok()?,
                unreduced_bytes: made.map(unreduced),
            })
        };
        let mut parts = self.volumes().zip(self.directories()).map(space);
        let mut all = parts.next()??;
        for part in parts {
            all.add(&part?);
        }
        Some(all)
    }

    /// Removes a file of the data directory, if it exists.
    pub(crate) fn remove_data_file(&self, name: &str) -> Result<(), Failure> {
        self.open_data()?.remove_file(name)
    }

    /// Removes the content of the data directory.
    pub(crate) fn empty(&self) -> Result<(), Failure> {
        self.open_data()?.remove_content()
    }

    /// Writes a file of the data directory, while no server uses it.
    pub(crate) fn write_data_file(&self, name: &str, text: &str) -> Result<(), Failure> {
        let mut file = File::from(self.open_data()?.create_file(name)?);
        let owned = self.home.account().own_file(&file).map_err(io::Error::from);
        let written = owned.and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(Failure::at("write", &self.data().join(name)))
    }

    /// How long nothing has been written to the data; `None` if that is unknown.
    pub(crate) fn quiet_for(&self) -> Option<Duration> {
        let last = self.open_data().ok()?.last_write()?;
        // Timestamps ahead of the clock count as now.
        Some(last.elapsed().unwrap_or_default())
    }

    /// The server's account could replace what it owns, but nothing above it.
    fn open_data(&self) -> Result<OpenDir, Failure> {
        let data = self.data();
        let parent = data.parent().unwrap_or(&self.dir);
        OpenDir::open(parent)?.open_dir("data")
    }

    /// Removes the directory with all data, unless it is in use.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        if self.is_in_use.load(Ordering::Relaxed) {
            return Ok(());
        }
        // While the devices still exist, and the last one first, because both volumes may be on one
        // disk.
        let put_back = self.schedulers.iter().rev().map(Scheduler::end);
        let put_back = put_back.fold(Ok(()), Result::and);
        let removed = tree::remove(&self.dir);
        let ended = self.volumes().map(|volume| volume.end());
        ended.fold(put_back.and(removed), Result::and)
    }

    /// Hands `own` over to the server's account. From then on, dyno creates nothing in it by path,
    /// because the account could redirect that with a symbolic link.
    pub(crate) fn hand_over(&self) -> Result<(), Failure> {
        self.home.account().own(&self.own())
    }
}

/// The numbers of the block devices that a volume is on.
fn devices(volume: &dyn Volume, files: &dyn Files) -> Result<Vec<(u32, u32)>, Failure> {
    let names = device::below_dir(files, volume.path());
    let number = |name: &String| {
        let number = host::line(files, format!("/sys/block/{name}/dev"))?;
        let (major, minor) = number.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let numbers: Vec<_> = names.iter().filter_map(number).collect();
    match numbers.is_empty() {
        false => Ok(numbers),
        true => Err(no_volume(
            format!("{} is on no block device", volume.path().display()),
            "remove its limits, or choose a directory on a disk",
        )),
    }
}

fn make(path: &Path, mode: u32) -> Result<(), Failure> {
    DirBuilder::new()
        .mode(mode)
        .create(path)
        .map_err(Failure::at("create", path))?;
    // `DirBuilder`'s mode is subject to the umask.
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
    fs::set_permissions(path, permissions).map_err(Failure::at("change the permissions of", path))
}

impl Drop for DataDir {
    fn drop(&mut self) {
        // What cannot be removed now is removed with the run directory.
        let _ = self.end();
        if self.is_in_use.load(Ordering::Relaxed) {
            // Keeps the volumes from ending.
            std::mem::forget((Arc::clone(&self.volume), self.log_volume.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
