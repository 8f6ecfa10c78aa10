//! `anabranch lab`: scenarios of one's own, the papers' experiments, our programs beside others.

mod almajeed2011;
mod chang2010;
mod common;
mod compare;
mod folder;
mod huseynli2023;
mod kim2007;
mod merge;
mod ortiz2013;
mod parameters;
mod plot;
mod run;
mod runner;
mod runs;
mod store;
mod tables;
mod trace;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Runs scenarios and papers' experiments with the real stacks in the simulator.
#[derive(Debug, Args)]
pub(crate) struct Lab {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Debug, Subcommand)]
enum Experiment {
    Almajeed2011(almajeed2011::Almajeed2011),
    Chang2010(chang2010::Chang2010),
    Compare(compare::Compare),
    Huseynli2023(huseynli2023::Huseynli2023),
    Kim2007(kim2007::Kim2007),
    Merge(merge::Merge),
    Ortiz2013(ortiz2013::Ortiz2013),
    Plot(plot::Plot),
    Run(run::LabRun),
    Trace(trace::Trace),
}

impl Lab {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self.experiment {
            Experiment::Almajeed2011(experiment) => experiment.run(),
            Experiment::Chang2010(experiment) => experiment.run().await,
            Experiment::Compare(experiment) => experiment.run().await,
            Experiment::Huseynli2023(experiment) => experiment.run(),
            Experiment::Kim2007(experiment) => experiment.run().await,
            Experiment::Merge(merge) => match merge.run()? {
                Some(paper) => Box::pin(paper.run()).await,
                None => Ok(()),
            },
            Experiment::Ortiz2013(experiment) => experiment.run(),
            Experiment::Plot(plot) => plot.run(),
            Experiment::Run(run) => run.run(),
            Experiment::Trace(trace) => trace.run(),
        }
    }
}
