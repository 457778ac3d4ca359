#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace sagabox::cli {

/// Adds `sagabox serve`. Sets `run` if this verb is chosen.
void add_serve(CLI::App& app, std::function<int()>& run);

}  // namespace sagabox::cli
