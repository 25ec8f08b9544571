//! How to reach a nats-server, by the environment variables that NATS' own programs read.

use std::ffi::OsString;
use std::path::PathBuf;

use fleet::Access;
use lab::servers::NatsTls;
use plan::ServerUrl;

use crate::cli::NatsArg;
use crate::failure::Failure;
use crate::secrets;

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn file(variable: Option<OsString>) -> Option<PathBuf> {
    variable.map(PathBuf::from)
}

/// At the address that is typed, else that of the environment.
pub(super) fn typed(argument: &NatsArg) -> Result<Access, Failure> {
    let url = match (&argument.url, variable("NATS_URL")) {
        (Some(url), _) => url.clone(),
        (None, Some(url)) => url.to_string_lossy().into_owned(),
        (None, None) => {
            let message = "which nats-server connects the fleet?";
            let remedy = "name it: --nats nats://HOST:4222, or NATS_URL";
            return Err(Failure::usage(message).remedy(remedy));
        }
    };
    at(ServerUrl::from(url))
}

/// At an address, with what the environment says of both ends.
pub(super) fn at(url: ServerUrl) -> Result<Access, Failure> {
    plan::check_nats(&url).map_err(|error| Failure::usage(error.message).remedy(error.help))?;
    let is_loopback = url.is_loopback();
    let after_scheme = url.expose().split_once("://").map(|(_, rest)| rest);
    let typed_user = after_scheme.and_then(|rest| Some(rest.split_once('@')?.0.to_owned()));
    // A password that was on the command line is no longer in the address.
    let typed = typed_user
        .clone()
        .zip(secrets::typed_password(url.expose()));
    let text =
        |variable: Option<OsString>| variable.map(|text| text.to_string_lossy().into_owned());
    let access = Access {
        ca: file(variable("NATS_CA")),
        certificate: certificate()?,
        credentials: file(variable("NATS_CREDS")),
        nkey: file(variable("NATS_NKEY")),
        user: typed.or_else(|| text(variable("NATS_USER")).zip(text(variable("NATS_PASSWORD")))),
        ..Access::new(url)
    };
    let files = access.credentials.is_some() || access.nkey.is_some();
    let has_proof = files || access.certificate.is_some() || access.user.is_some();
    if is_loopback || has_proof || typed_user.is_some() {
        return Ok(access);
    }
    let message =
        "other machines reach this nats-server, so it needs TLS and a proof of who connects";
    let remedy =
        "name a file in NATS_CREDS or NATS_NKEY, or set NATS_CERT and NATS_KEY; see docs/fleet.md";
    Err(Failure::usage(message).remedy(remedy))
}

fn certificate() -> Result<Option<(PathBuf, PathBuf)>, Failure> {
    match (variable("NATS_CERT"), variable("NATS_KEY")) {
        (Some(certificate), Some(key)) => Ok(Some((certificate.into(), key.into()))),
        (None, None) => Ok(None),
        _ => {
            let message = "a certificate has a key: one of NATS_CERT and NATS_KEY is missing";
            Err(Failure::usage(message).remedy("set both, or neither"))
        }
    }
}

/// What a private nats-server and its clients have in common.
pub(super) fn private() -> Result<Option<NatsTls>, Failure> {
    let (ca, certificate) = (file(variable("NATS_CA")), certificate()?);
    Ok(ca.zip(certificate).map(|(ca, (certificate, key))| NatsTls {
        ca,
        certificate,
        key,
    }))
}
