#include "cli/command_line.hpp"

int main(int argc, char** argv) { return sagabox::cli::command_line(argc, argv); }
