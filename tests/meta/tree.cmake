# Checks of the sources and of what was built from them. Each proves with --self-test that it would
# notice a fault.
function(mayfly_tree_check name)
  cmake_parse_arguments(check "" "" "ARGS;SELF_TEST_ARGS" ${ARGN})
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/${name}.py)
  add_test(NAME meta.${name} COMMAND ${Python3_EXECUTABLE} -B ${script} ${check_ARGS}
           COMMAND_EXPAND_LISTS)
  add_test(NAME meta.${name}.self_test COMMAND ${Python3_EXECUTABLE} -B ${script} --self-test
                                               ${check_SELF_TEST_ARGS})
endfunction()

mayfly_tree_check(include_direction)
mayfly_tree_check(layout)
mayfly_tree_check(child_symbols ARGS ${CMAKE_NM} $<TARGET_OBJECTS:mayfly_child>
                  SELF_TEST_ARGS ${CMAKE_NM})
if(NOT MAYFLY_SANITIZE)
  mayfly_tree_check(program ARGS ${CMAKE_NM} ${CMAKE_READELF} $<TARGET_FILE:mayfly>
                    SELF_TEST_ARGS ${CMAKE_NM} ${CMAKE_READELF})
endif()
