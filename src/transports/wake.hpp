#pragma once

namespace sagabox::transports {

/// Rings for a thread that waits in `poll`.
class Wake {
 public:
  Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;
  ~Wake();
  void ring() noexcept;
  void silence() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace sagabox::transports
