//! Layers → resolve → [`settings::Settings`]. Nothing else in the program reads the environment.

pub mod settings;
