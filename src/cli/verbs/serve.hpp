#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace sagabox::cli {

/// Adds `sagabox serve`. Sets `run` when it is the verb that was asked for.
void add_serve(CLI::App& app, std::function<int()>& run);

}  // namespace sagabox::cli
