#include <sagabox/audit.hpp>

#include <type_traits>
#include <utility>

namespace sagabox {
namespace {

/// The version of the encoding below. A changed encoding needs a new version, so that old entries
/// still verify.
constexpr char encoding_version = 1;

/// An unambiguous encoding: every field has a fixed length or is preceded by its length.
class Encoding {
 public:
  Encoding() : bytes_(1, encoding_version) {}

  template <class Integer>
  void number(Integer value) {
    const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
    for (std::size_t shift = 8 * sizeof bits; shift != 0; shift -= 8) {
      bytes_ += static_cast<char>(static_cast<unsigned char>(bits >> (shift - 8)));
    }
  }
  void text(std::string_view text) {
    number(std::uint64_t{text.size()});
    bytes_ += text;
  }
  void digest(const Digest& digest) {
    for (const auto byte : digest) bytes_ += static_cast<char>(byte);
  }

  [[nodiscard]] Digest hash() const { return sha256(bytes_); }

 private:
  std::string bytes_;
};

Digest hash_of(std::uint64_t number, const AuditEvent& event, const Digest& previous) {
  Encoding encoding;
  encoding.number(number);
  encoding.digest(previous);
  encoding.text(audit_name(event.kind));
  encoding.number(std::int64_t{event.at.time_since_epoch().count()});
  encoding.text(event.table);
  encoding.text(event.tenant);
  encoding.text(event.topic);
  encoding.text(event.message_id);
  encoding.number(event.attempt);
  encoding.digest(event.digest);
  encoding.text(event.traceparent);
  encoding.text(event.code);
  encoding.text(event.detail);
  encoding.text(event.actor);
  return encoding.hash();
}

std::string entry_name(std::uint64_t number) { return "entry " + std::to_string(number); }

std::string entries(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " entry is" : " entries are");
}

std::string wrong_number(std::uint64_t number, std::uint64_t expected) {
  if (number > expected) {
    return entry_name(number) + ": " + entries(number - expected) + " missing before it";
  }
  return entry_name(number) + ": stands where " + entry_name(expected) +
         " should be; it is repeated, inserted or out of order";
}

}  // namespace

AuditEntry chain(const AuditHead& head, AuditEvent event) {
  AuditEntry entry{head.number + 1, std::move(event), head.hash, {}};
  entry.hash = hash_of(entry.number, entry.event, entry.previous);
  return entry;
}

std::string AuditVerifier::next(const AuditEntry& entry) {
  const std::uint64_t expected = head_.number + 1;
  const bool follows =
      entry.previous == head_.hash || (should_be_ && entry.previous == *should_be_);
  const Digest right = hash_of(entry.number, entry.event, entry.previous);
  const bool whole = entry.hash == right;
  should_be_.reset();
  head_ = {entry.number, entry.hash};

  if (entry.number != expected) {
    if (follows && entry.hash == hash_of(expected, entry.event, entry.previous)) {
      head_.number = expected;
      return entry_name(expected) + ": its number was changed to " + std::to_string(entry.number);
    }
    return wrong_number(entry.number, expected);
  }
  if (!follows) {
    return entry_name(expected) +
           ": does not follow the entry before it; one of them was changed "
           "or put in another's place";
  }
  if (!whole) {
    should_be_ = right;
    return entry_name(expected) + ": does not fit its hash; it was changed after it was written";
  }
  return {};
}

std::string AuditVerifier::end(const AuditHead& head) const {
  if (head_.number < head.number) {
    return "the log ends with entry " + std::to_string(head_.number) + ", its head names entry " +
           std::to_string(head.number) + ": " + entries(head.number - head_.number) +
           " missing at the end";
  }
  if (head_.number > head.number) {
    return "the log ends with entry " + std::to_string(head_.number) + ", its head names entry " +
           std::to_string(head.number) + ": entries were added past it, or the head was changed";
  }
  if (head_.hash == head.hash || (should_be_ && *should_be_ == head.hash)) return {};
  return "the last entry, " + std::to_string(head_.number) +
         ", is not the one that the log's head names; one of them was changed";
}

std::string AuditAnchor::next(const AuditHead& entry) {
  if (entry.number != kept_.number) return {};
  met_ = true;
  if (entry.hash == kept_.hash) return {};
  return entry_name(entry.number) +
         ": is not the one that the anchor names; the log was written anew, or the anchor is that "
         "of another log";
}

std::string AuditAnchor::end(const AuditHead& head) const {
  if (met_ || kept_ == AuditHead{}) return {};
  if (kept_.number == 0) return "the anchor has a hash but no entry; it is not one";
  if (head.number < kept_.number) {
    return "the log ends with entry " + std::to_string(head.number) + ", before the anchor at " +
           entry_name(kept_.number) + "; it was cut or replaced";
  }
  return entry_name(kept_.number) + ", which the anchor names, is missing";
}

}  // namespace sagabox
