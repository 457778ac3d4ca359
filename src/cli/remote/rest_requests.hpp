#pragma once

#include "wire/put.hpp"

#include <sagabox/admin.hpp>

#include <string>
#include <string_view>
#include <utility>

/// The requests to a daemon, as in docs/rest.md and its OpenAPI document. Pure.
namespace sagabox::cli::requests {

/// A path and its query, both encoded.
class Target {
 public:
  /// "/v1/tables/orders" + `below`
  Target(const TableName& table, std::string_view below);
  explicit Target(std::string path) : text_(std::move(path)) {}

  Target& add(std::string_view name, std::string_view value);
  Target& add(std::string_view name, std::uint64_t value) {
    return add(name, std::string_view(std::to_string(value)));
  }
  Target& add_filter(MessageState state, const MessageFilter& filter);
  [[nodiscard]] const std::string& str() const noexcept { return text_; }

 private:
  std::string text_;
  bool has_query_ = false;
};

Target list(const TableName& table, const ListQuery& query);
Target message(const TableName& table, const MessageId& id, std::string_view below = {});
std::string findings_path(const std::string& store);
Target job(const TableName& table, ReplayJobId id, std::string_view below = {});

/// The body of a request: the order as an object.
template <class... Parts>
std::string body(const Parts&... parts) {
  wire::JsonOut json;
  return std::move(wire::put(json, parts...)).take();
}

}  // namespace sagabox::cli::requests
