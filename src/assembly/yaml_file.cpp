#include "assembly/yaml_file.hpp"

#include "core/text.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <set>
#include <sstream>
#include <utility>

namespace sagabox::assembly {
namespace {

/// Aliases can make a document grow without a limit.
constexpr std::size_t nodes_max = 100'000;
/// Far more than any setting needs. YAML readers are recursive.
constexpr std::size_t depth_max = 50;

/// Why a valid YAML document is not accepted.
struct Refused {
  YAML::Mark mark;
  std::string message;
};

/// Scans a document without storing it: finds its begin, and whether it is nested too deeply.
class Survey final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& begin) override { mark = begin; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& at, YAML::anchor_t anchor) override {
    if (open_.contains(anchor)) throw Refused{at, "an alias must not lead to what it stands in"};
  }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark& at, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    down(at, anchor);
  }
  void OnSequenceEnd() override { up(); }
  void OnMapStart(const YAML::Mark& at, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    down(at, anchor);
  }
  void OnMapEnd() override { up(); }

  YAML::Mark mark = YAML::Mark::null_mark();

 private:
  void down(const YAML::Mark& at, YAML::anchor_t anchor) {
    if (path_.size() == depth_max) {
      throw Refused{at,
                    "goes deeper than " + std::to_string(depth_max) + " levels; no setting does"};
    }
    path_.push_back(anchor);
    if (anchor != YAML::NullAnchor) open_.insert(anchor);
  }
  void up() {
    open_.erase(path_.back());
    path_.pop_back();
  }

  std::vector<YAML::anchor_t> path_;
  std::set<YAML::anchor_t> open_;
};

/// Some of the parser's messages end with what it has read, which may be a secret.
std::string without_quotation(const std::string& message) {
  return message.substr(0, message.find(": "));
}

class YamlFile {
 public:
  YamlFile(std::string name, const YamlText& text_of, std::vector<std::string>& problems)
      : name_(std::move(name)), text_of_(text_of), problems_(problems) {}

  ConfigNode read(const std::string& text) {
    try {
      refuse_more(text);
      return convert(YAML::Load(text), 0);
    } catch (const YAML::Exception& error) {
      problems_.push_back(at(error.mark) + ": is not YAML: " + without_quotation(error.msg));
    } catch (const Refused& refused) {
      problems_.push_back(at(refused.mark) + ": " + refused.message);
    }
    return {};
  }

 private:
  [[nodiscard]] static std::size_t line_of(const YAML::Mark& mark) {
    return mark.is_null() ? 0 : static_cast<std::size_t>(mark.line) + 1;
  }
  [[nodiscard]] std::string at(const YAML::Mark& mark) const {
    return mark.is_null() ? name_ : name_ + ":" + std::to_string(mark.line + 1);
  }

  /// `YAML::Load` reads up to the end of the first document, and ignores the rest.
  void refuse_more(const std::string& text) {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    Survey document;
    if (!parser.HandleNextDocument(document)) return;
    Survey more;
    if (!parser.HandleNextDocument(more)) return;
    problems_.push_back(at(more.mark) + ": belongs to nothing above; the file is one document");
  }

  /// Aliases may nest more deeply than the text.
  ConfigNode convert(const YAML::Node& node, std::size_t depth) {
    ConfigNode given{.from = at(node.Mark()), .line = line_of(node.Mark())};
    if (depth > depth_max) {
      problems_.push_back(given.from + ": its aliases lead deeper than " +
                          std::to_string(depth_max) + " levels; no setting does");
      return given;
    }
    if (++nodes_ > nodes_max) {
      if (nodes_ == nodes_max + 1) problems_.push_back(given.from + ": the file is too large");
      return given;
    }
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
      case YAML::NodeType::Scalar:
        given.shape = ConfigNode::Shape::text;
        given.text = text_of_ ? text_of_(node.Scalar(), given.from) : node.Scalar();
        given.in_quotes = node.Tag() == "!";
        break;
      case YAML::NodeType::Sequence:
        given.shape = ConfigNode::Shape::list;
        for (const auto& one : node) {
          given.members.push_back({.from = at(one.Mark()), .value = convert(one, depth + 1)});
        }
        break;
      case YAML::NodeType::Map:
        convert_map(node, given, depth + 1);
        break;
    }
    return given;
  }

  void convert_map(const YAML::Node& node, ConfigNode& given, std::size_t depth) {
    given.shape = ConfigNode::Shape::map;
    std::set<std::string> known;
    for (const auto& member : node) {
      const auto from = at(member.first.Mark());
      if (!member.first.IsScalar()) {
        problems_.push_back(from + ": a key must be a name");
        continue;
      }
      const auto& key = member.first.Scalar();
      if (!known.insert(key).second) {
        problems_.push_back(from + ": key " + quoted(key) +
                            " is there twice; leave one of them out");
        continue;
      }
      auto value = convert(member.second, depth);
      // A value on the following lines has the position of its key.
      if (value.shape != ConfigNode::Shape::text) value.from = from;
      given.members.push_back({.key = key,
                               .from = from,
                               .value = std::move(value),
                               .line = line_of(member.first.Mark())});
    }
  }

  std::string name_;
  const YamlText& text_of_;
  std::vector<std::string>& problems_;
  std::size_t nodes_ = 0;
};

}  // namespace

ConfigNode read_yaml(const std::string& text, const std::string& name, const YamlText& text_of,
                     std::vector<std::string>& problems) {
  return YamlFile(name, text_of, problems).read(text);
}

}  // namespace sagabox::assembly
