//! Rules on Rust functions.

use std::fmt::Write as _;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use crate::files::{assert_none, written_in};

const FUNCTION_LINES_MAX: usize = 100;

#[test]
fn no_function_is_longer_than_a_hundred_lines() {
    let faults = functions().filter(|function| function.lines > FUNCTION_LINES_MAX);
    assert_none(faults.map(|function| function.describe("split it")).collect());
}

#[test]
fn no_function_begins_with_get() {
    let is_idiom = |name: &str| name == "get_mut" || name.starts_with("get_or_");
    let faults = functions().filter(|f| f.name.starts_with("get_") && !is_idiom(&f.name));
    assert_none(faults.map(|function| function.describe("name what it returns")).collect());
}

struct Function {
    path: String,
    name: String,
    line: usize,
    lines: usize,
}

impl Function {
    fn describe(&self, advice: &str) -> String {
        let Self { path, name, line, lines } = self;
        format!("{path}:{line}: `{name}` has {lines} lines: {advice}")
    }
}

fn functions() -> impl Iterator<Item = Function> {
    written_in(&["rs"]).into_iter().flat_map(|file| functions_in(&file.path, &file.text))
}

fn functions_in(path: &str, text: &str) -> Vec<Function> {
    let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut finder = Finder { path, found: Vec::new() };
    finder.visit_file(&parsed);
    finder.found
}

struct Finder<'a> {
    path: &'a str,
    found: Vec<Function>,
}

impl Finder<'_> {
    fn note(&mut self, signature: &Signature, block: &Block) {
        let start = signature.span().start().line;
        self.found.push(Function {
            path: self.path.to_owned(),
            name: signature.ident.to_string(),
            line: start,
            lines: block.span().end().line - start + 1,
        });
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.note(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[test]
fn functions_are_measured_from_their_signature_to_their_last_brace() {
    let mut text = "/// Doc.\nfn outer() {\n    fn inner() {}\n".to_owned();
    (0..98).for_each(|n| writeln!(text, "    step({n});").unwrap());
    text.push_str("}\nimpl X {\n    fn get_y(&self) -> u8 {\n        0\n    }\n}\n");
    let measured: Vec<_> =
        functions_in("x.rs", &text).into_iter().map(|f| (f.name, f.line, f.lines)).collect();
    let expected = [("outer", 2, 101), ("inner", 3, 1), ("get_y", 104, 3)];
    assert_eq!(measured, expected.map(|(name, line, lines)| (name.to_owned(), line, lines)));
}
