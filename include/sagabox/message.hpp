#pragma once

#include <sagabox/id.hpp>
#include <sagabox/payload.hpp>
#include <sagabox/result.hpp>
#include <sagabox/time.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sagabox {

/// A name given as a string or as an enum value for which the user wrote `std::string_view
/// sagabox_name(MyEnum)` beside the enum. `Tag` makes topics and aggregate types different types,
/// so that they cannot be swapped.
template <class Tag>
class Name {
 public:
  Name() = default;
  Name(std::string text) : text_(std::move(text)) {}  // NOLINT(*-explicit-*)
  Name(std::string_view text) : text_(text) {}        // NOLINT(*-explicit-*)
  Name(const char* text) : text_(text) {}             // NOLINT(*-explicit-*)
  template <class Enum>
    requires std::is_enum_v<Enum> && requires(Enum e) {
      { sagabox_name(e) } -> std::convertible_to<std::string_view>;
    }
  Name(Enum value) : text_(std::string_view(sagabox_name(value))) {}  // NOLINT(*-explicit-*)

  [[nodiscard]] const std::string& str() const& noexcept { return text_; }
  [[nodiscard]] std::string str() && noexcept { return std::move(text_); }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  friend bool operator==(const Name&, const Name&) = default;

 private:
  std::string text_;
};

/// The subject of a message. Its route decides where it is sent.
using Topic = Name<struct TopicTag>;
using AggregateType = Name<struct AggregateTypeTag>;

inline constexpr std::string_view aggregate_global = "__GLOBAL__";
inline constexpr std::string_view tenant_default = "default";
inline constexpr std::string_view json_content_type = "application/json";
/// The header of a message that was replayed as new; its value is the number of that replay.
inline constexpr std::string_view as_new_header = "sagabox-as-new";

/// W3C trace context and the caller's request id, passed on unchanged.
struct TraceContext {
  std::string traceparent;
  std::string tracestate;
  std::string request_id;
  std::string correlation_id;
  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

/// Ignored for messages with a key: the order of the key takes precedence.
enum class Priority : std::uint8_t { high = 0, normal = 1, low = 2 };

using Headers = std::vector<std::pair<std::string, std::string>>;

/// A message as the caller gives it; `Message::build` checks it.
struct NewMessage {
  Topic topic;
  /// Messages of a tenant with the same key are delivered one at a time, in order.
  std::string key{};
  Payload payload{};
  std::string tenant{tenant_default};
  AggregateType aggregate_type{aggregate_global};
  std::string aggregate_id{};
  Priority priority = Priority::normal;
  std::string content_type{};  ///< default: depends on the payload's form
  Headers headers{};
  std::optional<WallTime> occurred_at{};
  /// Not delivered before this time. Does not block its key.
  std::optional<WallTime> not_before{};
  TraceContext trace{};
  /// Up to 36 characters; writing the same id again for the tenant does not create a second
  /// message.
  std::string id{};
};

/// Bounds and rules that a message is checked against. Lengths are in characters.
struct MessageRules {
  static constexpr std::size_t topic_length_max = 128;
  static constexpr std::size_t aggregate_type_length_max = 64;
  static constexpr std::size_t aggregate_id_length_max = 128;
  static constexpr std::size_t tenant_length_max = 64;
  static constexpr std::size_t key_length_max = 256;
  static constexpr std::size_t content_type_length_max = 255;
  static constexpr std::size_t tracestate_length_max = 512;
  static constexpr std::size_t request_id_length_max = 128;  ///< and correlation id
  static constexpr std::size_t payload_bytes_ceiling = 1024UL * 1024;
  static constexpr std::size_t headers_bytes_max = 64UL * 1024;

  /// At most `payload_bytes_ceiling`.
  std::size_t payload_bytes_max = payload_bytes_ceiling;
  /// Topics must have the form `<module>.<aggregate>.<event>.vN`.
  bool strict_topics = false;

  [[nodiscard]] Status check() const;
};

/// Empty if `topic` has the form `<module>.<aggregate>.<event>.vN`, else what is wrong with it.
std::string strict_topic_problem(std::string_view topic);

/// Fields that have these default values in most messages.
struct MessageDetails {
  std::string tenant{tenant_default};
  std::string aggregate_type{aggregate_global};
  std::string aggregate_id{};
  std::string content_type{json_content_type};
  Headers headers{};
  std::optional<WallTime> not_before{};
  TraceContext trace{};
  friend bool operator==(const MessageDetails&, const MessageDetails&) = default;
};

/// A message read from a store. It was checked when it was built, and all fields are set.
struct StoredMessage {
  MessageId id;
  NewMessage fields{};  ///< its `id` is ignored
  Digest digest{};
};

/// The same, as views into the buffer of the store: texts and payload are copied from there.
struct StoredRow {
  MessageId id;
  std::string_view topic{};
  std::string_view key{};
  PayloadForm form = PayloadForm::json;
  std::string_view payload{};
  Priority priority = Priority::normal;
  WallTime occurred_at{};
  Digest digest{};
  std::optional<MessageDetails> details{};  ///< nullopt: the default details
};

/// A checked message. Immutable; copies share the payload.
class Message {
  struct Key {  // only the functions below make messages
    explicit Key() = default;
  };

