# The sanitizer build runs a sandbox, too: parent, supervisor and reports at work, not in parts.
if(MAYFLY_SANITIZE)
  add_test(NAME meta.sanitized_run COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/sanitized_run $<TARGET_FILE:mayfly>)
endif()
