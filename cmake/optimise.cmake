# How much a compiler does for code that nobody waits for.

# sagabox_cold(TARGET): no message passes through it, and half of its compile would be the optimiser's.
function(sagabox_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# sagabox_runs_once(TARGET): the library under test is optimised. A test case runs once, and compiling
# it takes far longer; UBSan doubles that, and watches the library anyway.
function(sagabox_runs_once target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  if(SAGABOX_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()
