# Half the time of a sanitizer's compile goes into headers that every file reads. The release tree
# is built without, so that a file that forgets an include does not go unnoticed.
option(SAGABOX_PRECOMPILE "precompile the headers that most files read" OFF)
if(SAGABOX_PRECOMPILE AND CCACHE)
  # ccache passes files with precompiled headers by unless told that these are no secret input.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

# sagabox_precompile(TARGET [<header>...]): those headers and the ones everybody reads.
function(sagabox_precompile target)
  if(SAGABOX_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <atomic> <chrono> <condition_variable> <deque> <functional> <map> <memory>
      <mutex> <optional> <set> <span> <string> <thread> <unordered_map> <variant> <vector>
      <sagabox/sagabox.hpp> ${ARGN})
  endif()
endfunction()
