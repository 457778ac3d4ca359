#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace sagabox::cli {

/// Adds `sagabox key create|list|revoke`: who may call a daemon. `run` is set as by the other
/// verbs.
void add_key(CLI::App& app, std::function<int()>& run);

}  // namespace sagabox::cli
