# `cpack -G DEB` in the build folder makes a Debian package of the binary, its service and manual.
# Only there: `cmake --install` keeps to its prefix.
# It may hold passwords; postinst gives it to the group of the service.
install(FILES packaging/debian/sagabox.yaml DESTINATION /etc/sagabox COMPONENT daemon
  PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ EXCLUDE_FROM_ALL)
set(sagabox_service ${PROJECT_SOURCE_DIR}/packaging/systemd/sagabox.service)
if(NOT SAGABOX_SYSTEMD)
  # Nobody would tell systemd that it is ready, or alive.
  file(READ ${sagabox_service} unit)
  string(REPLACE "Type=notify" "Type=exec" unit "${unit}")
  string(REPLACE "WatchdogSec=30\n" "" unit "${unit}")
  set(sagabox_service ${PROJECT_BINARY_DIR}/sagabox.service)
  file(WRITE ${sagabox_service} "${unit}")
endif()
install(FILES ${sagabox_service} DESTINATION lib/systemd/system COMPONENT daemon EXCLUDE_FROM_ALL)
install(FILES packaging/man/sagabox.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT daemon)
install(FILES packaging/prometheus/alerts.yml packaging/grafana/sagabox.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/sagabox COMPONENT daemon)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT daemon)

install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT daemon
  FILES_MATCHING PATTERN *.md PATTERN decisions EXCLUDE PATTERN coverage.md EXCLUDE)
# Made by the binary itself, so that they say what it takes.
set(sagabox_shells bash zsh fish)
set(sagabox_completions bash-completion/completions/sagabox zsh/vendor-completions/_sagabox
  fish/vendor_completions.d/sagabox.fish)
foreach(shell file IN ZIP_LISTS sagabox_shells sagabox_completions)
  install(CODE "
    set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${file}\")
    get_filename_component(folder \"\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:sagabox_cli>\" completion ${shell}
      OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT daemon)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR sagabox)
set(CPACK_PACKAGE_CONTACT "sagabox maintainers <maintainers@sagabox.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "change the database and tell the world, reliably")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL daemon)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_DEPENDS passwd)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/conffiles
  ${PROJECT_SOURCE_DIR}/packaging/debian/postinst)
include(CPack)
