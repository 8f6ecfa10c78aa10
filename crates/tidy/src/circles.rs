//! No two modules of a crate that need each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{ItemMod, PathSegment, UseTree};

use crate::files::{assert_none, written_in};
use crate::packages::target_roots;

/// Crates whose modules are still in circles: the parts of an association, of a connection.
const IN_CIRCLES: [&str; 2] = ["crates/dccp/src", "crates/sctp/src"];

#[test]
fn modules_of_a_crate_depend_on_each_other_one_way() {
    let mut faults = Vec::new();
    for folder in source_folders() {
        let circles = circles(&dependencies(&folder));
        let is_known = IN_CIRCLES.contains(&folder.as_str());
        match circles.is_empty() {
            true if is_known => faults.push(format!("{folder}: no longer in circles: unlist it")),
            false if !is_known => {
                let names = |circle: &BTreeSet<String>| {
                    let names: Vec<&str> = circle.iter().map(String::as_str).collect();
                    format!("{folder}: {} need each other", names.join(", "))
                };
                faults.extend(circles.iter().map(names));
            }
            true | false => {}
        }
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
    for file in written_in(&["rs"]) {
        let Ok(within) = Path::new(&file.path).strip_prefix(folder) else { continue };
        let Some(first) = within.components().next() else { continue };
        let module = first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
        let is_test = within.components().any(|part| part.as_os_str() == "tests");
        if is_test || matches!(module.as_str(), "lib" | "main" | "tests" | "bin") {
            continue;
        }
        let parsed = syn::parse_file(&file.text).unwrap_or_else(|e| panic!("{}: {e}", file.path));
        let mut names = Names::default();
        names.visit_file(&parsed);
        found.entry(module).or_default().extend(names.0);
    }
    let modules: BTreeSet<String> = found.keys().cloned().collect();
    for (module, named) in &mut found {
        named.retain(|name| name != module && modules.contains(name));
    }
    found
}

/// What follows `crate::` outside tests.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let is_test = |attribute: &syn::Attribute| {
            attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "test")
        };
        if !module.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_use_tree(&mut self, tree: &'ast UseTree) {
        if let UseTree::Path(path) = tree
            && path.ident == "crate"
        {
            self.note_tree(&path.tree);
        }
        visit::visit_use_tree(self, tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut segments = path.segments.iter();
        if segments.next().is_some_and(|first| first.ident == "crate") {
            self.0.extend(segments.next().map(|PathSegment { ident, .. }| ident.to_string()));
        }
        visit::visit_path(self, path);
    }
}

impl Names {
    fn note_tree(&mut self, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => _ = self.0.insert(path.ident.to_string()),
            UseTree::Name(name) => _ = self.0.insert(name.ident.to_string()),
            UseTree::Rename(rename) => _ = self.0.insert(rename.ident.to_string()),
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
    let mut names = Names::default();
    names.visit_file(&syn::parse_file(text).unwrap());
    assert_eq!(names.0, BTreeSet::from(["a", "c", "d"].map(str::to_owned)));
}
