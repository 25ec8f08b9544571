//! The scopes of a trial end in reverse order, also when a step fails half way: a process ends
//! before its site, and its site before the data that it used.

use lab::Failure;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use crate::private::{self, NEVER, empty_data, installed, is_running, kept_home};
use engine::MARIADB;
use host::Files;
use lab::servers::{self, Node};
use machine::home::Home;
use machine::site::{Launched, Program, Site, ThisHost};

/// What a site found when it ended.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    process: bool,
    data: bool,
}

/// This host, which looks for what is still there when it ends.
#[derive(Debug)]
struct Observed {
    host: ThisHost,
    data: PathBuf,
    pid: AtomicU32,
    found: Mutex<Sender<Found>>,
}

impl Site for Observed {
    fn spawn(&self, home: &Home, program: Program<'_>) -> Result<Launched, Failure> {
        let launched = self.host.spawn(home, program)?;
        self.pid.store(launched.pid, Ordering::Relaxed);
        Ok(launched)
    }

    fn end(&self) -> Result<(), Failure> {
        let found = Found {
            process: is_running(self.pid.load(Ordering::Relaxed)),
            data: self.data.exists(),
        };
        let _ = self.found.lock().unwrap().send(found);
        self.host.end()
    }

    fn files(&self) -> &dyn Files {
        self.host.files()
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.end().unwrap();
    }
}

/// Starts a node with these settings; also what its site finds at its end, and its data.
fn start(config: &[(&str, &str)]) -> (Result<Node, Failure>, Receiver<Found>, PathBuf) {
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let installed = installed(MARIADB);
    let data = empty_data(&home, &installed);
    let path = data.data();
    let (sender, found) = channel();
    let site = Observed {
        host: ThisHost::default(),
        data: path.clone(),
        pid: AtomicU32::new(0),
        found: Mutex::new(sender),
    };
    let spec = servers::NodeSpec {
        config: private::config(config),
        ..private::on_site(Arc::new(site), keep.path())
    };
    let started = servers::start(&installed, spec, data, &NEVER);
    (started, found, path)
}

const IN_ORDER: Found = Found {
    process: false,
    data: true,
};

#[test]
fn a_node_ends_before_its_site_and_its_data_after_it() {
    let ways: [fn(Node); 2] = [drop, |node| node.end().unwrap()];
    for end in ways {
        let (node, found, data) = start(&[]);
        let node = node.unwrap();
        assert!(is_running(node.pid().unwrap()));
        assert!(
            found.try_recv().is_err(),
            "the site lasts as long as its node"
        );
        end(node);
        assert_eq!(found.recv().unwrap(), IN_ORDER);
        assert!(!data.exists());
    }
}

#[test]
fn a_node_that_does_not_start_ends_in_the_same_order() {
    let (node, found, data) = start(&[("no_such_setting", "1")]);
    let error = node.unwrap_err();
    assert_eq!(
        error.key.as_deref(),
        Some("server.config.no_such_setting"),
        "{error}"
    );
    assert_eq!(found.recv().unwrap(), IN_ORDER);
    assert!(!data.exists());
}
