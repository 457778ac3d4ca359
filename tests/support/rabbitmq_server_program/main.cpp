// Starts and ends the RabbitMQ of a ctest run: `start FILE`, `stop FILE`. The file tells the tests
// where it is.
#include "support/rabbitmq_server.hpp"

#include <unistd.h>

#include <iostream>
#include <string_view>

int main(int count, char** arguments) {
  using sagabox::testing::RabbitmqServer;
  const std::string_view verb = count == 3 ? arguments[1] : "";
  if (verb != "start" && verb != "stop") {
    std::cerr << "usage: rabbitmq_server start|stop FILE\n";
    return 2;
  }
  // A killed run may have left one.
  RabbitmqServer::end_written(arguments[2]);
  if (verb == "stop") return 0;
  const auto server = RabbitmqServer::start_new(getppid());
  server.write(arguments[2]);
  if (server.problem().empty()) {
    std::cout << "RabbitMQ on port " << server.port() << '\n';
    return 0;
  }
  // If RabbitMQ is not installed, tests that need it are skipped; if it is installed and does not
  // start, that is a failure.
  std::cout << server.problem() << '\n';
  return RabbitmqServer::missing().empty() ? 1 : 0;
}
