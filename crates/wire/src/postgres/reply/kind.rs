//! The types of messages in a reply.

pub(super) const BIND_COMPLETE: u8 = b'2';
pub(super) const COMMAND_COMPLETE: u8 = b'C';
pub(super) const COPY_IN: u8 = b'G';
pub(super) const DATA_ROW: u8 = b'D';
pub(super) const EMPTY_QUERY: u8 = b'I';
pub(super) const ERROR: u8 = b'E';
pub(super) const NOTICE: u8 = b'N';
pub(super) const NOTIFICATION: u8 = b'A';
pub(super) const NO_DATA: u8 = b'n';
pub(super) const PARAMETER_STATUS: u8 = b'S';
pub(super) const PARAMETER_TYPES: u8 = b't';
pub(super) const PARSE_COMPLETE: u8 = b'1';
pub(super) const READY: u8 = b'Z';
pub(super) const ROW_DESCRIPTION: u8 = b'T';
