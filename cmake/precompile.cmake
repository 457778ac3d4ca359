# Half the time of a compile goes into headers that every file reads: a sanitizer's tree precompiles
# them all, the release tree only those of the test libraries, so that a file of the library that
# forgets an include does not go unnoticed.
set(SAGABOX_PRECOMPILE none CACHE STRING "headers that are precompiled: none, tests or all")
set_property(CACHE SAGABOX_PRECOMPILE PROPERTY STRINGS none tests all)

# sagabox_precompile(TARGET [<header of a test library>...]): those headers, and the ones everybody
# reads.
function(sagabox_precompile target)
  set(headers ${ARGN})
  if(SAGABOX_PRECOMPILE STREQUAL "all")
    list(APPEND headers
      <algorithm> <array> <atomic> <chrono> <condition_variable> <deque> <functional> <map> <memory>
      <mutex> <optional> <set> <span> <string> <thread> <unordered_map> <variant> <vector>
      <sagabox/sagabox.hpp>)
  elseif(SAGABOX_PRECOMPILE STREQUAL "none")
    return()
  endif()
  if(NOT headers)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${headers})
  if(CCACHE)
    # It passes files with precompiled headers by unless told that these are no secret input. And it
    # must compare headers as they are written: one that differs in a comment is the same to it once
    # preprocessed, and another to the compiler, which then reads it beside the precompiled one. What
    # a cache has from before that was said is not taken: hence the namespace.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;CCACHE_DEPEND=1;CCACHE_NAMESPACE=depend;${CCACHE}")
  endif()
endfunction()
