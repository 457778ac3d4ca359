#pragma once

#include "assembly/open_store.hpp"
#include "cli/operations.hpp"
#include "cli/remote/server_arguments.hpp"
#include "cli/terminal.hpp"

#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sagabox::cli {

/// What every verb can be told that works on a store.
struct StoreArguments {
  std::string url{};  ///< empty: the file that `serve` makes in the working folder
  std::string schema = "sagabox";
  std::string actor{};  ///< empty: who is logged in
  bool json = false;
  std::string hub_key_file{};  ///< has `hub.secret_key`; empty: it is in $SAGABOX_HUB_SECRET_KEY
  assembly::BackendOptions backend{};  ///< of a configuration; the command line has none
};

/// The same, for those that can ask a daemon as well.
struct OperatorArguments : StoreArguments {
  ServerArguments server{};
};

/// The store's URL. WrongUse when there is none, or when it names a file that is not there.
std::string store_url(const StoreArguments& arguments);

/// A verb at work: whom it asks and where it writes to.
class Session {
 public:
  /// Throws WrongUse and Failure.
  explicit Session(const OperatorArguments& arguments);

  [[nodiscard]] Operations& operations() noexcept { return *operations_; }
  [[nodiscard]] Terminal& out() noexcept { return out_; }
  [[nodiscard]] bool json() const noexcept { return json_; }

  /// The one that was named, or all; never none. Throws WrongUse, and Failure where the schema is
  /// older than this version.
  std::vector<TableName> tables(const std::string& wanted);
  /// The one that was named, or the only one. Throws WrongUse.
  TableName table(const std::string& wanted);
  /// Which table has this message, of the one that was named or all; nothing: none of them.
  std::optional<TableName> table_of(const MessageId& id, const std::string& wanted,
                                    const Admin::Whose& tenant);

  void print(std::span<const Line> lines);

 private:
  std::unique_ptr<Operations> operations_;
  Terminal out_{stdout};
  bool json_;
};

/// True when `yes` or a person on the terminal says so; `question` goes to standard error. Throws
/// WrongUse when nobody can be asked.
bool confirmed(const std::string& question, bool yes);

/// Says so, and the exit code of a verb whose question was answered with no.
int nothing_done();

/// "3 messages", "1 message".
std::string messages_text(std::uint64_t count);

}  // namespace sagabox::cli
