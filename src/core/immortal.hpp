#pragma once

namespace sagabox {

/// One object for the whole process. It is never destroyed, because threads that are not joined,
/// such as one that hangs in a connect, may use it until the process ends.
template <class T>
T& immortal() {
  static T& one = *new T;
  return one;
}

}  // namespace sagabox
