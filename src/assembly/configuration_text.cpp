#include "assembly/configuration_text.hpp"

#include "assembly/setting.hpp"
#include "core/masked_url.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sagabox::assembly {
namespace {

using Shape = Setting::Shape;
using Kind = Setting::Kind;
using Secret = Setting::Secret;

/// In the schema: every type that may be written as a text.
constexpr std::string_view any_text = R"({"type":["string","number","boolean"]})";

/// As in JSON, which YAML accepts too.
std::string in_quotes(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string made = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      made += '\\';
      made += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      made += "\\u00";
      made += digits[byte >> 4U];
      made += digits[byte & 15U];
    } else {
      made += c;
    }
  }
  return made + "\"";
}

/// Only a text that every YAML reader takes for a string is written without quotes.
std::string yaml_text(const std::string& text) {
  const bool plain =
      !text.empty() &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./") ==
          std::string::npos;
  return plain ? text : in_quotes(text);
}

class Printer {
 public:
  Printer(const Configured& configured, Secrets secrets)
      : configured_(configured), secrets_(secrets) {}

  std::string print() {
    parts(settings(), &configured_.configuration, "", 0);
    return std::move(text_);
  }

 private:
  void parts(const std::vector<Setting>& all, const void* holder, const std::string& path,
             std::size_t depth) {
    for (const auto& part : all) {
      const auto inner = path.empty() ? part.name : path + "." + part.name;
      switch (part.shape) {
        case Shape::value:
          if (const auto shown = part.show(holder)) {
            line(depth, part.name + ": " + yaml_text(hidden(part.secret, *shown)), inner);
          }
          break;
        case Shape::values:
          values(part, holder, inner, depth);
          break;
        case Shape::pairs:
          pairs(part, holder, inner, depth);
          break;
        case Shape::section:
          if (const auto* const there = part.look(holder)) {
            group(part.name + ":", depth, [&] { parts(part.parts, there, inner, depth + 1); });
          }
          break;
        case Shape::list:
        case Shape::map:
          group(part.name + ":", depth, [&] { elements(part, holder, inner, depth + 1); });
          break;
      }
    }
  }

  /// Writes a heading, unless it has no content.
  template <class Content>
  void group(const std::string& heading, std::size_t depth, Content content) {
    const auto before = text_.size();
    line(depth, heading, "");
    const auto after = text_.size();
    content();
    if (text_.size() == after) text_.resize(before);
  }

  void elements(const Setting& part, const void* holder, const std::string& path,
                std::size_t depth) {
    std::size_t number = 0;
    for (const auto& [name, element] : part.each(holder)) {
      if (part.shape == Shape::list) {
        const auto inner = path + "[" + std::to_string(number++) + "]";
        line(depth, "-", inner);
        parts(part.parts, element, inner, depth + 1);
        continue;
      }
      const auto inner = path + "." + name;
      const bool as_default = !part.shorthand.empty() && !has_own(inner);
      line(depth, yaml_text(hidden(Secret::no, name)) + (as_default ? ": {}" : ":"), inner);
      if (!as_default) parts(part.parts, element, inner, depth + 1);
    }
  }

  /// True if the file or the environment sets something of it.
  [[nodiscard]] bool has_own(const std::string& path) const {
    const auto found = configured_.origins.upper_bound(path + ".");
    return found != configured_.origins.end() && found->first.starts_with(path + ".");
  }

  void values(const Setting& part, const void* holder, const std::string& path, std::size_t depth) {
    std::string list;
    for (const auto& [name, text] : part.shows(holder)) {
      list += (list.empty() ? "" : ", ") + in_quotes(hidden(part.secret, text));
    }
    if (!list.empty()) line(depth, part.name + ": [" + list + "]", path);
  }

  void pairs(const Setting& part, const void* holder, const std::string& path, std::size_t depth) {
    const auto all = part.shows(holder);
    if (all.empty()) return;
    const auto inner = part.name.empty() ? depth : depth + 1;
    if (!part.name.empty()) line(depth, part.name + ":", path);
    for (const auto& [name, text] : all) {
      const bool masked = part.secret != Secret::no || names_a_secret(name);
      const auto secret = masked ? Secret::yes : Secret::no;
      line(inner, yaml_text(hidden(Secret::no, name)) + ": " + yaml_text(hidden(secret, text)), "");
    }
  }

