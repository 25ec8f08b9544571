//! How the user says to reach a database.

use client::mysql::{TlsMode, TlsOptions};
use lab::{Access, Database, Lab};

use crate::cli::{LoginArgs, TlsModeArg};
use crate::failure::Failure;
use crate::secrets::{self, OptionFile, PASSWORD_VARIABLE};

/// Makes sure that somebody answers at a URL.
pub(crate) fn open(url: &str, access: &Access, lab: &Lab) -> Result<Database, Failure> {
    let typed = secrets::typed_password(url);
    let access = Access {
        password: typed.or_else(|| access.password.clone()),
        ..access.clone()
    };
    Ok(lab.open(url, &access)?)
}

/// Without a command line of its own, a study has what the environment says.
pub(crate) fn access(args: Option<&LoginArgs>) -> Result<Access, Failure> {
    let file = args.and_then(|args| args.option_file.as_deref());
    let file = file.map(OptionFile::read).transpose()?.unwrap_or_default();
    let user = file.user.or_else(|| std::env::var("USER").ok());
    Ok(Access {
        tls: args.map(tls).unwrap_or_default(),
        create_database: false,
        user: user.unwrap_or_else(|| "root".to_owned()),
        password: std::env::var(PASSWORD_VARIABLE).ok().or(file.password),
    })
}

fn tls(args: &LoginArgs) -> TlsOptions {
    // Who names an authority wants it checked.
    let asks_to_check = args.tls_ca.is_some() && args.tls_mode == TlsModeArg::Preferred;
    TlsOptions {
        mode: match args.tls_mode {
            _ if asks_to_check => TlsMode::VerifyFull,
            TlsModeArg::Disable => TlsMode::Disable,
            TlsModeArg::Preferred => TlsMode::Preferred,
            TlsModeArg::Required => TlsMode::Required,
            TlsModeArg::VerifyCa => TlsMode::VerifyCa,
            TlsModeArg::VerifyFull => TlsMode::VerifyFull,
        },
        ca: args.tls_ca.clone(),
        certificate: args.tls_cert.clone(),
        key: args.tls_key.clone(),
    }
}
