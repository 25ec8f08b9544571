//! Which settings may contain secrets.

/// Words in names of settings whose values may be secrets. `init_` settings hold statements, which
/// may contain a password. Joining a cluster requires its name.
const SECRET_WORDS: [&str; 12] = [
    "password",
    "passwd",
    "secret",
    "token",
    "credential",
    "private",
    "filekey",
    "access_key",
    "sst_auth",
    "init_",
    "cluster_name",
    "group_name",
];

/// `name` is in the server's spelling.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    !value.is_empty() && SECRET_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_hidden() {
        for name in [
            "report_password",
            "wsrep_sst_auth",
            "s3_secret_key",
            "hashicorp_key_management_token",
            "file_key_management_filekey",
            "init_connect",
        ] {
            assert!(is_secret(name, "x"), "{name}");
            assert!(!is_secret(name, ""), "{name}");
        }
        assert!(!is_secret("innodb_buffer_pool_size", "1"));
    }
}
