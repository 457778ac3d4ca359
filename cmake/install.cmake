# Defines what `cmake --install` puts where, so that find_package(sagabox) works.
include(CMakePackageConfigHelpers)

set(sagabox_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sagabox)
install(TARGETS sagabox EXPORT sagabox-targets)
if(NOT SAGABOX_POSTGRES)
  set(sagabox_headers_left_out
    PATTERN stores/postgres.hpp EXCLUDE PATTERN stores/postgres EXCLUDE)
endif()
if(NOT SAGABOX_SQLITE)
  list(APPEND sagabox_headers_left_out PATTERN stores/sqlite.hpp EXCLUDE)
endif()
foreach(transport http kafka nats amqp redis mqtt)
  if(NOT transport IN_LIST sagabox_transports)
    list(APPEND sagabox_headers_left_out PATTERN transports/${transport}.hpp EXCLUDE)
  endif()
endforeach()
install(DIRECTORY include/sagabox DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.hpp ${sagabox_headers_left_out})
install(EXPORT sagabox-targets NAMESPACE sagabox:: DESTINATION ${sagabox_package_dir})
configure_package_config_file(cmake/sagabox-config.cmake.in
  ${PROJECT_BINARY_DIR}/sagabox-config.cmake INSTALL_DESTINATION ${sagabox_package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/sagabox-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/sagabox-config.cmake ${PROJECT_BINARY_DIR}/sagabox-config-version.cmake
  DESTINATION ${sagabox_package_dir})
if(TARGET sagabox_cli)
  install(TARGETS sagabox_cli COMPONENT daemon)
  include(cmake/package.cmake)
endif()
