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

/// The options of every verb that works on a store.
struct StoreArguments {
  std::string url{};  ///< empty: the file that `serve` makes in the working directory
  std::string schema = "sagabox";
  std::string actor{};  ///< empty: the user who is logged in
  bool json = false;
  std::string hub_key_file{};          ///< with `hub.secret_key`; empty: in $SAGABOX_HUB_SECRET_KEY
  assembly::BackendOptions backend{};  ///< from a configuration; the command line has none
};

/// The same, for verbs that can also ask a daemon.
struct OperatorArguments : StoreArguments {
  ServerArguments server{};
};

/// The store's URL. WrongUse if there is none, or if it names a file that does not exist.
std::string store_url(const StoreArguments& arguments);

/// A running verb: the store or daemon that it asks, and its output.
class Session {
 public:
  /// Throws WrongUse and Failure.
  explicit Session(const OperatorArguments& arguments);

  [[nodiscard]] Operations& operations() noexcept { return *operations_; }
  [[nodiscard]] Terminal& out() noexcept { return out_; }
  [[nodiscard]] bool json() const noexcept { return json_; }

  /// The named table, or all; never empty. Throws WrongUse, and Failure if the schema is older than
  /// this version.
  std::vector<TableName> tables(const std::string& wanted);
  /// The named table, or the only one. Throws WrongUse.
  TableName table(const std::string& wanted);
  /// The table with this message, out of the named one or all; nullopt if there is none.
  std::optional<TableName> table_of(const MessageId& id, const std::string& wanted,
                                    const Admin::Whose& tenant);

  void print(std::span<const Line> lines);

 private:
  std::unique_ptr<Operations> operations_;
  Terminal out_{stdout};
  bool json_;
};

/// Returns true if `yes` is set or the user confirms on the terminal; `question` is printed to
/// standard error. Throws WrongUse without a terminal.
bool confirmed(const std::string& question, bool yes);

/// Reports that the user declined; returns the exit code.
int nothing_done();

/// "3 messages", "1 message".
std::string messages_text(std::uint64_t count);

}  // namespace sagabox::cli
