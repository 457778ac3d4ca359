#include "transports/nats/address.hpp"

#include "core/masked_url.hpp"
#include "core/text.hpp"

#include <algorithm>

namespace sagabox::nats {
namespace {

constexpr std::string_view scheme = "nats:";
constexpr std::size_t subject_length_max = 255;
constexpr std::string_view right = "; give a subject such as nats:billing.issued";

/// Empty if messages can be published to it.
std::string subject_problem(std::string_view subject) {
  if (subject.empty()) return "no subject is given";
  if (subject.size() > subject_length_max) {
    return "the subject has " + std::to_string(subject.size()) + " characters, at most " +
           std::to_string(subject_length_max) + " are allowed";
  }
  const auto is_wrong = [](char letter) {
    return letter <= ' ' || letter > '~' || letter == '"' || letter == '\\';
  };
  if (std::any_of(subject.begin(), subject.end(), is_wrong)) {
    return "a subject is made of printable ASCII characters without spaces, \" and \\";
  }
  if (subject.starts_with("_INBOX.")) return "_INBOX. is for answers to requests";
  for (std::size_t begin = 0; begin <= subject.size();) {
    const auto end = std::min(subject.find('.', begin), subject.size());
    const auto token = subject.substr(begin, end - begin);
    if (token.empty()) return "a part between two dots is empty";
    if (token == "*" || token == ">") return "* and > are for subscribers";
    begin = end + 1;
  }
  return {};
}

std::string stream_problem(std::string_view stream) {
  const auto is_wrong = [](char letter) {
    return letter <= ' ' || letter > '~' ||
           std::string_view(".*>/\\\"").find(letter) != std::string_view::npos;
  };
  if (stream.empty() || std::any_of(stream.begin(), stream.end(), is_wrong)) {
    return "setting stream: give the name of a stream, without spaces and . * > / \\";
  }
  return {};
}

Error wrong(std::string_view text, const std::string& problem) {
  return {Code::config_invalid, "address " + quoted(masked_url(text)) + ": " + problem};
}

}  // namespace

Result<std::shared_ptr<const Subject>> Subject::parse(std::string_view text,
                                                      const spi::AddressSettings& settings) {
  if (!text.starts_with(scheme)) {
    return wrong(text, std::string("it does not begin with nats:").append(right));
  }
  auto subject = std::make_shared<Subject>();
  subject->text_ = text.substr(scheme.size());
  if (auto problem = subject_problem(subject->text_); !problem.empty()) {
    return wrong(text, problem.append(right));
  }
  for (const auto& [name, value] : settings) {
    if (name != "stream") {
      return wrong(text, "setting " + quoted(name) + " is unknown; there is: stream");
    }
    if (auto problem = stream_problem(value); !problem.empty()) return wrong(text, problem);
    subject->stream_ = value;
  }
  return std::shared_ptr<const Subject>(std::move(subject));
}

}  // namespace sagabox::nats
