#pragma once

#include <sagabox/spi/transport.hpp>

#include <cstdint>
#include <memory>

/// Messages as lines of JSON, at the end of files and on the standard output.
namespace sagabox::file {

struct Options {
  std::uint32_t in_flight_max = 4096;
  const Clock* clock = &system_clock();
};

/// For `file:path` and `stdout:`. A line is a CloudEvents 1.0 event in the JSON format. Files are
/// made when they are not there, folders are not. Settings of a `file:` address: `sync: true`,
/// delivered is what the disk has.
std::unique_ptr<spi::Transport> open(const Options& options = {});

}  // namespace sagabox::file
