# mayfly_suite(NAME TIMEOUT seconds SOURCES file…): a doctest program NAME_tests on top of the harness.
# Each of its test cases becomes two ctest tests, "NAME.root: …" and "NAME.user: …". A root test
# that ctest starts as an ordinary user is skipped, and says so; tests/as_user does the other half.
find_package(doctest REQUIRED)
include(doctest)
function(mayfly_suite name)
  cmake_parse_arguments(suite "" "TIMEOUT" "SOURCES" ${ARGN})
  add_executable(${name}_tests ${suite_SOURCES})
  target_link_libraries(${name}_tests PRIVATE mayfly_harness)
  mayfly_precompile(${name}_tests suite <doctest/doctest.h> <filesystem> <fstream> <sstream>)
  add_dependencies(${name}_tests mayfly mayfly-hooked probe)
  foreach(as root user)
    doctest_discover_tests(
      ${name}_tests
      TEST_PREFIX "${name}.${as}: "
      TEST_LIST ${name}_${as}_tests
      EXTRA_ARGS --as=${as}
      PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${suite_TIMEOUT})
  endforeach()
endfunction()
