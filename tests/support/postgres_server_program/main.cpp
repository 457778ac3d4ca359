// Starts and stops the PostgreSQL of a ctest run: `start FILE`, `stop FILE`. The file tells the
// tests where it is.
#include "support/postgres_server.hpp"

#include <unistd.h>

#include <iostream>
#include <string_view>

int main(int count, char** arguments) {
  using sagabox::testing::PostgresServer;
  const std::string_view verb = count == 3 ? arguments[1] : "";
  if (verb != "start" && verb != "stop") {
    std::cerr << "usage: postgres_server start|stop FILE\n";
    return 2;
  }
  // A killed run may have left one.
  PostgresServer::stop_written(arguments[2]);
  if (verb == "stop") return 0;
  const auto server = PostgresServer::start(getppid(), PostgresServer::Disk::unsynced);
  server.write(arguments[2]);
  if (server.problem.empty()) {
    std::cout << "PostgreSQL on port " << server.port << '\n';
    return 0;
  }
  // If PostgreSQL is not installed, tests that need it are skipped; if it is installed and does not
  // start, that is a failure.
  std::cout << server.problem << '\n';
  return server.installed ? 1 : 0;
}
