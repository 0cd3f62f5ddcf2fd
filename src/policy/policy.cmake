# The stock filters are compiled from policies/*.toml by a program of our own, at build time: the
# installed program reads no TOML and links no libseccomp for them.
find_library(SECCOMP_LIBRARY seccomp REQUIRED)
find_path(SECCOMP_INCLUDE_DIR seccomp.h REQUIRED)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)

# It needs sources of the row that needs its output, so it compiles them for itself.
file(GLOB policy_compiler_sources CONFIGURE_DEPENDS src/policy/compiler/*.cpp)
add_executable(mayfly-policy-compiler ${policy_compiler_sources} src/policy/assembler.cpp
                                      src/policy/filter.cpp src/policy/machine.cpp)
target_link_libraries(mayfly-policy-compiler PRIVATE mayfly_options mayfly_base ${SECCOMP_LIBRARY})
target_include_directories(mayfly-policy-compiler SYSTEM PRIVATE ${SECCOMP_INCLUDE_DIR}
                                                                 ${TOMLPLUSPLUS_INCLUDE_DIR})
target_compile_definitions(mayfly-policy-compiler PRIVATE TOML_EXCEPTIONS=0)

set(stock_filters ${CMAKE_BINARY_DIR}/generated/policy/stock.cpp)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/policy)
add_custom_command(
  OUTPUT ${stock_filters}
  COMMAND
    mayfly-policy-compiler ${CMAKE_SYSTEM_PROCESSOR} ${stock_filters} policies/syscalls.toml
    Default=policies/default.toml Live=policies/live.toml
    Nesting=policies/unsafe-nesting.toml NestingLive=policies/unsafe-nesting-live.toml
  DEPENDS mayfly-policy-compiler policies/syscalls.toml policies/default.toml policies/live.toml
          policies/unsafe-nesting.toml policies/unsafe-nesting-live.toml
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
