#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace sagabox::cli {

/// Adds `sagabox demo`. Sets `run` when it is the verb that was asked for; what `run` returns is
/// the exit code.
void add_demo(CLI::App& app, std::function<int()>& run);

}  // namespace sagabox::cli
