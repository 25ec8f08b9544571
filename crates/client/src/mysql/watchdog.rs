//! Runs long work on a server that may hang.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use super::connection::Connection;
use super::error::Error;
use super::target::Target;
use crate::reactor::timeout;

/// How long a server may take to show that it is alive.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Runs `work` on a server for as long as it takes, unless the server hangs: `progress` has
/// not changed for `limit`, and a new connection is not answered either. So a statement may
/// take hours, and the work ends at most twice the limit and 10 s after the server hung.
///
/// # Errors
/// [`Error::Hung`]; the work is then dropped.
pub async fn unless_hung<T>(
    target: &Target,
    limit: Duration,
    progress: impl Fn() -> u64,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    let mut work = pin!(work);
    let mut last = progress();
    loop {
        if let Ok(done) = timeout(limit, work.as_mut()).await {
            return Ok(done);
        }
        let now = progress();
        if now == last && !is_alive(target).await {
            return Err(Error::Hung {
                server: target.shown(),
                limit,
            });
        }
        last = now;
    }
}

/// Whether a server answers. A refusal is an answer, too.
async fn is_alive(target: &Target) -> bool {
    let asked = async {
        let mut connection = Connection::open(target).await?;
        connection.run("DO 0").await?;
        connection.close().await;
        Ok(())
    };
    matches!(
        timeout(ANSWER_LIMIT, asked).await,
        Ok(Ok(()) | Err(Error::Login(_) | Error::Statement { .. } | Error::Withheld { .. }))
    )
}
