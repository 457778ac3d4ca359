// Starts and stops the PostgreSQL of a ctest run: `start FOLDER`, `stop FOLDER`.
#include "support/postgres_server.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

int main(int count, char** arguments) {
  using sagabox::testing::PostgresServer;
  const std::string_view verb = count == 3 ? arguments[1] : "";
  if (verb == "stop") {
    PostgresServer::stop(arguments[2]);
    return 0;
  }
  if (verb != "start") {
    std::cerr << "usage: postgres_server start|stop FOLDER\n";
    return 2;
  }
  // A run that was killed may have left it.
  PostgresServer::stop(arguments[2]);
  const auto server = PostgresServer::start(arguments[2], getppid());
  if (server.problem.empty()) {
    std::cout << "PostgreSQL on port " << server.port << '\n';
    return 0;
  }
  // Not a failure: the tests that need it skip, and say this.
  std::cout << server.problem << '\n';
  std::filesystem::create_directories(arguments[2]);
  std::ofstream(std::filesystem::path(arguments[2]) / "problem") << server.problem << '\n';
  return 0;
}
