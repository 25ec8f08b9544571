//! The ledger's tables and statements: transfers of amounts between accounts, which leave the sum of
//! all balances as it is.

use crate::random;
use crate::schema::Dialect;

pub const ACCOUNTS_TABLE: &str = "dyno_accounts";
pub const TRANSFERS_TABLE: &str = "dyno_transfers";
pub const LISTS_TABLE: &str = "dyno_lists";
/// Number of lists, which are numbered from 1.
pub const LISTS: u32 = 1000;
/// Number of users who append to lists.
pub const APPENDERS: u32 = 2;
/// How many lists are appended to at a time, and for how many values of each user.
const LISTS_AT_A_TIME: u64 = 4;
const VALUES_AT_A_TIME: u64 = 64;
/// Number of accounts, which are numbered from 1.
pub const ACCOUNTS: u32 = 1000;
/// What each of them has before the first transfer. Balances may become negative.
pub const BALANCE: i64 = 1000;
const MAX_AMOUNT: u64 = 100;

/// An amount that moves from one account to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Movement {
    /// The account that it is taken from.
    pub from: u32,
    /// Another one, which it is given to.
    pub to: u32,
    /// How much, at least 1.
    pub amount: u32,
}

impl Movement {
    /// What a user moves in the transfer of this sequence.
    pub fn draw(seed: u64, user: u32, sequence: u64) -> Self {
        let mut rng = random::row(random::table(seed, user), sequence);
        let mut below = |n| u32::try_from(random::below(&mut rng, n)).unwrap_or(0);
        let from = 1 + below(u64::from(ACCOUNTS));
        let others = u64::from(ACCOUNTS) - 1;
        // 1 to ACCOUNTS - 1 accounts further, beginning again after the last one.
        let to = 1 + (from + below(others)) % ACCOUNTS;
        let amount = 1 + below(MAX_AMOUNT);
        Self { from, to, amount }
    }

    /// The statements between BEGIN and COMMIT: few, so that they take little from the load. Accounts
    /// are named in the order of their numbers, in which servers lock them, so that transfers hardly
    /// deadlock each other.
    pub fn statements(&self, user: u32, sequence: u64) -> [String; 2] {
        let Self { from, to, amount } = *self;
        let (first, second) = (from.min(to), from.max(to));
        [
            format!(
                "UPDATE {ACCOUNTS_TABLE} SET balance = balance + \
                 CASE id WHEN {from} THEN -{amount} ELSE {amount} END WHERE id IN ({first}, {second})"
            ),
            format!(
                "INSERT INTO {TRANSFERS_TABLE} (user_id, sequence, from_id, to_id, amount) \
                 VALUES ({user}, {sequence}, {from}, {to}, {amount})"
            ),
        ]
    }
}

/// A transaction that reads a list and appends a value to another one, or to the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Append {
    pub read: u32,
    pub list: u32,
    /// What it appends; no other transaction does.
    pub value: u64,
}

impl Append {
    /// What a user, from 1, does in the transaction of this sequence. Users meet in a few lists at a
    /// time, so that these stay short.
    pub fn draw(seed: u64, user: u32, sequence: u64) -> Self {
        let mut rng = random::row(random::table(!seed, user), sequence);
        let group = sequence / VALUES_AT_A_TIME * LISTS_AT_A_TIME;
        let mut list = || {
            let list = (group + random::below(&mut rng, LISTS_AT_A_TIME)) % u64::from(LISTS);
            1 + u32::try_from(list).unwrap_or(0)
        };
        Self {
            read: list(),
            list: list(),
            value: sequence * u64::from(APPENDERS) + u64::from(user),
        }
    }

    /// The statements between BEGIN and COMMIT; the first one reads.
    pub fn statements(&self) -> [String; 2] {
        let Self { read, list, value } = self;
        [
            format!("SELECT items FROM {LISTS_TABLE} WHERE id = {read}"),
            format!("UPDATE {LISTS_TABLE} SET items = CONCAT(items, ' {value}') WHERE id = {list}"),
        ]
    }
}

/// The values of a list, in their order; `None` of what is no list.
pub fn values(items: &str) -> Option<Vec<i64>> {
    let items = items.split_whitespace();
    items.map(|item| item.parse().ok()).collect()
}

/// Reads all lists that have a value: number, items.
pub fn read_lists() -> String {
    format!("SELECT id, items FROM {LISTS_TABLE} WHERE items <> '' ORDER BY id")
}

