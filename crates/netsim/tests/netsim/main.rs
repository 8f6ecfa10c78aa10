//! Machines on simulated networks, by theme.

mod machines;
mod simulation;
