//! No two modules of a crate that need each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{ItemMod, ItemUse, PathSegment, UseTree};

use crate::files::{assert_none, written_in};
use crate::packages::target_roots;

#[test]
fn modules_of_a_crate_depend_on_each_other_one_way() {
    let mut faults = Vec::new();
    for folder in source_folders() {
        let named = |circle: &BTreeSet<String>| {
            let names: Vec<&str> = circle.iter().map(String::as_str).collect();
            format!("{folder}: {} need each other", names.join(", "))
        };
        faults.extend(circles(&dependencies(&folder)).iter().map(named));
    }
    assert_none(faults);
}

/// For each top-level module the others that it names.
type Dependencies = BTreeMap<String, BTreeSet<String>>;

fn source_folders() -> BTreeSet<String> {
    let roots = target_roots();
    let root = crate::files::root();
    let folders = roots.iter().filter_map(|main| main.parent()?.strip_prefix(&root).ok());
    folders.filter(|folder| folder.ends_with("src")).map(|it| it.display().to_string()).collect()
}

fn dependencies(folder: &str) -> Dependencies {
    let mut found = Dependencies::new();
    let mut exports = Exports::default();
    for file in written_in(&["rs"]) {
        let Ok(within) = Path::new(&file.path).strip_prefix(folder) else { continue };
        let Some(first) = within.components().next() else { continue };
        let module = first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
        let is_test = within.components().any(|part| part.as_os_str() == "tests");
        if module == "lib" {
            exports.visit_file(&parse(&file.path, &file.text));
        }
        if is_test || matches!(module.as_str(), "lib" | "main" | "tests" | "bin") {
            continue;
        }
        let mut names = Names::at(depth(within));
        names.visit_file(&parse(&file.path, &file.text));
        found.entry(module).or_default().extend(names.found);
    }
    let modules: BTreeSet<String> = found.keys().cloned().collect();
    for (module, named) in &mut found {
        let exported = named.iter().filter_map(|name| exports.modules.get(name));
        let exported: Vec<_> = exported.cloned().collect();
        named.extend(exported);
        named.retain(|name| name != module && modules.contains(name));
    }
    found
}

fn parse(path: &str, text: &str) -> syn::File {
    syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Which module each name of a crate's root comes from.
#[derive(Default)]
struct Exports {
    modules: BTreeMap<String, String>,
}

impl<'ast> Visit<'ast> for Exports {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if let UseTree::Path(path) = &item.tree {
            self.note(&path.ident.to_string(), &path.tree);
        }
    }
}

impl Exports {
    fn note(&mut self, module: &str, tree: &UseTree) {
        let name = match tree {
            UseTree::Path(path) => return self.note(module, &path.tree),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.note(module, item));
            }
            UseTree::Name(name) => &name.ident,
            UseTree::Rename(rename) => &rename.rename,
            UseTree::Glob(_) => return,
        };
        self.modules.insert(name.to_string(), module.to_owned());
    }
}

/// How many modules deep a file's own one is: 1 at the top.
fn depth(within: &Path) -> usize {
    let is_folders_own = within.file_name().is_some_and(|name| name == "mod.rs");
    within.components().count() - usize::from(is_folders_own)
}

/// What follows `crate::`, or as many `super::` as lead to the same place, outside tests.
struct Names {
    found: BTreeSet<String>,
    /// How many modules deep we are.
    depth: usize,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let is_test = |attribute: &syn::Attribute| {
            attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "test")
        };
        if !module.attrs.iter().any(is_test) {
            self.depth += 1;
            visit::visit_item_mod(self, module);
            self.depth -= 1;
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.note_use(&item.tree, self.depth);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let is_up = |segment: &&PathSegment| segment.ident == "super";
        let steps_up = path.segments.iter().take_while(is_up).count();
        let begins_at_top = path.segments.first().is_some_and(|first| first.ident == "crate");
        let to_top = if begins_at_top { 1 } else { steps_up };
        if begins_at_top || steps_up == self.depth {
            let named = path.segments.iter().nth(to_top);
            self.found.extend(named.map(|segment| segment.ident.to_string()));
        }
        visit::visit_path(self, path);
    }
}

