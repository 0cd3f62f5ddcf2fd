# Schemas, man pages and shell completion: templates with the tables put in by a program that is built
# from the same tables.
add_executable(mayfly_docs src/cli/docs_main.cpp)
target_link_libraries(mayfly_docs PRIVATE mayfly_cli)

# The schemas first, since pages describe what is in them.
set(mayfly_schema_dir ${CMAKE_BINARY_DIR}/schema)
file(MAKE_DIRECTORY ${mayfly_schema_dir})
file(GLOB schema_templates CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/man/schema/*.in)
set(mayfly_schema_files)
foreach(template ${schema_templates})
  get_filename_component(schema ${template} NAME_WLE)
  set(made ${mayfly_schema_dir}/${schema})
  add_custom_command(OUTPUT ${made} COMMAND mayfly_docs ${template} ${mayfly_schema_dir} > ${made}
                     DEPENDS mayfly_docs ${template} VERBATIM)
  list(APPEND mayfly_schema_files ${made})
endforeach()
install(FILES ${mayfly_schema_files} DESTINATION ${CMAKE_INSTALL_DATADIR}/mayfly/schema)

set(mayfly_man_dir ${CMAKE_BINARY_DIR}/man)
file(MAKE_DIRECTORY ${mayfly_man_dir})
file(GLOB man_templates CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/man/*.in)
set(mayfly_man_files)
foreach(template ${man_templates})
  get_filename_component(page ${template} NAME_WLE)
  set(made ${mayfly_man_dir}/${page})
  add_custom_command(OUTPUT ${made} COMMAND mayfly_docs ${template} ${mayfly_schema_dir} > ${made}
                     DEPENDS mayfly_docs ${template} ${mayfly_schema_files} VERBATIM)
  list(APPEND mayfly_man_files ${made})
  if(page MATCHES "\\.([1-8])$")
    install(FILES ${made} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${CMAKE_MATCH_1})
  elseif(page MATCHES "^(.*)\\.bash$")
    install(FILES ${made} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
            RENAME ${CMAKE_MATCH_1})
  endif()
endforeach()
add_custom_target(mayfly_man ALL DEPENDS ${mayfly_man_files})
