#pragma once

#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <memory>

/// Appends messages as lines of JSON to files or to the standard output.
namespace sagabox::file {

struct Options {
  std::uint32_t in_flight_max = 4096;
  const Clock* clock = &system_clock();
};

/// For `file:path` and `stdout:`. A line is a CloudEvents 1.0 event in the JSON format. Missing
/// files are created, missing folders are not. The setting `sync: true` of a `file:` address: a
/// message counts as delivered after it was synced to disk.
std::unique_ptr<spi::Transport> open(const Options& options = {});

}  // namespace sagabox::file
