# The stock filters are compiled from policies/*.toml by a program of our own, at build time: the
# installed program reads nothing for them.
find_library(SECCOMP_ARCHIVE libseccomp.a REQUIRED)
find_path(SECCOMP_INCLUDE_DIR seccomp.h REQUIRED)

# It needs sources of the row that needs its output, so it compiles them for itself.
file(GLOB policy_compiler_sources CONFIGURE_DEPENDS src/policy/compiler/*.cpp)
add_executable(mayfly-policy-compiler ${policy_compiler_sources} src/policy/assembler.cpp
                                      src/policy/filter.cpp src/policy/groups.cpp
                                      src/policy/machine.cpp)
target_link_libraries(mayfly-policy-compiler PRIVATE mayfly_options mayfly_spec mayfly_base
                                                     ${SECCOMP_ARCHIVE})
target_include_directories(mayfly-policy-compiler SYSTEM PRIVATE ${SECCOMP_INCLUDE_DIR})

# The first is the one that the others start from.
set(stock_policies policies/default.toml policies/strict.toml policies/build.toml)
set(stock_filters ${CMAKE_BINARY_DIR}/generated/policy/stock.cpp)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/policy)
add_custom_command(
  OUTPUT ${stock_filters}
  COMMAND
    mayfly-policy-compiler ${CMAKE_SYSTEM_PROCESSOR} ${stock_filters} policies/syscalls.toml
    ${stock_policies}
  DEPENDS mayfly-policy-compiler policies/syscalls.toml ${stock_policies}
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  COMMENT "Compiling policies/*.toml to the stock filters"
  VERBATIM)
target_sources(mayfly_policy PRIVATE ${stock_filters})

# Where tests find the compiler and its input.
file(
  GENERATE
  OUTPUT ${CMAKE_BINARY_DIR}/generated/tests/policy_compiler.hpp
  CONTENT
    "#pragma once
inline constexpr char kPolicyCompiler[] = \"$<TARGET_FILE:mayfly-policy-compiler>\";
inline constexpr char kPolicies[] = \"${CMAKE_SOURCE_DIR}/policies\";
")

# Foreign profiles are compiled at run time. The library is static and has no constructors.
target_link_libraries(mayfly_policy PRIVATE ${SECCOMP_ARCHIVE})
target_include_directories(mayfly_policy SYSTEM PRIVATE ${SECCOMP_INCLUDE_DIR})
