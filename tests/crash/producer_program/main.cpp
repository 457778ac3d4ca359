// Writes random transactions: url= schema= promises= name= seed= connections= transactions=
// prepares=
#include "crash/producer.hpp"
#include "crash/settings.hpp"

#include <sagabox/stores/postgres.hpp>

#include <exception>
#include <iostream>

int main(int count, char** arguments) {
  using namespace sagabox;
  try {
    const crash::Settings given(count, arguments);
    const crash::ProducerSettings settings{
        .url = given.text("url"),
        .schema = given.text("schema"),
        .name = given.text("name"),
        .seed = given.number("seed", 1),
        .connections = static_cast<std::uint32_t>(given.number("connections", 3)),
        .transactions = static_cast<std::uint32_t>(given.number("transactions", 100)),
        .prepares = given.number("prepares", 0) != 0};
    const auto store =
        crash::patiently([&] { return postgres::open(settings.url, {.schema = settings.schema}); });
    auto outbox =
        crash::patiently([&] { return Outbox::writer_only(*store, {.table = "orders"}); });
    const crash::Journal promises(given.text("promises"));
    crash::produce(*store, outbox, settings, promises);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "producer: " << error.what() << '\n';
    return 1;
  }
}
