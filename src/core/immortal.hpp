#pragma once

namespace sagabox {

/// One object for the whole process, never destroyed: threads that nobody waits for, as one that
/// hangs in a connect, may use it until the very end.
template <class T>
T& immortal() {
  static T& one = *new T;
  return one;
}

}  // namespace sagabox
