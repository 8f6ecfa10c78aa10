//! A treatment table as people read it.

use std::fmt;

use super::TreatmentTable;

impl fmt::Display for TreatmentTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "class        tried for           order      priority  path  what it holds")?;
        for (class, treatment) in self.iter() {
            let order = if treatment.ordered { "ordered" } else { "any" };
            let path = treatment.path.map_or_else(|| "any".to_owned(), |path| path.to_string());
            writeln!(
                f,
                "{class:<12} {:<19} {order:<10} {:<9} {path:<5} {}",
                treatment.reliability,
                treatment.priority,
                class.meaning()
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::treatment::Preset;

    #[test]
    fn columns_are_aligned() {
        let text = Preset::Layered.table().to_string();
        let meaning = text.lines().next().unwrap().find("what it holds").unwrap();
        for line in text.lines() {
            let (before, after) = line.split_at(meaning);
            assert!(before.ends_with(' ') && !after.starts_with(' '), "{line}");
        }
    }
}
