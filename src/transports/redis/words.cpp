#include "transports/envelope.hpp"
#include "transports/redis/link.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace sagabox::redis {
namespace {

using Kind = spi::SendResult::Kind;
using transports::Envelope;
using transports::may_travel;

constexpr std::string_view header_prefix = "header:";

void append_number(std::string& out, char sign, std::uint64_t number) {
  std::array<char, 24> text{};
  text[0] = sign;
  auto* end = std::to_chars(text.data() + 1, text.data() + text.size(), number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

void append_word(std::string& out, std::string_view word, std::string_view second = {}) {
  append_number(out, '$', word.size() + second.size());
  out.append(word).append(second).append("\r\n");
}

struct Meaning {
  std::string_view begin;
  Kind kind;
  std::string_view advice;
};

// Every error that is not about one stream or one message counts against the server.
constexpr std::array meanings{
    Meaning{"WRONGTYPE", Kind::rejected, "the key holds something else than a stream"},
    Meaning{"NOPERM", Kind::rejected, "the user may not write there; see its ACL"},
    Meaning{"OOM", Kind::busy, "out of memory; see maxmemory"},
    Meaning{"BUSY", Kind::busy, "a script keeps the server busy"},
    Meaning{"TRYAGAIN", Kind::busy, "slots are being moved"},
    Meaning{"NOAUTH", Kind::unreachable, "it asks for a password"},
    Meaning{"WRONGPASS", Kind::unreachable, "user or password is wrong"},
    Meaning{"READONLY", Kind::unreachable, "this is a replica; the primary is elsewhere"},
    Meaning{"LOADING", Kind::unreachable, "it is still loading its data"},
    Meaning{"MASTERDOWN", Kind::unreachable, "the replica has lost its primary"},
    Meaning{"MISCONF", Kind::unreachable, "it cannot save to its disk and takes no writes"},
    Meaning{"NOREPLICAS", Kind::unreachable, "too few replicas; see min-replicas-to-write"},
    Meaning{"CLUSTERDOWN", Kind::unreachable, "the cluster is down"},
    Meaning{"MOVED", Kind::unreachable, "a Redis cluster; only single servers are supported"},
    Meaning{"ASK", Kind::unreachable, "a Redis cluster; only single servers are supported"},
};

}  // namespace

spi::SendResult error_meaning(std::string_view reply) {
  const auto word = reply.substr(0, reply.find(' '));
  const auto* const found = std::find_if(meanings.begin(), meanings.end(),
                                         [&](const Meaning& one) { return one.begin == word; });
  // The reply would quote our arguments, including the payload.
  if (reply.starts_with("ERR unknown command")) {
    return {Kind::unreachable, "Redis: it knows no XADD; Redis 5 or newer is needed", std::nullopt};
  }
  if (found == meanings.end()) {
    return {Kind::failed, "Redis: " + std::string(reply.substr(0, 200)), std::nullopt};
  }
  return {found->kind, "Redis: " + std::string(word) + ": " + std::string(found->advice),
          std::nullopt};
}

void append_words(std::string& out, std::initializer_list<std::string_view> words) {
  append_number(out, '*', words.size());
  for (const auto word : words) append_word(out, word);
}

void append_xadd(std::string& out, const spi::Parcel& parcel, const StreamAddress& address) {
  const auto& message = *parcel.message;
  const Envelope envelope(parcel);
  const auto& headers = message.headers();
  const auto travelling = static_cast<std::size_t>(std::count_if(
      headers.begin(), headers.end(), [](const auto& header) { return may_travel(header.first); }));
  const std::size_t bound = address.maxlen == 0 ? 0 : 3;
  append_number(out, '*', 3 + bound + 2 * (2 + envelope.attributes().size() + travelling));
  append_word(out, "XADD");
  append_word(out, address.key);
  if (bound > 0) {
    append_word(out, "MAXLEN");
    append_word(out, address.approximate ? "~" : "=");
    append_word(out, std::to_string(address.maxlen));
  }
  append_word(out, "*");
  append_word(out, "data");
  append_word(out, message.payload().view());
  append_word(out, "datacontenttype");
  append_word(out, message.content_type());
  for (const auto& [name, value] : envelope.attributes()) {
    append_word(out, name);
    append_word(out, value);
  }
  for (const auto& [name, value] : headers) {
    if (!may_travel(name)) continue;
    append_word(out, header_prefix, name);
    append_word(out, value);
  }
}

}  // namespace sagabox::redis
