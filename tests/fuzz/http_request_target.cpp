#include "fuzz/target.hpp"
#include "server/api/api.hpp"
#include "server/http/request_reader.hpp"
#include "server/http/response_text.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace sagabox::fuzz {
namespace {

using server::RequestReader;
using Step = RequestReader::Step;

constexpr server::ReaderLimits limits{
    .header_bytes_max = 2048, .body_bytes_max = 512, .unused_body_bytes_max = 64};

/// Everything that was said about some bytes, when they come in pieces of this size.
struct Found {
  std::vector<server::Request> requests;
  unsigned refused = 0;
};

Found read(std::string_view text, std::size_t piece) {
  RequestReader reader(limits);
  Found found;
  for (;;) {
    switch (reader.next()) {
      case Step::needs_more: {
        if (text.empty()) return found;
        const auto now = text.substr(0, piece);
        reader.feed(now);
        text.remove_prefix(now.size());
        break;
      }
      case Step::header:
        must(reader.request().body.empty(), "no body with the header");
        break;
      case Step::request:
        must(reader.request().body.size() <= limits.body_bytes_max, "the body has its limit");
        found.requests.push_back(reader.take_request());
        reader.next_request();
        break;
      case Step::problem:
        found.refused = reader.problem().status;
        must(reader.next() == Step::problem, "a problem stays one");
        return found;
    }
  }
}

bool same(const server::Request& left, const server::Request& right) {
  return left.method == right.method && left.target == right.target &&
         left.headers == right.headers && left.body == right.body;
}

/// Routing, who may call, and everything that needs no store.
server::Api& api() {
  static server::Api made({}, nullptr);
  return made;
}

void ask(const server::Request& request) {
  const auto admission = api().admit(request);
  const auto answer = admission.refused ? *admission.refused : api().handle(request);
  must(answer.status >= 200 && answer.status < 600, "a status");
  const auto head = server::response_head(answer, true);
  const auto lines = static_cast<std::size_t>(std::ranges::count(head, '\n'));
  must(lines == 7 + answer.headers.size(), "nobody writes lines into our header");
}

}  // namespace
}  // namespace sagabox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sagabox::fuzz;
  const auto text = text_of(data, size);
  const auto whole = read(text, std::max<std::size_t>(size, 1));
  const auto bits = read(text, 1);
  for (const auto& request : whole.requests) ask(request);
  // A chunk's header that is too long goes unnoticed where it comes at once.
  if (whole.refused == 431 || bits.refused == 431) return 0;
  // And one whose extension has no end is counted as often as the parser looks at it.
  if (bits.refused == 413) return 0;
  must(bits.requests.size() == whole.requests.size(), "pieces do not matter");
  for (std::size_t at = 0; at < whole.requests.size(); ++at) {
    must(same(whole.requests[at], bits.requests[at]), "pieces do not matter");
  }
  // Nor is what is wrong with a header seen before its end, where it comes in pieces.
  must(bits.refused == whole.refused || bits.refused == 0, "pieces do not matter");
  return 0;
}
