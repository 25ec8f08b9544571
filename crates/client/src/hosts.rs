//! URLs with several hosts, as libpq and other drivers write them: `scheme://user@h1:1,h2:2/db`.

use std::ops::Range;

/// The URL of each host; the URL itself if it has only one.
pub fn split(url: &str) -> Vec<String> {
    let Some(hosts) = hosts(url) else {
        return vec![url.to_owned()];
    };
    let (before, after) = (&url[..hosts.start], &url[hosts.end..]);
    let hosts = url[hosts.clone()].split(',');
    hosts.map(|host| format!("{before}{host}{after}")).collect()
}

/// The first URL, with the hosts of all URLs.
pub fn join(urls: &[String]) -> String {
    let all = urls.iter().filter_map(|url| Some(&url[hosts(url)?]));
    let all: Vec<&str> = all.collect();
    let mut joined = urls.first().cloned().unwrap_or_default();
    if let Some(own) = hosts(&joined) {
        joined.replace_range(own, &all.join(","));
    }
    joined
}

/// The range of a URL that contains its hosts.
fn hosts(url: &str) -> Option<Range<usize>> {
    let start = url.find("://")? + "://".len();
    let length = url[start..].find(['/', '?', '#']);
    let end = length.map_or(url.len(), |length| start + length);
    let account = url[start..end].rfind('@').map_or(0, |at| at + 1);
    Some(start + account..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_its_url() {
        for (url, parts) in [
            ("a://h/x", vec!["a://h/x"]),
            ("a:file", vec!["a:file"]),
            (
                "a://u:p,q@h:1,[::1]:2?k=v,w",
                vec!["a://u:p,q@h:1?k=v,w", "a://u:p,q@[::1]:2?k=v,w"],
            ),
            ("a://h,i,j", vec!["a://h", "a://i", "a://j"]),
        ] {
            assert_eq!(split(url), parts);
            assert_eq!(join(&split(url)), url);
        }
        assert_eq!(join(&[]), "");
    }
}
