//! Results as text and as a web page. Pure: strings only, no file, no terminal.

mod data;
mod describe;
pub mod html;
mod number;
mod section;
pub mod text;
mod thin;
mod view;
mod wrap;
