#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace sagabox::cli {

/// Adds `sagabox key create|list|revoke`, which manage the keys of a daemon's callers. `run` is set
/// as by the other verbs.
void add_key(CLI::App& app, std::function<int()>& run);

}  // namespace sagabox::cli
