# Help, man pages and completion say the same, and the man pages' table of reasons is the code's.
find_program(MANDOC mandoc)
set(docs_check ${CMAKE_CURRENT_SOURCE_DIR}/docs.py)
add_test(NAME meta.docs COMMAND ${Python3_EXECUTABLE} -B ${docs_check} $<TARGET_FILE:mayfly>
                                ${mayfly_man_dir} ${MANDOC})
add_test(NAME meta.docs.self_test COMMAND ${Python3_EXECUTABLE} -B ${docs_check} --self-test ${MANDOC})
set_tests_properties(meta.docs meta.docs.self_test PROPERTIES SKIP_RETURN_CODE 77)
