# The stock policies compile for both architectures.
foreach(arch x86_64 aarch64)
  add_test(
    NAME meta.policies.${arch}
    COMMAND mayfly-policy-compiler ${arch} ${CMAKE_CURRENT_BINARY_DIR}/policies.${arch}.cpp
            policies/syscalls.toml ${stock_policies}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
endforeach()
