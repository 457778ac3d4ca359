#include "server/api/openapi_document.hpp"
#include "server/api/routes.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace sagabox::server {
namespace {

namespace json = boost::json;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

json::object document() {
  const auto text = openapi_document();
  return json::parse({text.data(), text.size()}).as_object();
}

std::string_view role_of(Needs needs) {
  constexpr std::array<std::string_view, 4> names{"", "read", "operate", "admin"};
  return names.at(static_cast<std::size_t>(needs));
}

TEST(OpenApi, DescribesEveryRouteAndNoOther) {
  const auto api = document();
  const auto& paths = api.at("paths").as_object();
  std::set<std::string> described;
  for (const auto& [path, methods] : paths) {
    for (const auto& [method, operation] : methods.as_object()) {
      described.insert(std::string(method) + " " + std::string(path));
    }
  }
  std::set<std::string> there;
  for (const auto& route : routes()) {
    there.insert(lower_case(route.method) + " " + std::string(route.path));
  }
  EXPECT_EQ(described, there);
}

TEST(OpenApi, SaysOfEveryRouteWhoMayCallIt) {
  const auto api = document();
  for (const auto& route : routes()) {
    const auto& operation = api.at("paths")
                                .at(json::string(route.path))
                                .at(json::string(lower_case(route.method)))
                                .as_object();
    EXPECT_EQ(operation.at("operationId").as_string(), route.operation);
    const bool open = operation.contains("security");
    EXPECT_EQ(open, route.needs == Needs::nothing) << route.operation;
    const auto words = open ? std::string("Needs no key.")
                            : "Needs the role " + std::string(role_of(route.needs)) + ".";
    EXPECT_NE(std::string(operation.at("description").as_string()).find(words), std::string::npos)
        << route.operation;
  }
}

TEST(OpenApi, HasEveryErrorCode) {
  const auto api = document();
  const auto& listed = api.at("components").at("schemas").at("Code").at("enum").as_array();
  ASSERT_EQ(listed.size(), code_count);
  for (const auto& name : listed) {
    const std::string text(name.as_string());
    EXPECT_EQ(code_name(code_from_name(text)), text);
  }
}

TEST(Routes, NamesOfOperationsDiffer) {
  std::set<std::string_view> names;
  for (const auto& route : routes()) {
    EXPECT_TRUE(names.insert(route.operation).second) << route.operation;
    EXPECT_NE(route.answer == nullptr, route.begin == nullptr) << route.operation;
  }
}

}  // namespace
}  // namespace sagabox::server
