# All of our code is built with these; warnings are errors.
add_library(sagabox_warnings INTERFACE)
target_compile_options(sagabox_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers
  # g++ 12 reports false positives in plain std::string code at -O2.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # The same in std::variant code at -O3 or with sanitizers; clang checks this too.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release,Debug,RelWithDebInfo>>:-Wno-maybe-uninitialized>)
# In a combined file, names of the other files are visible and may be shadowed without a mistake,
# and types of one file look like those of a header.
if(SAGABOX_UNITY)
  target_compile_options(sagabox_warnings INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local;-Wno-subobject-linkage>)
else()
  target_compile_options(sagabox_warnings INTERFACE -Wshadow)
endif()
if(SAGABOX_PRECOMPILE)
  # g++ 12 does not recognize precompiled system headers as such, and reports warnings in them.
  target_compile_options(sagabox_warnings INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread;-Wno-stringop-overflow;-Wno-array-bounds>)
endif()
if(SAGABOX_SANITIZE STREQUAL "thread")
  # TSan does not support fences. Ours order atomics only, which it does not report.
  target_compile_options(sagabox_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
endif()
