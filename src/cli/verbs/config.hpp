#pragma once

#include "assembly/configuration_file.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace sagabox::cli {

/// Adds `sagabox config`. Sets `run` if this verb is chosen.
void add_config(CLI::App& app, std::function<int()>& run);

/// `--config FILE`, read into `path`.
void add_config_option(CLI::App& verb, std::string& path);

/// The named file, otherwise `$SAGABOX_CONFIG`, otherwise `sagabox.yaml` if it exists, otherwise
/// none; and the environment.
assembly::Source configuration_source(const std::string& path);

/// Reads it, and checks routes and transports without connecting to anything. Errors are in
/// `problems`.
assembly::Configured checked_configuration(const assembly::Source& source);

/// Prints each problem on a line of standard error; returns the exit code.
int refuse(const assembly::Configured& configured);

}  // namespace sagabox::cli
