//! Who is cut off from a cluster, and whether the others still accept commits.

/// How many members of a cluster must be connected for a commit to be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quorum {
    One,
    Two,
    Majority,
}

impl Quorum {
    /// How many of `members`, at least 1.
    pub fn of(self, members: u32) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2.min(members.max(1)),
            Self::Majority => members / 2 + 1,
        }
    }

    /// Why a cluster accepts no commits while these of its members are isolated; `None` if it does.
    /// Only a group that elects its primary becomes smaller by those that leave.
    pub fn lost(
        self,
        members: u32,
        elects: bool,
        isolated: impl IntoIterator<Item = Isolation>,
    ) -> Option<QuorumLost> {
        let (mut size, mut away) = (members, 0);
        for isolation in isolated {
            match isolation {
                Isolation::Reachable => {}
                Isolation::Leaves if elects => size = size.saturating_sub(1),
                _ => away += 1,
            }
        }
        let connected = size.saturating_sub(away);
        let needed = self.of(size);
        (connected < needed).then_some(QuorumLost {
            connected,
            size,
            needed,
        })
    }
}

/// How the other members of a cluster see one that is hit, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    Reachable,
    /// It is gone, and they notice at once.
    Closed,
    /// It falls silent, so that they notice only by timeouts.
    Silent,
    /// It takes its leave: a group that elects becomes smaller.
    Leaves,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuorumLost {
    pub connected: u32,
    pub size: u32,
    pub needed: u32,
}

/// The side of a partition that has lost its majority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostSide {
    Target,
    Rest,
    /// Neither: together with the bridge, each side has a majority.
    Neither,
}

impl LostSide {
    /// Takes the number of members, of those on the target's side, and of bridges (0 or 1). Of two equal
    /// sides, the target's is lost.
    pub fn of(members: u32, side: u32, bridge: u32) -> Self {
        let rest = members.saturating_sub(side + bridge);
        match side.min(rest) + bridge {
            reached if 2 * reached > members => Self::Neither,
            _ if (1..side).contains(&rest) => Self::Rest,
            _ => Self::Target,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_side_is_lost_unless_the_bridge_gives_it_a_majority() {
        for (members, side, bridge, lost) in [
            (1, 1, 0, LostSide::Target),
            (2, 1, 0, LostSide::Target),
            (3, 1, 0, LostSide::Target),
            (3, 2, 0, LostSide::Rest),
            (4, 2, 0, LostSide::Target),
            (5, 3, 0, LostSide::Rest),
            (3, 1, 1, LostSide::Neither),
            (4, 1, 1, LostSide::Target),
            (5, 2, 1, LostSide::Neither),
            (5, 3, 1, LostSide::Rest),
        ] {
            assert_eq!(
                LostSide::of(members, side, bridge),
                lost,
                "{members} {side} {bridge}"
            );
        }
    }
}
