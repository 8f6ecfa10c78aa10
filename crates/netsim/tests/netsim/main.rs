//! Machines on simulated networks, by theme.

mod capture;
mod cells;
mod machines;
mod network;
mod properties;
mod scenarios;
mod simulation;
