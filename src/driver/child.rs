//! A stdio server's process: spawned by us, owned by us, its end proved by us.
