//! Opens databases: logins, passwords and TLS.

use std::path::Path;

use client::{ServerPublicKey, TlsOptions};
use lab::{Access, Database, Lab};
use plan::LoginSpec;

use crate::failure::Failure;
use crate::secrets::{self, OptionFile};

/// Opens the database at a URL. A password on the command line takes precedence.
pub(crate) fn open(url: &str, access: &Access, lab: &Lab) -> Result<Database, Failure> {
    let engine = engine::of_url(url)
        .ok()
        .filter(|engine| engine.in_process().is_some());
    if let Some(engine) = engine.filter(|_| access.tls != TlsOptions::default()) {
        let name = engine.title();
        let message =
            format!("TLS and login options have no effect on {name}, which runs inside dyno");
        return Err(Failure::usage(message).remedy("omit them"));
    }
    let typed = secrets::typed_password(url);
    let access = Access {
        password: typed.or_else(|| access.password.clone()),
        ..access.clone()
    };
    lab.open(url, &access)
}

/// How to log in: with the password in the environment, else that of the option file.
pub(crate) fn access(login: &LoginSpec, option_file: Option<&Path>) -> Result<Access, Failure> {
    let file = option_file.map(OptionFile::read).transpose()?;
    let file = file.unwrap_or_default();
    let user = file.user.or_else(|| std::env::var("USER").ok());
    Ok(Access {
        tls: tls(login)?,
        create_database: false,
        user: user.unwrap_or_else(|| "root".to_owned()),
        password: secrets::password_of_environment()?.or(file.password),
        is_private: false,
    })
}

fn tls(login: &LoginSpec) -> Result<TlsOptions, Failure> {
    let server_public_key = match &login.server_public_key_path {
        Some(file) => ServerPublicKey::read(file)
            .map_err(|why| Failure::usage(format!("the server's public key: {why}")))?,
        None if login.get_server_public_key => ServerPublicKey::Accepted,
        None => ServerPublicKey::Unknown,
    };
    Ok(TlsOptions {
        mode: login.tls_mode,
        ca: login.tls_ca.clone(),
        authority: None,
        certificate: login.tls_cert.clone(),
        key: login.tls_key.clone(),
        server_public_key,
        cleartext_plugin: login.enable_cleartext_plugin,
    })
}
