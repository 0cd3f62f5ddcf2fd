# Every policy compiles for both architectures, also one that is not (yet) among the stock filters.
file(GLOB policies CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/policies/*.toml)
list(REMOVE_ITEM policies policies/syscalls.toml) # the catalogue of calls that they choose from
foreach(policy ${policies})
  get_filename_component(name ${policy} NAME_WE)
  foreach(arch x86_64 aarch64)
    add_test(
      NAME meta.policy.${name}.${arch}
      COMMAND mayfly-policy-compiler ${arch} ${CMAKE_CURRENT_BINARY_DIR}/${name}.${arch}.cpp
              policies/syscalls.toml Tested=${policy}
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endforeach()
endforeach()
