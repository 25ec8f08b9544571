//! Certificates of authorities and of those that they sign.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use testkit::openssl;

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// Makes a certificate that signs itself: `name.pem`, with `name-key.pem`.
pub(crate) fn authority(directory: &Path, name: &str) -> PathBuf {
    openssl(
        directory,
        &format!(
            "req -x509 {KEY} -days 10 -subj /CN={name} -addext subjectAltName=DNS:{name} \
             -keyout {name}-key.pem -out {name}.pem"
        ),
    );
    directory.join(format!("{name}.pem"))
}

/// The key of a certificate.
pub(crate) fn key_of(certificate: &Path) -> PathBuf {
    let name = certificate.file_stem().unwrap().display();
    certificate.with_file_name(format!("{name}-key.pem"))
}

/// A certificate that an authority signed; without extensions it has the old form.
pub(crate) fn signed(
    directory: &Path,
    authority: &Path,
    name: &str,
    extensions: Option<&str>,
) -> PathBuf {
    let (ca, ca_key) = (authority.display(), key_of(authority));
    let ca_key = ca_key.display();
    openssl(
        directory,
        &format!("req -new {KEY} -subj /CN={name} -keyout {name}-key.pem -out {name}.csr"),
    );
    let mut arguments = format!(
        "x509 -req -in {name}.csr -CA {ca} -CAkey {ca_key} -set_serial 7 -days 10 -out {name}.pem"
    );
    if let Some(extensions) = extensions {
        fs::write(directory.join("extensions"), extensions).unwrap();
        arguments.push_str(" -extfile extensions");
    }
    openssl(directory, &arguments);
    let certificate = directory.join(format!("{name}.pem"));
    fs::set_permissions(key_of(&certificate), fs::Permissions::from_mode(0o644)).unwrap();
    certificate
}

/// A client's certificate.
pub(crate) fn of_client(directory: &Path, authority: &Path, name: &str) -> PathBuf {
    let extension = "extendedKeyUsage=clientAuth\n";
    signed(directory, authority, name, Some(extension))
}
