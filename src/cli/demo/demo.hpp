#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace sagabox::cli {

/// Adds `sagabox demo`. Sets `run` if this verb is chosen; the result of `run` is the exit code.
void add_demo(CLI::App& app, std::function<int()>& run);

}  // namespace sagabox::cli
