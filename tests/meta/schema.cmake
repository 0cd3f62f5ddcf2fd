# The schemas are what the program prints and reads, and the pages describe all that is in them.
set(schema_check ${CMAKE_CURRENT_SOURCE_DIR}/schema.py)
add_test(NAME meta.schema COMMAND ${Python3_EXECUTABLE} -B ${schema_check} $<TARGET_FILE:mayfly>
                                  ${mayfly_schema_dir} ${mayfly_man_dir})
add_test(NAME meta.schema.self_test COMMAND ${Python3_EXECUTABLE} -B ${schema_check} --self-test)
set_tests_properties(meta.schema meta.schema.self_test PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(meta.schema PROPERTIES TIMEOUT 300)
