//! [`Again`]: what can be read a second time.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::sync::Arc;

/// Something that can be read again from its beginning.
pub trait Again: Read + Seek + Sized {
    /// The same, at its beginning. What stands for it before may move with it.
    ///
    /// # Errors
    /// It cannot be had twice, or has no beginning.
    fn again(&self) -> io::Result<Self>;
}

impl Again for File {
    fn again(&self) -> io::Result<Self> {
        let mut again = self.try_clone()?;
        again.rewind()?;
        Ok(again)
    }
}

impl Again for Cursor<Arc<[u8]>> {
    fn again(&self) -> io::Result<Self> {
        Ok(Self::new(self.get_ref().clone()))
    }
}
