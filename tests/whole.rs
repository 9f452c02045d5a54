// One binary for the whole-tool tests.
