#pragma once

namespace sagabox::cli {

/// The whole program: does what was typed and returns the exit code.
int command_line(int argc, char** argv);

}  // namespace sagabox::cli