/// The statements that create and fill the tables. No key is unique except those that the server
/// generates: a transfer that a server commits twice must not be refused, but found.
pub fn create_tables(dialect: &Dialect) -> Vec<String> {
    let engine = dialect.storage_engine("");
    let options = dialect.table_options.replace("{engine}", engine);
    let rows: Vec<String> = (1..=ACCOUNTS)
        .map(|account| format!("({account}, {BALANCE})"))
        .collect();
    let lists: Vec<String> = (1..=LISTS).map(|list| format!("({list}, '')")).collect();
    let id = dialect.generated_id;
    vec![
        format!(
            "CREATE TABLE {ACCOUNTS_TABLE} (id BIGINT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL){options}"
        ),
        format!(
            "CREATE TABLE {TRANSFERS_TABLE} (id {id}, user_id BIGINT NOT NULL, sequence BIGINT NOT NULL, \
             from_id BIGINT NOT NULL, to_id BIGINT NOT NULL, amount BIGINT NOT NULL, \
             PRIMARY KEY (id)){options}"
        ),
        format!("CREATE INDEX dyno_transfers_of_user ON {TRANSFERS_TABLE} (user_id, sequence)"),
        format!(
            "INSERT INTO {ACCOUNTS_TABLE} (id, balance) VALUES {}",
            rows.join(", ")
        ),
        format!(
            "CREATE TABLE {LISTS_TABLE} (id BIGINT NOT NULL PRIMARY KEY, items TEXT NOT NULL){options}"
        ),
        format!(
            "INSERT INTO {LISTS_TABLE} (id, items) VALUES {}",
            lists.join(", ")
        ),
    ]
}

/// The statements that drop the tables, if they exist.
pub fn drop_tables() -> [String; 3] {
    [ACCOUNTS_TABLE, TRANSFERS_TABLE, LISTS_TABLE]
        .map(|table| format!("DROP TABLE IF EXISTS {table}"))
}

/// Reads up to `limit` transfers whose keys are above `after`: key, user, sequence, from, to, amount.
pub fn read_transfers(after: i64, limit: usize) -> String {
    format!(
        "SELECT id, user_id, sequence, from_id, to_id, amount FROM {TRANSFERS_TABLE} \
         WHERE id > {after} ORDER BY id LIMIT {limit}"
    )
}

/// Reads up to `limit` accounts: number, balance.
pub fn read_accounts(limit: usize) -> String {
    format!("SELECT id, balance FROM {ACCOUNTS_TABLE} ORDER BY id LIMIT {limit}")
}

/// Reads one row that differs between two members unless they have, in all likelihood, applied the
/// same transfers.
pub fn read_digest() -> String {
    format!(
        "SELECT COUNT(*), COALESCE(MAX(id), 0), COALESCE(SUM(user_id * 1000003 + sequence), 0), \
         COALESCE(SUM(id * amount), 0), (SELECT SUM(id * balance) FROM {ACCOUNTS_TABLE}), \
         (SELECT SUM(id * LENGTH(items)) FROM {LISTS_TABLE}) \
         FROM {TRANSFERS_TABLE}"
    )
}

/// Reads the highest sequence of a user; no row without transfers.
pub fn read_sequence(user: u32) -> String {
    format!(
        "SELECT sequence FROM {TRANSFERS_TABLE} WHERE user_id = {user} \
         ORDER BY sequence DESC LIMIT 1"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn movements_are_between_two_accounts_and_reach_all_of_them() {
        let drawn: Vec<Movement> = (1..=20_000).map(|n| Movement::draw(7, 3, n)).collect();
        let accounts = 1..=ACCOUNTS;
        for Movement { from, to, amount } in &drawn {
            assert!(accounts.contains(from) && accounts.contains(to) && from != to);
            assert!((1..=100).contains(amount));
        }
        let from: HashSet<u32> = drawn.iter().map(|movement| movement.from).collect();
        let to: HashSet<u32> = drawn.iter().map(|movement| movement.to).collect();
        assert_eq!((from.len(), to.len()), (1000, 1000));
        let again: Vec<Movement> = (1..=20_000).map(|n| Movement::draw(7, 3, n)).collect();
        assert_eq!(drawn, again);
        assert_ne!(Movement::draw(7, 4, 1), drawn[0]);
    }

    #[test]
    fn values_are_appended_once_to_lists_at_which_users_meet() {
        let drawn = |user| (1..=1000).map(move |n| Append::draw(7, user, n));
        let all: Vec<Append> = drawn(1).chain(drawn(2)).collect();
        let values: HashSet<u64> = all.iter().map(|one| one.value).collect();
        assert_eq!(values.len(), 2000);
        let met: HashSet<u32> = drawn(1).map(|one| one.list).collect();
        assert!(drawn(2).all(|one| met.contains(&one.list)));
        assert!(all.iter().all(|one| (1..=LISTS).contains(&one.read)));
        assert_eq!(super::values(" 3 17"), Some(vec![3, 17]));
        let found = (super::values(""), super::values("x"));
        assert_eq!(found, (Some(vec![]), None));
    }

    #[test]
    fn an_amount_leaves_one_account_and_arrives_at_the_other() {
        for (from, to) in [(2, 9), (9, 2)] {
            let movement = Movement {
                from,
                to,
                amount: 5,
            };
            let [update, insert] = movement.statements(1, 12);
            let change = format!("CASE id WHEN {from} THEN -5 ELSE 5 END WHERE id IN (2, 9)");
            assert!(update.ends_with(&change), "{update}");
            assert!(insert.ends_with(&format!("VALUES (1, 12, {from}, {to}, 5)")));
        }
    }
}
