#pragma once

#include <sagabox/admin.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

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

/// Request bodies.

/// A checked message with its id. If `tenant` is nullopt, the daemon chooses it.
std::string enqueue(const Message& message, const std::optional<std::string>& tenant);
std::string move(std::span<const MessageId> ids, const std::optional<std::string>& note,
                 const std::optional<std::string>& tenant, std::span<const Sequence> sequences,
                 bool as_new);
std::string pause(const std::string& topic, const std::string& note);
/// Whole seconds, rounded up, so that no younger message is included.
std::string purge(const PurgeOrder& order);
std::string preview(const ReplayOrder& order);
std::string replay(const ReplayOrder& order);
std::string forget_idempotency(const std::string& store, const IdempotencyKey& key,
                               const std::string& note);
std::string purge_idempotency(const std::string& store);

}  // namespace sagabox::cli::requests
