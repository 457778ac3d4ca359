# Everything of ours is built with these; warnings are errors.
add_library(sagabox_warnings INTERFACE)
target_compile_options(sagabox_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers
  # g++ 12 reports false positives in plain std::string code at -O2.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # And in std::variant code at -O3 or with sanitizers; clang checks this too.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release,Debug,RelWithDebInfo>>:-Wno-maybe-uninitialized>)
# In a file made of several, names of the others are around: none of them is meant, and types of one
# file look as if they were a header's.
if(SAGABOX_UNITY)
  target_compile_options(sagabox_warnings INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local;-Wno-subobject-linkage>)
else()
  target_compile_options(sagabox_warnings INTERFACE -Wshadow)
endif()
if(SAGABOX_PRECOMPILE)
  # g++ 12 forgets what is a system header when it comes precompiled, and reports what it suspects there.
  target_compile_options(sagabox_warnings INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread;-Wno-stringop-overflow;-Wno-array-bounds>)
endif()
if(SAGABOX_SANITIZE STREQUAL "thread")
  # TSan does not know fences; ours order atomics only, which it does not report.
  target_compile_options(sagabox_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
endif()
