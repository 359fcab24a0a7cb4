# Compiler settings and the two verbs of this build: aqua_room() for a folder of
# src/, aqua_program() for an executable.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

# Developers' builds: quick to compile, quick enough to run.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")

find_program(AQUA_CCACHE ccache)
if(AQUA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${AQUA_CCACHE})
endif()

add_library(aqua_flags INTERFACE)
target_compile_options(aqua_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual)
if(PROJECT_IS_TOP_LEVEL)  # another project's compiler may know warnings that ours do not
  target_compile_options(aqua_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(aqua_flags INTERFACE -Wthread-safety -Wthread-safety-beta)
endif()
if(AQUA_ASSERTS)
  target_compile_options(aqua_flags INTERFACE -UNDEBUG)
endif()
if(AQUA_SANITIZE)
  add_compile_options(-fsanitize=${AQUA_SANITIZE} -fno-omit-frame-pointer)
  if(AQUA_SANITIZE MATCHES "undefined")
    # vptr: it opens a pipe to look at an object, and a test leaves no descriptor.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=vptr)
  endif()
  if(AQUA_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's TSan does not model stand-alone fences and says so; we use none.
    target_compile_options(aqua_flags INTERFACE -Wno-error=tsan)
  endif()
  add_link_options(-fsanitize=${AQUA_SANITIZE})
endif()
if(AQUA_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage of every room, or the fuzzer is blind
endif()
find_package(Threads REQUIRED)

# aqua_room(device SOURCES a.cpp ... DEPS base ...): one folder of src/, a static
# library aqua_<name> whose objects also go into the library proper. DEPS are other
# rooms; includes may only follow them (tests/check_includes.py).
function(aqua_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_library(aqua_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(aqua_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM ROOM_DEPS PREPEND aqua_)
  target_link_libraries(aqua_${name} PUBLIC ${ROOM_DEPS} ${ROOM_LIBS} Threads::Threads PRIVATE aqua_flags)
endfunction()

function(aqua_program name)
  cmake_parse_arguments(PROG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${PROG_SOURCES})
  target_link_libraries(${name} PRIVATE ${PROG_LIBS} aqua_flags)
endfunction()
