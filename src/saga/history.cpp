#include "saga/history.hpp"

#include "core/json_quote.hpp"
#include "saga/decide.hpp"

#include <sagabox/payload.hpp>

#include <type_traits>

namespace sagabox::saga {
namespace {

/// Another encoding gets another number, so that old entries still verify.
constexpr char history_encoding = 1;

template <class Integer>
void append_big_endian(std::string& bytes, Integer value) {
  const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  for (std::size_t shift = 8 * sizeof bits; shift != 0; shift -= 8) {
    bytes += static_cast<char>(static_cast<unsigned char>(bits >> (shift - 8)));
  }
}

void append_sized(std::string& bytes, std::string_view text) {
  append_big_endian(bytes, std::uint64_t{text.size()});
  bytes += text;
}

}  // namespace

void Detail::begin(std::string_view name) {
  out_ += out_.empty() ? '{' : ',';
  append_json_string(out_, name);
  out_ += ':';
}

Detail& Detail::text(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  begin(name);
  append_json_string(out_, value);
  return *this;
}

Detail& Detail::number(std::string_view name, std::uint64_t value) {
  begin(name);
  out_ += std::to_string(value);
  return *this;
}

Detail& Detail::digest_of(std::string_view name, std::string_view bytes) {
  return text(name, hex(sha256(bytes)));
}

Digest history_hash(const SagaHistoryEntry& entry, const Digest& before) {
  std::string bytes(1, history_encoding);
  bytes.reserve(80 + entry.event.size() + entry.step.size() + entry.detail.size());
  bytes.append(reinterpret_cast<const char*>(before.data()), before.size());
  append_big_endian(bytes, entry.number);
  append_big_endian(bytes, std::int64_t{entry.at.time_since_epoch().count()});
  append_sized(bytes, entry.event);
  append_sized(bytes, entry.step);
  append_sized(bytes, entry.detail);
  return sha256(bytes);
}

std::string verify_history(const std::vector<SagaHistoryEntry>& entries, const Instance& instance) {
  const auto removed_to = history_removed_to(instance.history_number);
  std::uint32_t expected = 1;
  Digest before{};
  bool linked = true;  // the hash before the next entry is known
  for (const auto& entry : entries) {
    const auto name = "entry " + std::to_string(entry.number);
    if (entry.number != expected) {
      // Entries in the middle of a long history are removed, all or, in an older state, fewer.
      const bool removed = expected == history_first_max + 1 && entry.number > expected &&
                           entry.number <= removed_to + 1;
      if (!removed) {
        return name + ": stands where entry " + std::to_string(expected) + " should be";
      }
      linked = false;
    }
    if (linked && history_hash(entry, before) != entry.hash) {
      return name + ": it, or the one before, was changed";
    }
    before = entry.hash;
    linked = true;
    expected = entry.number + 1;
  }
  if (expected != instance.history_number + 1) {
    return "the history ends before entry " + std::to_string(instance.history_number) +
           ", its last one";
  }
  if (before != instance.history_hash) return "the last entry is not the one the saga names";
  return {};
}

}  // namespace sagabox::saga
