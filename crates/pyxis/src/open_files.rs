//! The process's limit on open files: each connection is one, and each WebSocket is two.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files besides WebSockets: clients, hosts, the database and its log.
const OTHERS: u64 = 2048;

/// Raises the soft limit to the hard one, and returns it; `None` is no limit. Shells and service managers often leave
/// it at 1,024, for programs that use `select`.
///
/// # Errors
/// When the kernel refuses.
pub fn raise() -> io::Result<Option<u64>> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    }
    Ok(maximum)
}

/// Number of files that a server with so many WebSockets may open.
fn files_needed(websockets_max: usize) -> u64 {
    let sockets = u64::try_from(websockets_max).unwrap_or(u64::MAX);
    sockets.saturating_mul(2).saturating_add(OTHERS)
}

/// Warning if `limit` is below what a server with so many WebSockets may open.
pub fn shortage(websockets_max: usize, limit: Option<u64>) -> Option<String> {
    let needed = files_needed(websockets_max);
    let limit = limit.filter(|&limit| limit < needed)?;
    Some(format!(
        "this process may open {limit} files; {needed} are needed for PX_WEBSOCKETS_MAX={websockets_max} and other \
         connections"
    ))
}

/// Advice for a limit that is too low.
pub const FIX: &str =
    "raise it (LimitNOFILE= of the unit, ulimit -n of the shell), or lower PX_WEBSOCKETS_MAX";

/// Raises the limit and warns if it is still too low. A server starts anyway: it is refused only what it cannot open.
pub fn prepare(websockets_max: usize) {
    match raise() {
        Ok(limit) => {
            if let Some(warning) = shortage(websockets_max, limit) {
                tracing::warn!("{warning}; {FIX}");
            }
        }
        Err(error) => tracing::warn!(%error, "cannot raise the limit on open files"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let hard = getrlimit(Resource::Nofile).maximum;
        assert_eq!(raise().unwrap(), hard);
        assert_eq!(getrlimit(Resource::Nofile).current, hard);
    }

    #[test]
    fn a_limit_too_low_for_the_websockets_is_named_with_both_numbers() {
        let warning = shortage(1000, Some(1024)).unwrap();
        assert!(warning.contains("1024") && warning.contains("4048"), "{warning}");
        assert_eq!(shortage(1000, Some(4048)), None);
        assert_eq!(shortage(1000, None), None);
    }
}
