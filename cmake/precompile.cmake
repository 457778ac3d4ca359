# Half the time of a compile is spent on headers that every file reads. Whether each file includes
# what it needs is checked by `./dev lint`, which compiles each alone without them.
option(SAGABOX_PRECOMPILE "precompile the headers that every file reads" OFF)

function(sagabox_cache_precompiled target)
  if(CCACHE)
    # By default ccache does not cache files with precompiled headers; the sloppiness setting allows
    # it. It must also compare headers unpreprocessed: one that differs in a comment only is the
    # same to ccache once preprocessed, but not to the compiler, which then reads it in addition to
    # the precompiled one. The namespace excludes older cache entries.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;CCACHE_DEPEND=1;CCACHE_NAMESPACE=depend;${CCACHE}")
  endif()
endfunction()

# sagabox_precompile(TARGET [<header>...]): precompiles these headers, and the common ones.
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
