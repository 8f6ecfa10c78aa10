//! The built page, part of the program.

use std::borrow::Cow;

use rust_embed::RustEmbed;

/// What `npm run build` in the repository's `web/` made: `web` here is a link to its `dist`. It is
/// committed, so that cargo alone suffices.
#[derive(RustEmbed)]
#[folder = "web"]
struct Dist;

/// A file of the page.
pub(crate) struct Asset {
    pub(crate) content_type: &'static str,
    pub(crate) bytes: Cow<'static, [u8]>,
}

/// The file with this path, `index.html` for none.
pub(crate) fn asset(path: &str) -> Option<Asset> {
    let path = if path.is_empty() { "index.html" } else { path };
    let file = Dist::get(path)?;
    Some(Asset { content_type: content_type(path)?, bytes: file.data })
}

/// Browsers run scripts and apply styles of the right type only (`X-Content-Type-Options`).
fn content_type(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    match extension {
        "html" => Some("text/html; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_page_has_a_content_type() {
        for path in Dist::iter() {
            assert!(asset(&path).is_some(), "{path}");
        }
    }

    #[test]
    fn the_index_names_files_that_are_there() {
        let index = asset("").unwrap();
        let text = String::from_utf8(index.bytes.into_owned()).unwrap();
        let named: Vec<_> = text.split('"').filter_map(|part| part.strip_prefix("./")).collect();
        assert!(named.len() >= 3, "{named:?}");
        assert!(named.into_iter().all(|path| asset(path).is_some()));
        assert!(asset("../package.json").is_none());
    }
}