  /// A URL or a connection string may also occur in a setting that is not secret.
  [[nodiscard]] std::string hidden(Secret secret, const std::string& text) const {
    if (secrets_ == Secrets::shown) return text;
    if (secret == Secret::yes) return std::string(secret_mask);
    const bool url = secret == Secret::password_of_url || text.find("://") != std::string::npos ||
                     text.find_first_of("@=") != std::string::npos;
    return url ? masked_url(text) : text;
  }

  /// Where it was set; for a table, possibly in the defaults of all tables.
  [[nodiscard]] std::string origin(const std::string& path) const {
    if (const auto found = configured_.origins.find(path); found != configured_.origins.end()) {
      return found->second;
    }
    const auto table = path.find(".tables.");
    const auto inside = table == std::string::npos ? table : path.find('.', table + 8);
    if (inside == std::string::npos) return "default";
    const auto preset = configured_.origins.find(path.substr(0, inside) + ".preset");
    return preset != configured_.origins.end() ? preset->second : origin(path.substr(inside + 1));
  }

  void line(std::size_t depth, const std::string& text, const std::string& path) {
    text_ += std::string(2 * depth, ' ') + text;
    if (!path.empty()) text_ += "  # " + origin(path);
    text_ += '\n';
  }

  const Configured& configured_;
  Secrets secrets_;
  std::string text_;
};

std::string default_of(const Setting& part, const void* holder) {
  if (part.shape != Shape::value || holder == nullptr) return {};
  return part.show(holder).value_or("");
}

std::string pattern_of(Kind kind) {
  return kind == Kind::duration ? "^(0|none|[0-9.]+(ns|us|ms|s|m|h|d))$"
                                : "^[0-9]+(B|KiB|MiB|GiB)?$";
}

std::string schema_of_value(const Setting& part) {
  // A variable may replace any value.
  const std::string variable = R"({"type":"string","pattern":"\\$\\{.+\\}"})";
  switch (part.kind) {
    case Kind::text:
    case Kind::path:
      return R"("type":["string","number"])";
    case Kind::flag:
      return R"("anyOf":[{"type":"boolean"},)" + variable + "]";
    case Kind::number:
    case Kind::decimal: {
      const auto* const type = part.kind == Kind::number ? "integer" : "number";
      const auto bounds =
          part.min.empty() ? "" : ",\"minimum\":" + part.min + ",\"maximum\":" + part.max;
      return "\"anyOf\":[{\"type\":\"" + std::string(type) + "\"" + bounds + "}," + variable + "]";
    }
    case Kind::duration:
    case Kind::bytes:
      return R"("anyOf":[{"type":"string","pattern":)" + in_quotes(pattern_of(part.kind)) +
             R"(},{"type":"integer","minimum":0},)" + variable + "]";
    case Kind::choice:
      break;
  }
  std::string names;
  for (const auto& name : part.choices) names += in_quotes(name) + ",";
  return "\"anyOf\":[{\"enum\":[" + names.substr(0, names.size() - 1) + "]}," + variable + "]";
}

std::string schema_of_section(const std::vector<Setting>& parts, const std::string& indent);

std::string schema_of(const Setting& part, const std::string& indent) {
  const auto doc = "\"description\":" + in_quotes(part.doc) + ",";
  switch (part.shape) {
    case Shape::value:
      return "{" + doc + schema_of_value(part) + "}";
    case Shape::values:
      return "{" + doc +
             R"("anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]})";
    case Shape::pairs:
      return "{" + doc + R"("type":["object","null"],"additionalProperties":)" +
             std::string(any_text) + "}";
    case Shape::section:
      return "{" + doc + schema_of_section(part.parts, indent) + "}";
    case Shape::list: {
      const auto one = "{" + schema_of_section(part.parts, indent) + "}";
      if (part.shorthand.empty()) {
        return "{" + doc + R"("type":["array","null"],"items":)" + one + "}";
      }
      const auto any = R"("anyOf":[{"type":"string"},)" + one;
      return "{" + doc + any + R"(,{"type":"array","items":{)" + any + "]}}]}";
    }
    case Shape::map:
      break;
  }
  const auto names = part.shorthand.empty()
                         ? std::string()
                         : R"({"type":"string"},{"type":"array","items":{"type":"string"}},)";
  return "{" + doc + "\"anyOf\":[" + names +
         R"({"type":["object","null"],"additionalProperties":{)" +
         schema_of_section(part.parts, indent) + "}}]}";
}

