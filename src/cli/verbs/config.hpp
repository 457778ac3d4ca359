#pragma once

#include "assembly/configuration_file.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace sagabox::cli {

/// Adds `sagabox config`. Sets `run` when it is the verb that was asked for.
void add_config(CLI::App& app, std::function<int()>& run);

/// `--config FILE`, read into `path`.
void add_config_option(CLI::App& verb, std::string& path);

/// The file that was named, else `$SAGABOX_CONFIG`, else `sagabox.yaml` if it is there, else none;
/// and the environment.
assembly::Source configuration_source(const std::string& path);

/// Reads it, and checks routes and transports without connecting to anything. What is wrong is in
/// `problems`.
assembly::Configured checked_configuration(const assembly::Source& source);

/// Each on a line of standard error; the exit code for them.
int refuse(const assembly::Configured& configured);

}  // namespace sagabox::cli
