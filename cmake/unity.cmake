# Most of the time of a compile is spent on headers. So that they are read once for several files,
# `SAGABOX_UNITY` compiles the files of one room together, a few at a time. A room is a folder of
# src or of a suite of tests, with its subfolders; each store and each transport is one. Helpers of
# a room must have different names then, which tests/house/unique_names.py checks; `./dev lint`
# checks that each file has the includes it needs.
option(SAGABOX_UNITY "compile several files of a room at once" OFF)
set(sagabox_unity_files_max 20)

# sagabox_unity(TARGET): makes groups up to the maximum, of nearly equal size, in the order of the
# names.
function(sagabox_unity target)
  if(NOT SAGABOX_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(folders)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    if(folder MATCHES "^(src|tests/[a-z]+)/((stores|transports)/)?[a-z]+")
      set(folder ${CMAKE_MATCH_0})
    endif()
    string(MAKE_C_IDENTIFIER "${folder}" name)
    list(APPEND folders ${name})
    list(APPEND files_${name} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(name ${folders})
    list(LENGTH files_${name} count)
    math(EXPR groups "(${count} + ${sagabox_unity_files_max} - 1) / ${sagabox_unity_files_max}")
    set(at 0)
    foreach(source ${files_${name}})
      math(EXPR group "${at} * ${groups} / ${count}")
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES
        UNITY_GROUP ${name}_${group})
      math(EXPR at "${at} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
