#pragma once

namespace sagabox::cli {

/// The whole program: runs the command line and returns the exit code.
int command_line(int argc, char** argv);

}  // namespace sagabox::cli
