//! Which side of a partition loses touch with its cluster.

/// The side of a partition that has lost its majority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostSide {
    /// The side of the fault's target.
    Target,
    /// The side of the other members.
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
