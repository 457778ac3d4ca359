#include "assembly/configuration_file.hpp"

#include "assembly/given_reader.hpp"
#include "assembly/settings_of_stores.hpp"
#include "core/masked_url.hpp"
#include "core/text.hpp"

#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>

namespace sagabox::assembly {
namespace {

/// Aliases in a file can make it grow without end.
constexpr std::size_t nodes_max = 100'000;
/// Far more than any setting has. Readers of YAML go down by calling themselves.
constexpr std::size_t depth_max = 50;

/// Variables that are ours and no settings: the file itself, and what other verbs and ./dev take.
const std::vector<std::string> variables_elsewhere{
    "SAGABOX_CONFIG", "SAGABOX_STORE",    "SAGABOX_SCHEMA", "SAGABOX_SERVER",
    "SAGABOX_KEY",    "SAGABOX_KEY_FILE", "SAGABOX_ACTOR",  "SAGABOX_NO_SETUP"};

/// Why a document that is YAML is not read.
struct Refused {
  YAML::Mark mark;
  std::string message;
};

/// Goes through a document without keeping it: where it begins, and whether it goes too deep.
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
  YamlFile(std::string name, const Environment& environment, std::vector<std::string>& problems)
      : name_(std::move(name)), environment_(environment), problems_(problems) {}

  Given read(const std::string& text) {
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

  [[nodiscard]] const std::vector<std::string>& variables() const noexcept { return variables_; }

 private:
  [[nodiscard]] std::string at(const YAML::Mark& mark) const {
    return mark.is_null() ? name_ : name_ + ":" + std::to_string(mark.line + 1);
  }

  /// `YAML::Load` reads up to where the first document ends, and says nothing of what follows.
  void refuse_more(const std::string& text) {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    Survey document;
    if (!parser.HandleNextDocument(document)) return;
    Survey more;
    if (!parser.HandleNextDocument(more)) return;
    problems_.push_back(at(more.mark) + ": belongs to nothing above; the file is one document");
  }

  /// Aliases may lead deeper than the text goes.
  Given convert(const YAML::Node& node, std::size_t depth) {
    Given given{.from = at(node.Mark())};
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
        given.shape = Given::Shape::text;
        given.text = with_variables(node.Scalar(), given.from);
        break;
      case YAML::NodeType::Sequence:
        given.shape = Given::Shape::list;
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

  void convert_map(const YAML::Node& node, Given& given, std::size_t depth) {
    given.shape = Given::Shape::map;
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
      // What stands on the lines below is found where its key is.
      if (value.shape != Given::Shape::text) value.from = from;
      given.members.push_back({.key = key, .from = from, .value = std::move(value)});
    }
  }

  /// `${NAME}` is what the environment says.
  std::string with_variables(const std::string& text, const std::string& from) {
    std::string made;
    for (std::size_t begin = 0;;) {
      const auto found = text.find("${", begin);
      made += text.substr(begin, found - begin);
      if (found == std::string::npos) return made;
      const auto end = text.find('}', found);
      if (end == std::string::npos) {
        problems_.push_back(from + ": ${ without its }");
        return made;
      }
      const auto name = text.substr(found + 2, end - found - 2);
      variables_.push_back(name);
      if (const auto variable = environment_.find(name); variable != environment_.end()) {
        made += variable->second;
      } else {
        problems_.push_back(from + ": the environment has no " + quoted(masked_url(name)) +
                            "; set it");
      }
      begin = end + 1;
    }
  }

  std::string name_;
  const Environment& environment_;
  std::vector<std::string>& problems_;
  std::vector<std::string> variables_;
  std::size_t nodes_ = 0;
};

/// Whether a configuration that names neither stores nor routes is a first try. In a file it is
/// more likely one that somebody is just writing: messages must not end on the terminal for that.
enum class Unsaid : std::uint8_t { shown, refused };

void fill_in(Configured& configured, Unsaid unsaid) {
  auto& made = configured.configuration;
  auto& problems = configured.problems;
  if (made.stores.empty()) {
    made.stores.push_back({.name = "default", .url = default_store_url, .defaults = made.defaults});
    // Nobody said what to do: what is delivered is shown and goes nowhere.
    if (made.routes.empty() && unsaid == Unsaid::shown) {
      made.routes.push_back({.options = {.topic = "**", .to = {{.to = show_address}}}});
      // Somebody looks at it for the first time: what is delivered, not how.
      if (!configured.origins.contains("log.level")) made.log.level = LogLevel::warning;
    }
  }
  for (auto& store : made.stores) {
    if (store.url.empty()) {
      problems.push_back("stores." + store.name + " has no url; such as sqlite:" + store.name +
                         ".db");
    }
    for (const auto& problem : wrong_store_options(store)) {
      problems.push_back(located(configured, problem));
    }
    if (!store.tables.empty()) continue;
    store.tables.push_back(store.defaults);
    store.tables.back().options.table = "default";
  }
  const bool delivers = std::ranges::any_of(made.stores, [](const StoreSettings& store) {
    return std::ranges::any_of(
        store.tables, [](const TableSettings& table) { return table.delivery == Delivery::here; });
  });
  if (delivers && made.routes.empty() && problems.empty()) {
    problems.emplace_back(
        "there are no routes: every message would be dead; add routes, or say delivery: elsewhere");
  }
}

Configured read(const std::string& text, const std::string& name, const std::string& folder,
                const Environment& environment, Unsaid unsaid) {
  Configured configured;
  YamlFile file(name, environment, configured.problems);
  auto given = file.read(text);
  auto known = variables_elsewhere;
  known.insert(known.end(), file.variables().begin(), file.variables().end());
  if (given.shape == Given::Shape::nothing || given.shape == Given::Shape::map) {
    add_environment(environment, known, given, configured.problems);
  }
  read_given(given, folder, configured);
  fill_in(configured, unsaid);
  for (auto& problem : configured.problems) problem = configured.secrets.masked(problem);
  return configured;
}

}  // namespace

Environment process_environment() {
  Environment made;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    made.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return made;
}

Configured read_configuration(const Source& source) {
  if (source.path.empty()) return read("", "", "", source.environment, Unsaid::shown);
  const auto text = file_text(source.path);
  if (!text) {
    Configured configured;
    configured.problems.push_back(source.path + ": cannot be read");
    return configured;
  }
  const auto folder = std::filesystem::path(source.path).parent_path().string();
  return read(*text, source.path, folder, source.environment, Unsaid::refused);
}

Configured read_configuration(const std::string& text, const std::string& name,
                              const Environment& environment) {
  return read(text, name, "", environment, Unsaid::shown);
}

std::string located(const Configured& configured, const std::string& message) {
  const auto found = configured.origins.find(message.substr(0, message.find_first_of(" :")));
  const auto shown = configured.secrets.masked(message);
  return found == configured.origins.end() ? shown : found->second + ": " + shown;
}

}  // namespace sagabox::assembly
