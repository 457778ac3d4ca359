# The .sql files of the stores are built into the library. Editing one recompiles it.
#
# As a script: cmake -D files=<a;b> -D namespace=<name> -D output=<file.cpp> -P embed_sql.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "#include \"stores/sql/statement.hpp\"\n\nnamespace sagabox::${namespace} {\n\n")
  string(APPEND text "extern const std::span<const sql::File> sql_files;\n")
  string(APPEND text "const sql::File all_sql_files[] = {\n")
  foreach(file ${files})
    get_filename_component(name ${file} NAME)
    file(READ ${file} content)
    string(APPEND text "    {\"${namespace}/${name}\", R\"~sql~(${content})~sql~\"},\n")
  endforeach()
  string(APPEND text "};\nconst std::span<const sql::File> sql_files(all_sql_files);\n\n}\n")
  file(WRITE ${output} "${text}")
  return()
endif()

# sagabox_embed_sql(TARGET STORE): src/stores/STORE/sql/*.sql as sagabox::STORE::sql_files.
function(sagabox_embed_sql target store)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/stores/${store}/sql/*.sql)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_sql.cmake)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${store}_sql_files.cpp)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-Dfiles=${files}" -Dnamespace=${store} -Doutput=${output} -P ${script}
    DEPENDS ${files} ${script} VERBATIM)
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${output})
endfunction()
