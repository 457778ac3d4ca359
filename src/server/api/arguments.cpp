#include "server/api/arguments.hpp"

#include <charconv>
#include <string>

namespace sagabox::server {

Status no_fields(std::string_view body) {
  if (body.empty()) return {};
  const auto fields = Fields::parse(body);
  return fields.ok() ? fields->status() : Status(fields.error());
}

Result<MessageId> id_from(std::string_view text) {
  auto id = MessageId::parse(text);
  if (!id.ok()) return Error{Code::request_invalid, "id: " + id.error().message};
  return id;
}

std::vector<Sequence> sequences_from(Fields& fields) {
  const auto elements = fields.elements("sequences");
  if (!elements) return {};
  std::vector<Sequence> sequences;
  for (const auto element : *elements) {
    Sequence sequence{};
    const auto* const end = element.data() + element.size();
    const auto [read, error] = std::from_chars(element.data(), end, sequence.value);
    if (error != std::errc() || read != end) {
      fields.wrong("sequences[" + std::to_string(sequences.size()) + "]",
                   "is not a sequence; give the whole number that the message was listed with");
      return {};
    }
    sequences.push_back(sequence);
  }
  // An empty array must not mean "any row of these ids".
  if (sequences.empty())
    fields.wrong("sequences", "is empty; give one for each id, or leave it out");
  return sequences;
}

Result<std::vector<MessageId>> ids_from(Fields& fields) {
  const auto texts = fields.texts("ids");
  std::vector<MessageId> ids;
  for (const auto& text : texts) {
    const auto id = MessageId::parse(text);
    if (!id.ok()) {
      fields.wrong("ids[" + std::to_string(ids.size()) + "]", id.error().message);
      break;
    }
    ids.push_back(*id);
  }
  if (ids.empty()) fields.wrong("ids", "none given; give an array of message ids");
  if (auto status = fields.status(); !status.ok()) return status.error();
  return ids;
}

}  // namespace sagabox::server