 public:
  /// If a rule is broken, returns an error that names the field and the rule.
  static Result<Message> build(NewMessage draft, const MessageRules& rules, UlidSource& ids,
                               const Clock& clock);
  /// The same, constructed in place. `draft` is consumed even if an error is returned.
  static Result<std::shared_ptr<const Message>> build_shared(NewMessage&& draft,
                                                             const MessageRules& rules,
                                                             UlidSource& ids, const Clock& clock);

  /// For stores: restores a message that `build` made. Nothing is checked, parsed or hashed again;
  /// rows written by other programs must go through `build`.
  static Message restore(StoredMessage stored);
  static std::shared_ptr<const Message> restore_shared(StoredRow&& stored);

  Message(Key, const MessageId& id, NewMessage&& fields, const Digest& digest);
  Message(Key, StoredRow&& stored);

  [[nodiscard]] const MessageId& id() const noexcept { return id_; }
  /// `build` generated the id, so no earlier message has it, and stores need not search for it
  /// among ended messages. Such a message must be written only once.
  [[nodiscard]] bool has_fresh_id() const noexcept { return fresh_id_; }
  [[nodiscard]] const std::string& tenant() const noexcept { return details_->tenant; }
  [[nodiscard]] const std::string& topic() const noexcept { return topic_; }
  [[nodiscard]] const std::string& aggregate_type() const noexcept {
    return details_->aggregate_type;
  }
  [[nodiscard]] const std::string& aggregate_id() const noexcept { return details_->aggregate_id; }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] bool has_key() const noexcept { return !key_.empty(); }
  /// The hash of tenant and key, which together define the order: the same key of another tenant is
  /// a different key. 0 without a key.
  [[nodiscard]] std::uint64_t key_hash() const noexcept { return key_hash_; }
  [[nodiscard]] Priority priority() const noexcept { return priority_; }
  [[nodiscard]] const Payload& payload() const noexcept { return payload_; }
  [[nodiscard]] const Digest& digest() const noexcept { return digest_; }
  [[nodiscard]] const std::string& content_type() const noexcept { return details_->content_type; }
  [[nodiscard]] const Headers& headers() const noexcept { return details_->headers; }
  [[nodiscard]] WallTime occurred_at() const noexcept { return occurred_at_; }
  [[nodiscard]] const std::optional<WallTime>& not_before() const noexcept {
    return details_->not_before;
  }
  [[nodiscard]] const TraceContext& trace() const noexcept { return details_->trace; }
  /// Tenant, aggregate, content type, headers, `not_before` and trace have their default values.
  [[nodiscard]] bool has_usual_details() const noexcept {
    return details_.get() == usual_details().get();
  }
  /// The memory that this message uses: payload, headers and names.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  using SharedDetails = std::shared_ptr<const MessageDetails>;

  /// Has no reference count, so that sharing it costs nothing.
  static const SharedDetails& usual_details() noexcept;
  static SharedDetails shared(std::optional<MessageDetails>&& details);
  [[nodiscard]] std::size_t bytes_held() const noexcept;

  // Fields that every dispatch reads are adjacent, so that they share cache lines.
  MessageId id_;
  Priority priority_ = Priority::normal;
  bool fresh_id_ = false;
  std::uint64_t key_hash_ = 0;
  std::size_t bytes_ = 0;
  std::string key_;
  std::string topic_;
  Payload payload_;
  SharedDetails details_;
  WallTime occurred_at_{};
  Digest digest_{};
};

/// Builds a message step by step; `draft()` returns an error if a payload was given twice.
class MessageBuilder {
 public:
  explicit MessageBuilder(Topic topic) { draft_.topic = std::move(topic); }

  MessageBuilder& id(std::string id);
  MessageBuilder& tenant(std::string tenant);
  MessageBuilder& aggregate(AggregateType type, std::string id = {});
  MessageBuilder& key(std::string key);
  MessageBuilder& priority(Priority priority);
  MessageBuilder& json(std::string text);
  MessageBuilder& bytes(std::string data, std::string content_type = {});
  MessageBuilder& header(std::string name, std::string value);
  MessageBuilder& occurred_at(WallTime when);
  MessageBuilder& not_before(WallTime when);
  MessageBuilder& trace(TraceContext trace);

  [[nodiscard]] Result<NewMessage> draft() const;

 private:
  MessageBuilder& payload(Payload payload);

  NewMessage draft_;
  int payloads_ = 0;
};

/// The name of an outbox: letters, digits and _, not starting with a digit, at most 48 long.
class TableName {
 public:
  static Result<TableName> parse(std::string_view text);
  [[nodiscard]] const std::string& str() const noexcept { return text_; }
  friend auto operator<=>(const TableName&, const TableName&) = default;

 private:
  std::string text_;
};

}  // namespace sagabox
