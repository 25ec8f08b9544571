//! One row and its forms as text.

use crate::digits::{C_BYTES, Digits, PAD_BYTES};

const MAX_DIGITS: usize = 20;
/// Most bytes of a row with a separator behind each column.
const MAX_LINE: usize = 2 * MAX_DIGITS + C_BYTES + PAD_BYTES + 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub id: u64,
    pub k: u64,
    pub(super) digits: Digits,
}

impl Row {
    /// Column `c`: 10 groups of 11 digits, 119 bytes.
    pub fn c(&self) -> &str {
        self.digits.c()
    }

    /// Column `pad`: 5 groups of 11 digits, 59 bytes.
    pub fn pad(&self) -> &str {
        self.digits.pad()
    }

    /// Appends a line for LOAD DATA: columns apart by tabs, a newline at the end.
    pub fn write_tsv(&self, out: &mut Vec<u8>) {
        let mut line = self.line(b'\t');
        line.push(b"\n");
        out.extend_from_slice(line.bytes());
    }

    /// Appends `(id,k,'c','pad')`, a row of INSERT … VALUES.
    pub fn write_values(&self, out: &mut Vec<u8>) {
        let mut head = Line::new();
        head.push(b"(");
        head.number(self.id);
        head.push(b",");
        head.number(self.k);
        out.extend_from_slice(head.bytes());
        out.extend_from_slice(b",'");
        out.extend_from_slice(self.digits.c_bytes());
        out.extend_from_slice(b"','");
        out.extend_from_slice(self.digits.pad_bytes());
        out.extend_from_slice(b"')");
    }

    /// The CRC-32 of the columns joined by commas.
    pub(crate) fn crc32(&self) -> u32 {
        crc32fast::hash(self.line(b',').bytes())
    }

    fn line(&self, separator: u8) -> Line {
        let mut line = Line::new();
        line.number(self.id);
        line.push(&[separator]);
        line.number(self.k);
        line.push(&[separator]);
        line.push(self.digits.c_bytes());
        line.push(&[separator]);
        line.push(self.digits.pad_bytes());
        line
    }
}

/// A line on the stack: one copy into the caller's buffer, with one check.
struct Line {
    bytes: [u8; MAX_LINE],
    len: usize,
}

impl Line {
    fn new() -> Line {
        Line {
            bytes: [0; MAX_LINE],
            len: 0,
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        self.bytes[self.len..end].copy_from_slice(bytes);
        self.len = end;
    }

    fn number(&mut self, number: u64) {
        let mut digits = [0; MAX_DIGITS];
        let mut at = MAX_DIGITS;
        let mut rest = number;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.push(&digits[at..]);
    }
}
