//! A treatment table as people read it.

use std::fmt;

use anabranch_transport::PathPreference;

use super::TreatmentTable;

impl fmt::Display for TreatmentTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "class        tried for           order      priority  level  path")?;
        for (class, treatment) in self.iter() {
            let order = if treatment.ordered { "ordered" } else { "any" };
            let path = match treatment.preference() {
                PathPreference::Any => "any".to_owned(),
                PathPreference::Prefer(path) => path.0.to_string(),
                PathPreference::Two => "two".to_owned(),
            };
            writeln!(
                f,
                "{class:<12} {:<19} {order:<10} {:<9} {:<6} {path}",
                treatment.reliability,
                treatment.priority,
                treatment.level_of(class) as u8,
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
        let heading = text.lines().next().unwrap();
        for name in ["tried for", "order", "priority", "level", "path"] {
            let column = heading.find(name).unwrap();
            for line in text.lines() {
                let (before, after) = line.split_at(column);
                assert!(before.ends_with(' ') && !after.starts_with(' '), "{name}: {line}");
            }
        }
    }
}