impl Names {
    const fn at(depth: usize) -> Self {
        Self { found: BTreeSet::new(), depth }
    }

    /// Follows an import up to the top, from a module that is so deep.
    fn note_use(&mut self, tree: &UseTree, depth: usize) {
        match tree {
            UseTree::Path(path) if path.ident == "crate" => self.note_tree(&path.tree),
            UseTree::Path(path) if path.ident == "self" => self.note_use(&path.tree, depth),
            UseTree::Path(path) if path.ident == "super" => match depth {
                0 | 1 => self.note_tree(&path.tree),
                deeper => self.note_use(&path.tree, deeper - 1),
            },
            UseTree::Group(group) => group.items.iter().for_each(|it| self.note_use(it, depth)),
            UseTree::Path(_) | UseTree::Name(_) | UseTree::Rename(_) | UseTree::Glob(_) => {}
        }
    }

    fn note_tree(&mut self, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => _ = self.found.insert(path.ident.to_string()),
            UseTree::Name(name) => _ = self.found.insert(name.ident.to_string()),
            UseTree::Rename(rename) => _ = self.found.insert(rename.ident.to_string()),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.note_tree(item)),
            UseTree::Glob(_) => {}
        }
    }
}

/// The sets of modules each of which leads to all others of its set.
fn circles(dependencies: &Dependencies) -> BTreeSet<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<String>> =
        dependencies.keys().map(|module| (module, reached_from(module, dependencies))).collect();
    let circle = |module: &String| -> BTreeSet<String> {
        let there = &reached[module];
        there.iter().filter(|other| reached[other].contains(module)).cloned().collect()
    };
    dependencies.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

fn reached_from(module: &String, dependencies: &Dependencies) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = dependencies[module].iter().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next.clone()) {
            open.extend(&dependencies[next]);
        }
    }
    reached
}

#[test]
fn a_circle_is_found_however_long_it_is() {
    let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("c", "e")];
    let mut dependencies = Dependencies::new();
    for (from, to) in edges {
        dependencies.entry(from.to_owned()).or_default().insert(to.to_owned());
        dependencies.entry(to.to_owned()).or_default();
    }
    let found = circles(&dependencies);
    let expected = BTreeSet::from(["a", "b", "c"].map(str::to_owned));
    assert_eq!(found, BTreeSet::from([expected]));
}

#[test]
fn what_is_named_in_tests_does_not_count() {
    let text = "use crate::{a::B, c};\nfn f() { crate::d::g() }\n#[cfg(test)]\nmod tests { use \
                crate::e; }";
    assert_eq!(named(text, 1), BTreeSet::from(["a", "c", "d"].map(str::to_owned)));
}

#[test]
fn regression_modules_that_name_each_other_by_super_were_not_seen() {
    let text = "use super::{a::B, super::c::{D, E}};\nfn f() { super::super::g::h() }\nmod inner { \
                use super::super::super::i; use super::super::j; }";
    assert_eq!(named(text, 2), BTreeSet::from(["c", "g", "i"].map(str::to_owned)));
    assert_eq!(named("use super::a;\nfn f() -> super::b::C {}", 1).len(), 2);
}

#[test]
fn a_folders_own_module_is_as_deep_as_the_folder() {
    let depths = ["a.rs", "a/mod.rs", "a/b.rs", "a/b/mod.rs"].map(|file| depth(Path::new(file)));
    assert_eq!(depths, [1, 1, 2, 2]);
}

/// What a file names of the top, whose module is so deep.
fn named(text: &str, depth: usize) -> BTreeSet<String> {
    let mut names = Names::at(depth);
    names.visit_file(&syn::parse_file(text).unwrap());
    names.found
}
