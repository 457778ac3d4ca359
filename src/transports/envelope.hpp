#pragma once

#include <sagabox/spi/transport.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sagabox::transports {

/// The attributes sent beside the payload, under their CloudEvents 1.0 names; each transport spells
/// them as its protocol's binding says (`ce-id`, `ce_id` …). The content type is not included:
/// protocols have a field of their own for it.
class Envelope {
 public:
  /// Refers to the parcel's message.
  explicit Envelope(const spi::Parcel& parcel);
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;

  struct Attribute {
    std::string_view name;
    std::string_view value;
  };
  /// No attribute is empty.
  [[nodiscard]] std::span<const Attribute> attributes() const noexcept {
    return {attributes_.data(), count_};
  }

 private:
  static constexpr std::size_t attributes_max = 18;
  static constexpr std::size_t digits_max = 20;
  static constexpr std::size_t numbers = 4;

  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, std::uint64_t number);

  std::array<Attribute, attributes_max> attributes_{};
  std::size_t count_ = 0;
  std::array<char, digits_max * numbers> digits_{};
  std::size_t digits_used_ = 0;
  std::string source_;
  std::string time_;
};

/// Whether a header of the author's may be sent under its own name. Headers that the envelope or a
/// protocol sets may not, otherwise one message could pass for another.
[[nodiscard]] bool may_travel(std::string_view header_name) noexcept;

}  // namespace sagabox::transports