std::string schema_of_section(const std::vector<Setting>& parts, const std::string& indent) {
  std::string properties;
  bool open = false;
  const auto add = [&](const std::string& name, const std::string& schema) {
    properties += std::string(properties.empty() ? "" : ",") + "\n" + indent + in_quotes(name) +
                  ": " + schema;
  };
  for (const auto& part : parts) {
    if (part.name.empty()) {
      open = true;
      continue;
    }
    add(part.name, schema_of(part, indent + "  "));
    if (part.has_file_twin()) {
      add(part.name + "_file",
          "{\"description\":" + in_quotes("a file with " + part.name + " in it") +
              ",\"type\":\"string\"}");
    }
  }
  return R"("type":["object","null"],"additionalProperties":)" +
         std::string(open ? any_text : "false") + ",\"properties\":{" + properties + "}";
}

std::string type_of(const Setting& part) {
  switch (part.shape) {
    case Shape::values:
      return "list of texts";
    case Shape::pairs:
      return "names with texts";
    default:
      break;
  }
  const auto bounds = part.min.empty() ? "" : " " + part.min + " to " + part.max;
  switch (part.kind) {
    case Kind::text:
      return part.secret == Secret::yes ? "secret" : "text";
    case Kind::path:
      return "path";
    case Kind::flag:
      return "true, false";
    case Kind::number:
    case Kind::decimal:
      return "number" + bounds;
    case Kind::duration:
      return "duration" + bounds;
    case Kind::bytes:
      return "bytes" + bounds;
    case Kind::choice:
      break;
  }
  std::string names;
  for (const auto& name : part.choices) names += (names.empty() ? "" : ", ") + name;
  return names;
}

/// The holder whose defaults are shown: the section itself, or the first element; null if there is
/// none.
const void* example_of(const Setting& part, const void* holder) {
  if (holder == nullptr) return nullptr;
  if (part.shape == Shape::section) return part.look(holder);
  const auto elements = part.each(holder);
  return elements.empty() ? nullptr : elements.front().second;
}

void add_rows(const std::vector<Setting>& parts, const std::string& path, const void* holder,
              std::string& table) {
  for (const auto& part : parts) {
    const auto name = part.name.empty() ? "…" : part.name;
    const auto inner = path.empty() ? name : path + "." + name;
    if (part.shape == Shape::value || part.shape == Shape::values || part.shape == Shape::pairs) {
      table += "| `" + inner + "` | " + type_of(part) + " | " + default_of(part, holder) + " | " +
               part.doc + " |\n";
      continue;
    }
    if (inner == "stores.NAME.tables") {
      table += "| `" + inner + ".NAME` | | | " + part.doc +
               "; each may have its own `preset`, `delivery`, `claim`, `retention`, "
               "`dead_retention`, `head_policy`, `strict_topics`, `payload_bytes_max`, `retry`, "
               "`relay`, as above |\n";
      continue;
    }
    const auto element = part.shape == Shape::list  ? inner + "[]"
                         : part.shape == Shape::map ? inner + ".NAME"
                                                    : inner;
    table += "| **`" + element + "`** | | | " + part.doc + " |\n";
    add_rows(part.parts, element, example_of(part, holder), table);
  }
}

}  // namespace

std::string configuration_yaml(const Configured& configured, Secrets secrets) {
  return Printer(configured, secrets).print();
}

std::string configuration_schema() {
  return "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\n"
         "\"title\":\"sagabox.yaml\"," +
         schema_of_section(settings(), "  ") + "}\n";
}

std::string configuration_table() {
  Configuration defaults;
  defaults.stores.emplace_back();
  std::string table = "| setting | | default | |\n|---|---|---|---|\n";
  add_rows(settings(), "", &defaults, table);
  return table;
}

}  // namespace sagabox::assembly
