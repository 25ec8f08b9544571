//! What a node is asked to do, here or on another host.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::replication::Role;
use measure::fault::Scrub;
use measure::instance::Space;
use plan::{DiskLimits, FaultProcess, FaultVolume};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::Answer;
use super::node::MemberNode;
use crate::Failure;
use crate::process::NEVER;
use crate::servers::Node;

/// For each method of [`Node`], a call that can be sent, and a method of [`MemberNode`]; `until`
/// names the flag that ends it early.
macro_rules! calls {
    ($($name:ident($($argument:ident: $kind:ty),*) $(until $over:ident)? -> $answer:ty;)*) => {
        #[derive(Debug, Serialize, Deserialize)]
        #[allow(non_camel_case_types, reason = "the names of the methods")]
        pub(crate) enum Call {
            $($name { $($argument: $kind),* }),*
        }

        impl Call {
            /// Times are counted from `origin`.
            pub(super) fn answer(
                self,
                node: &mut Node,
                origin: Instant,
                stop: &AtomicBool,
            ) -> Result<Value, Failure> {
                match self {
                    $(Self::$name { $($argument),* } => {
                        $(let $over = stop;)?
                        node.$name($($argument,)* $($over)?).sent(origin)
                    })*
                }
            }
        }

        impl MemberNode {
            $(pub(crate) fn $name(
                &mut self,
                $($argument: $kind,)*
                $($over: &AtomicBool)?
            ) -> $answer {
                match self {
                    Self::Here(node) => node.$name($($argument,)* $($over)?),
                    Self::There(far) => {
                        let stop: &AtomicBool = &NEVER;
                        $(let stop: &AtomicBool = { let _ = stop; $over };)?
                        far.call(Call::$name { $($argument),* }, stop)
                    }
                }
            })*
        }
    };
}

calls! {
    pid() -> Option<u32>;
    space() -> Option<Space>;
    exited() -> Option<String>;
    died(is_likely: bool) -> Option<String>;
    is_running() -> bool;
    is_whole() -> bool;
    strangers() -> BTreeSet<String>;

    kill() -> Option<Instant>;
    kill_process(which: FaultProcess) -> Result<Instant, Failure>;
    shut_down() until over -> Result<Instant, Failure>;
    start_again(bootstraps: bool) until over -> Result<Instant, Failure>;
    pause(which: FaultProcess) -> Result<Instant, Failure>;
    resume() -> Result<Instant, Failure>;

    join() until over -> Result<(), Failure>;
    role() -> Result<Option<Role>, Failure>;
    switch_over(to: usize) -> Result<(), Failure>;
    successor() -> Result<Option<usize>, Failure>;
    complete_cluster() -> Result<(), Failure>;
    wait_until_it_replicates(limit: Duration) until over -> Result<(), Failure>;
    does_not_replicate(limit: Duration) -> Failure;
    promote() -> Result<(), Failure>;
    demote() -> Result<bool, Failure>;
    reinstate() -> Result<(), Failure>;
    received() -> Result<u64, Failure>;
    try_rejoin() -> Result<(), Failure>;
    follow(primary: u32) -> Result<(), Failure>;
    copy_from(primary: u32) until over -> Result<(), Failure>;
    must_copy(primary: u32) -> bool;
    group_size() -> Result<Option<u32>, Failure>;
    position() until over -> Result<Option<u64>, Failure>;
    begin_group() until over -> Result<(), Failure>;
    starts_in_group() -> bool;

    fill_disk(which: FaultVolume) until over -> Result<Instant, Failure>;
    free_disk(which: FaultVolume) -> Result<Instant, Failure>;
    fail_device(which: FaultVolume, device: u32) -> Result<Instant, Failure>;
    restore_device(which: FaultVolume, device: u32) -> Result<Instant, Failure>;
    limit_device(which: FaultVolume, device: u32, limits: DiskLimits) -> Result<Instant, Failure>;
    begin_job(which: FaultVolume, replaced: Option<u32>) -> Result<Instant, Failure>;
    try_finish_job(which: FaultVolume) -> Result<(bool, Option<Scrub>), Failure>;
    cancel_job(which: FaultVolume) -> Result<(), Failure>;
    revive() -> Result<bool, Failure>;
}
