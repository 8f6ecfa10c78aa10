//! No Rust file that nothing compiles.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Expr, ExprLit, Item, ItemMod, Lit, Meta};

use crate::files::{assert_none, paths, root};
use crate::packages::{fuzz_targets, target_roots};

#[test]
fn every_rust_file_belongs_to_a_target() {
    let mut reached = BTreeSet::new();
    let fuzz_library = root().join("fuzz/src/lib.rs");
    for main in target_roots().into_iter().chain(fuzz_targets()).chain([fuzz_library]) {
        let folder = main.parent().unwrap().to_owned();
        follow(&main, &folder, &mut reached);
    }
    let sources = paths().into_iter().filter(|path| path.ends_with(".rs"));
    let dead = sources.filter(|path| !reached.contains(&root().join(path)));
    assert_none(dead.map(|path| format!("{path}: no `mod` leads to it")).collect());
}

/// Notes a file and all that its `mod` items lead to; `folder` is where those are looked for.
fn follow(path: &Path, folder: &Path, reached: &mut BTreeSet<PathBuf>) {
    let Ok(text) = fs::read_to_string(path) else {
        return;
    };
    if !reached.insert(path.to_owned()) {
        return;
    }
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    follow_items(&parsed.items, path, folder, reached);
}

fn follow_items(items: &[Item], path: &Path, folder: &Path, reached: &mut BTreeSet<PathBuf>) {
    for item in items {
        let Item::Mod(module) = item else {
            continue;
        };
        let name = module.ident.to_string();
        if let Some((_, items)) = &module.content {
            follow_items(items, path, &folder.join(&name), reached);
        } else if let Some(named) = path_attribute(module) {
            let target = path.parent().unwrap().join(named);
            let target = target.canonicalize().unwrap_or(target);
            follow(&target, target.parent().unwrap(), reached);
        } else {
            follow(&folder.join(format!("{name}.rs")), &folder.join(&name), reached);
            follow(&folder.join(&name).join("mod.rs"), &folder.join(&name), reached);
        }
    }
}

/// The file that `#[path = "…"]` names.
fn path_attribute(module: &ItemMod) -> Option<String> {
    module.attrs.iter().find_map(|attribute: &Attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value else {
            return None;
        };
        pair.path.is_ident("path").then(|| text.value())
    })
}
