#pragma once

#include "outbox/writer.hpp"
#include "simulation/world.hpp"

#include <sagabox/message.hpp>
#include <sagabox/stores/memory.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sagabox::simulation {

/// Writes messages in transactions that stay open for a while, commits or rolls back, and behaves
/// as the users of a library do: some say `committed()`, some do not, some live elsewhere.
class Producer {
 public:
  enum class Kind : std::uint8_t {
    owned,     ///< a transaction of the library, in the process of a relay
    borrowed,  ///< its own connection, in the process of a relay
    outside,   ///< another process, which delivers nothing
  };
  Producer(World& world, std::size_t number, Kind kind, std::size_t home);
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  void begin();
  /// Its process has died with everything in it.
  void home_died(std::size_t slot);
  /// Goes on where it had ended because enough was written.
  void write_more();
  [[nodiscard]] bool resting() const noexcept { return !open_ && again_.empty(); }

 private:
  struct Open {
    std::unique_ptr<OwnedTransaction> owned{};
    std::unique_ptr<memory::Connection> connection{};
    std::unique_ptr<memory::Enlisted> enlisted{};
    std::vector<NewMessage> drafts{};
    std::vector<Written> written{};
    std::vector<std::string> keys{};
    std::size_t next = 0;  ///< the first draft not written yet
    Timeline timeline{};
  };

  void next(Duration delay, void (Producer::*step)());
  void open();
  void write();
  void end();
  void say_committed();
  void settle_verdict(const Status& status);
  void commit_done();
  void in_doubt();
  void roll_back();
  void close();
  void release_keys(std::vector<std::string>& keys);
  void draw_drafts(Open& open);
  [[nodiscard]] NewMessage draw_message(Open& open);
  [[nodiscard]] Transaction& transaction() const;
  [[nodiscard]] outbox::Writer* writer();

  World& world_;
  const std::size_t number_;
  const Kind kind_;
  const std::size_t home_;
  std::unique_ptr<Random> random_;
  class OutsideClock;
  std::unique_ptr<Clock> clock_;
  UlidSource ids_;
  OutboxOptions options_;
  std::unique_ptr<outbox::Writer> outside_;
  std::optional<Open> open_;
  std::vector<NewMessage> again_;  // of a commit in doubt, to be written once more
  std::vector<std::string> again_keys_;
  std::uint64_t generation_ = 0;
};

}  // namespace sagabox::simulation
