//! Machines on simulated networks, by theme.

mod capture;
mod machines;
mod simulation;
