//! The arguments of the commands for load machines.

use clap::Args;

pub(super) const AGENT_HELP: &str = "\
Runs until Ctrl-C, for one run at a time. It only runs loads, and only those that are signed with
the key of --key. `dyno agents` prints that key on the machine where studies are run, and `dyno run`
prints the whole command while it waits for agents.

A nats-server that other machines reach needs TLS and a proof of who connects. Their files are in
NATS' own environment variables: NATS_CA, and NATS_CREDS, NATS_NKEY, or NATS_CERT and NATS_KEY.

Example:
  dyno agent --nats tls://nats.example.org:4222 --key 3q2+7wAA...= --label load1

docs/fleet.md explains fleets.";

pub(super) const AGENTS_HELP: &str = "\
An agent is busy while it runs a load. The clock offset is how far its clock is ahead of this
machine's, with the bound of its error: at most half of the best round trip. Loads need no equal
clocks.

Examples:
  dyno agents --nats nats://127.0.0.1:4222
  NATS_CA=ca.pem NATS_CREDS=me.creds dyno agents --nats tls://nats.example.org:4222";

#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    pub(crate) nats: NatsArg,
    /// The public key of the coordinator whose loads it runs.
    #[arg(long, value_name = "PUBLIC")]
    pub(crate) key: String,
    /// What studies call this agent. [default: the name of this host]
    #[arg(long)]
    pub(crate) label: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct NatsArg {
    /// Address of the nats-server that connects the fleet. [default: NATS_URL]
    #[arg(long = "nats", value_name = "URL")]
    pub(crate) url: Option<String>,
}
