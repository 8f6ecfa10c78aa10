//! [`Texts`]: a column of text of which there is little, many times, on its way into Parquet.

use std::collections::BTreeMap;
use std::io::Write;

use bytes::Bytes;
use parquet::basic::{Encoding, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::hybrid;

/// Texts that are looked for one after the other, and kept when a group is written; any more are
/// looked up in a tree until then.
const KEPT_MAX: usize = 32;
/// Rows of a group: numbers of texts and levels are no more than an `i16` holds.
pub(super) const ROWS_MAX: usize = i16::MAX as usize - KEPT_MAX;

/// Texts of which there are few, many times: each once, and for each row which it is. A group is
/// written as a dictionary and the numbers of its texts, as parquet's own writer does, which would
/// look for the text of each row a second time.
pub(super) struct Texts {
    column: ColumnDescPtr,
    known: Vec<Known>,
    /// The numbers of those behind the first [`KEPT_MAX`].
    further: BTreeMap<Box<str>, i16>,
    rows: Vec<i16>,
}

/// A text that came already.
struct Known {
    ends: Ends,
    text: Box<str>,
}

/// The length of a text and its first and last bytes: of one of [`Ends::WHOLE_MAX`] bytes at most
/// all that there is, which is compared in fewer instructions than a call takes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ends {
    len: usize,
    first: u64,
    last: u64,
}

impl Ends {
    const WHOLE_MAX: usize = 16;

    fn of(text: &str) -> Self {
        let (len, bytes) = (text.len(), text.as_bytes());
        if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            let [first, last] = [first, last].map(|end| u64::from_le_bytes(*end));
            return Self { len, first, last };
        }
        if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            let [first, last] = [first, last].map(|end| u32::from_le_bytes(*end).into());
            return Self { len, first, last };
        }
        let first = bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        Self { len, first, last: 0 }
    }
}

impl Known {
    fn is(&self, text: &str, ends: Ends) -> bool {
        self.ends == ends && (ends.len <= Ends::WHOLE_MAX || *self.text == *text)
    }
}

impl Texts {
    pub(super) fn new(column: ColumnDescPtr) -> Self {
        Self { column, known: Vec::new(), further: BTreeMap::new(), rows: Vec::new() }
    }

    /// The text of another row; of [`ROWS_MAX`] at most before they are written.
    pub(super) fn push(&mut self, text: &str) {
        let ends = Ends::of(text);
        let is_it =
            |number: i16| self.known.get(number as usize).is_some_and(|known| known.is(text, ends));
        let number = match self.rows.last() {
            Some(last) if is_it(*last) => *last,
            Some(_) | None => self.number(text, ends),
        };
        self.rows.push(number);
    }

    fn number(&mut self, text: &str, ends: Ends) -> i16 {
        match self.known.iter().take(KEPT_MAX).position(|known| known.is(text, ends)) {
            Some(number) => number as i16,
            None => self.further.get(text).copied().unwrap_or_else(|| self.learn(text, ends)),
        }
    }

    #[cold]
    fn learn(&mut self, text: &str, ends: Ends) -> i16 {
        let number = self.known.len() as i16;
        if self.known.len() >= KEPT_MAX {
            self.further.insert(text.into(), number);
        }
        self.known.push(Known { ends, text: text.into() });
        number
    }

    /// Writes all as the next column of a group, and forgets them. `levels` say which rows have
    /// one, where not all do.
    pub(super) fn write(
        &mut self,
        levels: Option<&[i16]>,
        group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    ) -> Result<(), ParquetError> {
        let rows = levels.map_or(self.rows.len(), <[_]>::len);
        let mut chunk = TrackedWrite::new(Vec::new());
        let mut writer = SerializedPageWriter::new(&mut chunk);
        let dictionary = writer.write_page(self.dictionary())?;
        let data = writer.write_page(self.data(levels, rows))?;
        let closed = self.closed(&dictionary, &data, rows)?;
        group.append_column(&Bytes::from(chunk.into_inner()?), closed)?;
        self.rows.clear();
        if self.known.len() > KEPT_MAX {
            self.known.clear();
            self.further.clear();
        }
        Ok(())
    }

    fn dictionary(&self) -> CompressedPage {
        let mut bytes = Vec::new();
        for Known { text, .. } in &self.known {
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        let len = bytes.len();
        let page = Page::DictionaryPage {
            buf: bytes.into(),
            num_values: self.known.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        CompressedPage::new(page, len)
    }

    fn data(&self, levels: Option<&[i16]>, rows: usize) -> CompressedPage {
        let mut bytes = Vec::new();
        if let Some(levels) = levels {
            const LEN: usize = size_of::<u32>();
            bytes.extend_from_slice(&[0; LEN]);
            hybrid::encode(levels, 1, &mut bytes);
            let len = (bytes.len() - LEN) as u32;
            bytes[..LEN].copy_from_slice(&len.to_le_bytes());
        }
        let width = hybrid::width(self.known.len());
        bytes.push(width as u8);
        hybrid::encode(&self.rows, width, &mut bytes);
        let len = bytes.len();
        let page = Page::DataPage {
            buf: bytes.into(),
            num_values: rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        CompressedPage::new(page, len)
    }

    /// What the file's end says of the two pages.
    fn closed(
        &self,
        dictionary: &PageWriteSpec,
        data: &PageWriteSpec,
        rows: usize,
    ) -> Result<ColumnCloseResult, ParquetError> {
        let stats = |page_type, encoding| PageEncodingStats { page_type, encoding, count: 1 };
        let metadata = ColumnChunkMetaData::builder(self.column.clone())
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_page_encoding_stats(vec![
                stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN),
                stats(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY),
            ])
            .set_total_compressed_size((dictionary.compressed_size + data.compressed_size) as i64)
            .set_total_uncompressed_size(
                (dictionary.uncompressed_size + data.uncompressed_size) as i64,
            )
            .set_num_values(rows as i64)
            .set_dictionary_page_offset(Some(dictionary.offset as i64))
            .set_data_page_offset(data.offset as i64)
            .build()?;
        let mut offsets = OffsetIndexBuilder::new();
        offsets.append_row_count(rows as i64);
        offsets.append_offset_and_size(data.offset as i64, data.compressed_size as i32);
        Ok(ColumnCloseResult {
            bytes_written: dictionary.bytes_written + data.bytes_written,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(offsets.build()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_told_from_any_that_differs_in_a_byte_or_in_length() {
        let text = "abcdefghijklmnopqrst";
        for len in 0..=text.len() {
            let known = Known { ends: Ends::of(&text[..len]), text: text[..len].into() };
            assert!(known.is(&text[..len], Ends::of(&text[..len])));
            for other in (0..=text.len()).filter(|other| *other != len) {
                assert!(!known.is(&text[..other], Ends::of(&text[..other])));
            }
            for at in 0..len {
                let mut other = text[..len].to_owned();
                other.replace_range(at..=at, "_");
                assert!(!known.is(&other, Ends::of(&other)), "{other}");
            }
            let zeros = "\0".repeat(len);
            assert_eq!(known.is(&zeros, Ends::of(&zeros)), len == 0);
        }
    }
}
