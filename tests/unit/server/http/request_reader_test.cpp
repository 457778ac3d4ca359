#include "server/http/request_reader.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace sagabox::server {
namespace {

using Step = RequestReader::Step;

constexpr ReaderLimits limits{
    .header_bytes_max = 1024, .body_bytes_max = 100, .unused_body_bytes_max = 10};
const std::string host = "Host: localhost\r\n";

/// "GET /a", "POST /b: body", "413 …", in the order they come; "more" where something is missing.
std::vector<std::string> read(std::string_view text, std::size_t piece) {
  RequestReader reader(limits);
  std::vector<std::string> found;
  for (;;) {
    switch (reader.next()) {
      case Step::needs_more: {
        if (text.empty()) {
          if (!reader.is_between()) found.emplace_back("more");
          return found;
        }
        const auto now = text.substr(0, piece);
        reader.feed(now);
        text.remove_prefix(now.size());
        break;
      }
      case Step::header:
        break;
      case Step::request: {
        const auto request = reader.take_request();
        found.push_back(request.method + " " + request.target +
                        (request.body.empty() ? "" : ": " + request.body));
        reader.next_request();
        break;
      }
      case Step::problem:
        found.push_back(std::to_string(reader.problem().status) + " " + reader.problem().message);
        return found;
    }
  }
}

std::vector<std::string> read(const std::string& text) {
  auto whole = read(text, text.size());
  // Byte by byte it is the same.
  EXPECT_EQ(read(text, 1), whole) << text;
  return whole;
}

std::string post(const std::string& headers, const std::string& body) {
  return "POST /m HTTP/1.1\r\n" + host + headers + "\r\n" + body;
}
using Found = std::vector<std::string>;

TEST(RequestReader, ReadsRequestsOneAfterTheOther) {
  EXPECT_EQ(read("GET /a HTTP/1.1\r\n" + host + "\r\n" + post("Content-Length: 3\r\n", "abc") +
                 "HEAD /b?c HTTP/1.0\r\n\r\n"),
            (Found{"GET /a", "POST /m: abc", "HEAD /b?c"}));
  EXPECT_EQ(read(post("Transfer-Encoding: chunked\r\n", "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")),
            (Found{"POST /m: abcde"}));
  EXPECT_EQ(read(post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n")), Found{"POST /m"});
  EXPECT_EQ(read("GET /a HTTP/1.1\r\n" + host), Found{"more"});
  EXPECT_EQ(read(post("Content-Length: 3\r\n", "ab")), Found{"more"});
}

TEST(RequestReader, TellsTheHeaderBeforeTheBody) {
  RequestReader reader(limits);
  reader.feed(post("Content-Length: 3\r\nExpect: 100-Continue\r\nX-A:  b \r\n", ""));
  ASSERT_EQ(reader.next(), Step::header);
  EXPECT_EQ(reader.request().method, "POST");
  EXPECT_EQ(reader.request().header("x-a"), "b");
  EXPECT_EQ(reader.content_length(), 3U);
  EXPECT_TRUE(reader.announces_body());
  EXPECT_TRUE(reader.request().announces_body());
  EXPECT_TRUE(reader.expects_continue());
  EXPECT_TRUE(reader.keep_alive());
  EXPECT_EQ(reader.next(), Step::needs_more);
  reader.feed("ab");
  EXPECT_EQ(reader.next(), Step::needs_more);
  EXPECT_EQ(reader.body_bytes(), 2U);
  reader.feed("cGET");
  EXPECT_EQ(reader.next(), Step::request);
  EXPECT_EQ(reader.request().body, "abc");
  reader.next_request();
  EXPECT_FALSE(reader.is_between()) << "the next one has begun";
}

TEST(RequestReader, RefusesWhatTwoReadersCouldUnderstandDifferently) {
  const auto status = [&](const std::string& text) {
    const auto found = read(text);
    return found.empty() ? "nothing" : found.front().substr(0, 3);
  };
  EXPECT_EQ(status("GET /a HTTP/1.1\r\n\r\n"), "400") << "no Host";
  EXPECT_EQ(status("GET /a HTTP/1.1\r\n" + host + host + "\r\n"), "400");
  EXPECT_EQ(status("GET /a HTTP/1.0\r\n" + host + host + "\r\n"), "400");
  EXPECT_EQ(status("GET  /a HTTP/1.1\r\n" + host + "\r\n"), "400");
  EXPECT_EQ(status("GET /a HTTP/1.1 \r\n" + host + "\r\n"), "400");
  EXPECT_EQ(status("GET /a HTTP/2.0\r\n" + host + "\r\n"), "400");
  EXPECT_EQ(status("G\x01T /a HTTP/1.1\r\n" + host + "\r\n"), "400");
  EXPECT_EQ(status("GET /a HTTP/1.1\r\nHost : localhost\r\n\r\n"), "400");
  EXPECT_EQ(status("GET /a HTTP/1.1\r\n" + host + "Authorization: a\r\nAuthorization: b\r\n\r\n"),
            "400");
  EXPECT_EQ(status(post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc")), "400");
  EXPECT_EQ(status(post("Content-Length: 3, 3\r\n", "abc")), "400");
  EXPECT_EQ(status(post("Content-Length: +3\r\n", "abc")), "400");
  EXPECT_EQ(status(post("Content-Length: 99999999999999999999\r\n", "abc")), "400");
  EXPECT_EQ(status(post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
            "400");
  EXPECT_EQ(status(post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n")),
            "400");
  EXPECT_EQ(status(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "")),
            "400");
  EXPECT_EQ(status(post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")), "501");
  EXPECT_EQ(status(post("Transfer-Encoding: identity\r\n", "")), "501");
  EXPECT_EQ(status(post("Transfer-Encoding: chunked\r\n", "zz\r\n\r\n")), "400");
  EXPECT_EQ(status("POST /m HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "400");
}

TEST(RequestReader, HoldsNoMoreThanItsLimits) {
  const auto at = [](std::size_t count, char c) { return std::string(count, c); };
  EXPECT_EQ(read(post("Content-Length: 101\r\n", "")),
            Found{"413 the body is longer than 100 bytes"});
  EXPECT_EQ(read("GET /a HTTP/1.1\r\n" + host + "Content-Length: 11\r\n\r\n"),
            Found{"413 the body is longer than 10 bytes"});
  EXPECT_EQ(read("DELETE /a HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nb\r\nxx"),
            Found{"413 the body is longer than 10 bytes"});
  EXPECT_EQ(read("GET /a HTTP/1.1\r\n" + host + "Content-Length: 10\r\n\r\n" + at(10, 'x')),
            Found{"GET /a: xxxxxxxxxx"});
  EXPECT_EQ(read(post("Transfer-Encoding: chunked\r\n", "50\r\n" + at(80, 'x') + "\r\n15\r\n")),
            Found{"413 the body is longer than 100 bytes"});
  const Found header{"431 the header is longer than 1024 bytes"};
  EXPECT_EQ(read("GET /" + at(2000, 'a')), header);
  EXPECT_EQ(read("GET /a HTTP/1.1\r\n" + host + "X: " + at(2000, 'a') + "\r\n\r\n"), header);
  std::string many;
  for (int count = 0; count < 200; ++count) many += "X: y" + std::to_string(count) + "\r\n";
  EXPECT_EQ(read("GET /a HTTP/1.1\r\n" + host + many + "\r\n"), header);
  const auto endless = read(post("Transfer-Encoding: chunked\r\n", "1;" + at(2000, 'a')), 100);
  EXPECT_EQ(endless, Found{"431 the header of a chunk is longer than 1024 bytes"});
  const auto trailers =
      read(post("Transfer-Encoding: chunked\r\n", "0\r\nX: " + at(2000, 'a')), 100);
  EXPECT_EQ(trailers, Found{"431 the header of a chunk is longer than 1024 bytes"});
}

TEST(RequestReader, TrailersAreNoHeaders) {
  RequestReader reader(limits);
  reader.feed(post("Transfer-Encoding: chunked\r\n", "0\r\nAuthorization: Bearer x\r\n\r\n"));
  EXPECT_EQ(reader.next(), Step::header);
  EXPECT_EQ(reader.next(), Step::request);
  EXPECT_EQ(reader.request().header("authorization"), "");
}

RC_GTEST_PROP(RequestReaderProperty, HowItIsCutIntoPiecesDoesNotMatter, ()) {
  const std::string text = post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n") +
                           post("Content-Length: 5\r\n", "12345") + "GET /a HTTP/1.1\r\n" + host +
                           "\r\n";
  const auto piece = *rc::gen::inRange<std::size_t>(1, text.size() + 1);
  RC_ASSERT(read(text, piece) == (Found{"POST /m: abc", "POST /m: 12345", "GET /a"}));
}

}  // namespace
}  // namespace sagabox::server
