# pid 1: a freestanding program, and the library that carries it inside the main program.
#
# Small and quick to execute, since every sandbox does so: one segment, read and execute, no writable
# data (all state is on the stack), no note, no unwind table. No sanitizer: there is no libc to hold
# one. The flags come after those of the build type, and win.
set(mayfly_init_sources src/init/entry.cpp src/init/init.cpp src/init/start.cpp src/init/task.cpp
                        src/init/request.cpp src/init/interpreter.cpp src/init/channel.cpp)
add_executable(mayfly_init_program ${mayfly_init_sources})
set_target_properties(mayfly_init_program PROPERTIES OUTPUT_NAME mayfly-init
                                                     RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_include_directories(mayfly_init_program PRIVATE src)
target_compile_definitions(mayfly_init_program PRIVATE _GNU_SOURCE)
target_compile_options(
  mayfly_init_program
  PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Os -ffreestanding -fno-builtin -fno-pic -fno-pie
          -fno-exceptions -fno-rtti -fno-stack-protector -fno-sanitize=all -fno-lto
          -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-ident -fno-threadsafe-statics
          -ffunction-sections -U_FORTIFY_SOURCE)
if(MAYFLY_WERROR)
  target_compile_options(mayfly_init_program PRIVATE -Werror)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(mayfly_init_program PRIVATE -fcf-protection=none)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # memcpy and memset are loops of ours; gcc would make of each a call of itself.
  set_source_files_properties(src/init/entry.cpp PROPERTIES COMPILE_OPTIONS
                                                            -fno-tree-loop-distribute-patterns)
endif()
target_link_options(
  mayfly_init_program PRIVATE -static -nostdlib -Wl,--gc-sections -Wl,--strip-all
  -Wl,--build-id=none -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,-z,noexecstack -Wl,--fatal-warnings)

set(mayfly_init_file ${CMAKE_BINARY_DIR}/mayfly-init)
add_library(mayfly_init STATIC src/init/image.cpp)
add_dependencies(mayfly_init mayfly_init_program)
target_link_libraries(mayfly_init PUBLIC mayfly_options)
set_source_files_properties(src/init/image.cpp PROPERTIES
  COMPILE_DEFINITIONS MAYFLY_INIT_PROGRAM="${mayfly_init_file}"
  OBJECT_DEPENDS ${mayfly_init_file})
list(PREPEND mayfly_rows_above mayfly_init)
