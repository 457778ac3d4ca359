# How much the compiler optimises code whose speed does not matter.

# sagabox_cold(TARGET): not on the path of a message; optimising would take half of its compile
# time.
function(sagabox_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# sagabox_runs_once(TARGET): the library under test is optimised. A test case runs once, and
# compiling it takes far longer; UBSan doubles that, and it checks the library in any case.
function(sagabox_runs_once target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  if(SAGABOX_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()
