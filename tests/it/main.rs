//! Behaviour of the whole program, one module per behaviour.

mod support;
