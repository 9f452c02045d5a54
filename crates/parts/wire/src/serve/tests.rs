//! The server half against our own client half, without a server.
