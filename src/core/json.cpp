#include <sagabox/payload.hpp>

#include <boost/json/basic_parser_impl.hpp>

namespace sagabox {
namespace {

namespace json = boost::json;

/// Accepts everything and stores nothing: only the parser's result is needed.
struct NullHandler {
  using error_code = json::error_code;
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t, error_code&) { return true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(json::string_view, std::size_t, error_code&) { return true; }
  bool on_key(json::string_view, std::size_t, error_code&) { return true; }
  bool on_string_part(json::string_view, std::size_t, error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, error_code&) { return true; }
  bool on_double(double, json::string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }
};

std::string reason(const json::error_code& error) {
  if (error == json::error::incomplete) return "the value is not complete";
  if (error == json::error::too_deep) {
    return "nested deeper than " + std::to_string(json_depth_max) + " levels";
  }
  return error.message();
}

std::string problem_at(std::size_t offset, const std::string& what) {
  return "not valid JSON at byte " + std::to_string(offset + 1) + ": " + what;
}

}  // namespace

std::string json_problem(std::string_view text) {
  json::parse_options options;
  options.max_depth = json_depth_max;
  json::basic_parser<NullHandler> parser(options);
  json::error_code error;
  const std::size_t consumed = parser.write_some(false, text.data(), text.size(), error);
  if (error) return problem_at(consumed, reason(error));
  if (consumed < text.size()) return problem_at(consumed, "more text after the value");
  return {};
}

}  // namespace sagabox
