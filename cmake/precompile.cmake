# Half the time of a compile goes into headers that every file reads. That each file includes what it
# needs is seen where it is compiled alone, without them: `./dev lint`.
option(SAGABOX_PRECOMPILE "precompile the headers that every file reads" OFF)

function(sagabox_cache_precompiled target)
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

# sagabox_precompile(TARGET [<header>...]): those headers, and the ones everybody reads.
function(sagabox_precompile target)
  if(NOT SAGABOX_PRECOMPILE)
    return()
  endif()
  set(headers ${ARGN}
    <algorithm> <array> <atomic> <chrono> <condition_variable> <deque> <functional> <map> <memory>
    <mutex> <optional> <set> <span> <string> <thread> <unordered_map> <variant> <vector>
    <sagabox/sagabox.hpp>)
  target_precompile_headers(${target} PRIVATE ${headers})
  sagabox_cache_precompiled(${target})
endfunction()

# sagabox_precompiled_as(TARGET OTHER): the same as OTHER, which is compiled with the same options.
function(sagabox_precompiled_as target other)
  if(SAGABOX_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${other})
    sagabox_cache_precompiled(${target})
  endif()
endfunction()
