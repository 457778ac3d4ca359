#pragma once

#include "delivery/json_node.hpp"

#include <sagabox/hub_record.hpp>
#include <sagabox/result.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace sagabox::delivery {

/// What bounds the cost of a filter. One event costs at most a parse of its payload, and for each
/// node of a filter a walk of `path_parts_max` steps and a comparison.
struct FilterBounds {
  static constexpr std::size_t bytes_max = 8192;
  static constexpr std::size_t depth_max = 8;    ///< of and, or, not
  static constexpr std::size_t nodes_max = 256;  ///< operators and listed values
  static constexpr std::size_t path_parts_max = 16;
};

/// An event as filters see it. Its payload is parsed when a filter first asks for it, and once.
/// Not thread-safe; the event outlives it.
class FilteredEvent {
 public:
  explicit FilteredEvent(const HubEvent& event);
  FilteredEvent(const FilteredEvent&) = delete;
  FilteredEvent& operator=(const FilteredEvent&) = delete;
  ~FilteredEvent();

 private:
  friend class Filter;
  struct Parsed;
  const HubEvent& event_;
  std::unique_ptr<Parsed> parsed_;
};

/// Whether an event is wanted, by its payload. docs/hub.md describes the language:
///
///     {"order.total": {"gte": 100}, "order.country": ["NO", "SE"],
///      "or": [{"vip": true}, {"order.code": {"prefix": "A-"}}]}
///
/// Copies share what was read; safe to use from any thread.
class Filter {
 public:
  /// Wants every event.
  Filter() = default;
  /// SCHEMA.VALIDATION_FAILED with the place of the mistake: `filter.or[1].total.gtt: …`.
  static Result<Filter> parse(std::string_view json, std::string_view where = "filter");
  static Result<Filter> read(const JsonNode& node, std::string_view where);

  [[nodiscard]] bool wants(FilteredEvent& event) const;
  [[nodiscard]] bool wants_all() const noexcept { return root_ == nullptr; }

 private:
  struct Group;
  struct Test;
  struct Reading;
  static bool holds(const Group& group, FilteredEvent& event);
  static bool holds(const Test& test, FilteredEvent& event);

  std::shared_ptr<const Group> root_;
};

}  // namespace sagabox::delivery
