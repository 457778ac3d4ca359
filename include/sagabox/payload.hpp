#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox {

using Digest = std::array<std::uint8_t, 32>;

/// SHA-256.
Digest sha256(std::string_view bytes);
std::string hex(const Digest& digest);

enum class PayloadForm : std::uint8_t { json, bytes };

/// The payload of a message: exactly the bytes that were written, shared and immutable.
class Payload {
 public:
  /// No payload. A message requires one; `json("null")` is valid.
  Payload() = default;
  Payload(PayloadForm form, std::string data) : form_(form), size_(data.size()) {
    auto kept = std::make_shared<const std::string>(std::move(data));
    const char* const first = kept->data();
    data_ = std::shared_ptr<const char>(std::move(kept), first);
  }
  /// A text alone does not say which form it has: this does not compile, and says what does.
  template <class Text>
    requires std::convertible_to<Text, std::string_view>
  Payload(Text&& /*text*/) {
    static_assert(!std::convertible_to<Text, std::string_view>,
                  "a payload is sagabox::json(text) or sagabox::bytes(text), not a text alone");
  }
  /// For bytes that belong to somebody else: one allocation.
  static Payload copy_of(PayloadForm form, std::string_view data);

  [[nodiscard]] bool given() const noexcept { return data_ != nullptr; }
  [[nodiscard]] PayloadForm form() const noexcept { return form_; }
  [[nodiscard]] std::string_view view() const noexcept { return {data_.get(), size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The JSON text as written; empty for bytes.
  [[nodiscard]] std::string_view json() const noexcept {
    return form_ == PayloadForm::json ? view() : std::string_view();
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    const auto text = view();
    return std::as_bytes(std::span(text.data(), text.size()));
  }

 private:
  PayloadForm form_ = PayloadForm::bytes;
  std::size_t size_ = 0;
  std::shared_ptr<const char> data_;
};

/// JSON text (RFC 8259), checked when the message is built and delivered byte for byte.
inline Payload json(std::string text) { return {PayloadForm::json, std::move(text)}; }
inline Payload bytes(std::string data) { return {PayloadForm::bytes, std::move(data)}; }

/// JSON that is nested deeper is refused.
inline constexpr std::size_t json_depth_max = 512;

/// Empty if `text` is one JSON value, else what is wrong and where. Never quotes the text. Names
/// may repeat within an object. Stricter than RFC 8259 in two points: \u escapes of lone surrogates
/// and exponents beyond 32 bits are refused.
std::string json_problem(std::string_view text);

}  // namespace sagabox
