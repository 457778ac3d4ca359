#include "conformance/saga/saga_conformance.hpp"

namespace sagabox::conformance {
namespace {

SagaDefinitionRecord definition(std::string name, std::uint32_t version, std::string text,
                                WallTime at) {
  const auto digest = sha256(text);
  return {.name = std::move(name),
          .version = version,
          .digest = digest,
          .text = std::move(text),
          .registered_at = at};
}

TEST_P(SagaConformance, DefinitionIsStoredOnceAndOtherContentIsRefused) {
  const auto first = definition("travel", 1, R"({"steps":[]})", now());
  sagas().define(first).value();
  sagas().define(first).value();
  EXPECT_EQ(sagas().define(definition("travel", 1, R"({"steps":[1]})", now())).error().code,
            Code::tx_invalid_state);
  const auto stored = sagas().definitions("travel").value();
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].text, first.text);
  EXPECT_EQ(stored[0].digest, first.digest);
  EXPECT_EQ(stored[0].registered_at, first.registered_at);
}

TEST_P(SagaConformance, DefinitionsAreListedByNameAndVersion) {
  for (const auto& [name, version] : std::vector<std::pair<std::string, std::uint32_t>>{
           {"travel", 2}, {"refund", 1}, {"travel", 1}, {"travel", 10}}) {
    sagas().define(definition(name, version, "{}", now())).value();
  }
  const auto names = [&](std::string_view of) {
    std::vector<std::string> found;
    for (const auto& one : sagas().definitions(of).value()) {
      found.push_back(one.name + " " + std::to_string(one.version));
    }
    return found;
  };
  EXPECT_EQ(names("travel"), (std::vector<std::string>{"travel 1", "travel 2", "travel 10"}));
  EXPECT_EQ(names(""), (std::vector<std::string>{"refund 1", "travel 1", "travel 2", "travel 10"}));
  EXPECT_EQ(names("other"), std::vector<std::string>{});
}

}  // namespace
}  // namespace sagabox::conformance
