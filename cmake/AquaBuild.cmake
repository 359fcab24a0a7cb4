# Compiler settings and the two verbs of this build: aqua_room() for a folder of
# src/, aqua_program() for an executable.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

# ccache, so that a second clone of the same sources compiles nothing: paths inside the source tree
# are taken relative to it, and precompiled headers are told apart by their content. CCACHE_DEPEND has
# it compare headers as they are, and not preprocessed: gcc knows the files that a precompiled header
# has included once by their whole text, so that one that differs in comments is included again. A header that is
# changed while it is compiled keeps the result out of the cache, where it would stand for the new text.
find_program(AQUA_CCACHE ccache)
if(AQUA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${AQUA_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  else()
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

set(AQUA_HOST_CODE "$<COMPILE_LANGUAGE:C,CXX>")  # what nvcc does not compile
add_library(aqua_flags INTERFACE)
target_compile_options(aqua_flags INTERFACE "$<${AQUA_HOST_CODE}:-Wall;-Wextra;-Wpedantic;-Wshadow;\
-Wconversion;-Wsign-conversion>" "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual>")
if(AQUA_WERROR)
  target_compile_options(aqua_flags INTERFACE "$<${AQUA_HOST_CODE}:-Werror>"
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(aqua_flags INTERFACE "$<${AQUA_HOST_CODE}:-Wthread-safety;-Wthread-safety-beta>")
endif()
if(AQUA_ASSERTS)
  target_compile_options(aqua_flags INTERFACE -UNDEBUG)
endif()
if(AQUA_SANITIZE)
  add_compile_options("$<${AQUA_HOST_CODE}:-fsanitize=${AQUA_SANITIZE};-fno-omit-frame-pointer>")
  if(AQUA_SANITIZE MATCHES "undefined")
    # vptr: it opens a pipe to look at an object, and a test leaves no descriptor.
    add_compile_options("$<${AQUA_HOST_CODE}:-fno-sanitize-recover=undefined;-fno-sanitize=vptr>")
  endif()
  if(AQUA_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's TSan does not model stand-alone fences and says so; we use none.
    target_compile_options(aqua_flags INTERFACE $<${AQUA_HOST_CODE}:-Wno-error=tsan>)
  endif()
  add_link_options(-fsanitize=${AQUA_SANITIZE})
endif()
if(AQUA_FUZZ)
  add_compile_options($<${AQUA_HOST_CODE}:-fsanitize=fuzzer-no-link>)  # coverage of every room, or the fuzzer is blind
endif()
if(AQUA_PORTABLE)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set(CMAKE_BUILD_RPATH "$ORIGIN")
  # RPATH, not RUNPATH: what a library beside the program needs is looked for there as well.
  add_link_options(-static-libstdc++ -static-libgcc -Wl,--disable-new-dtags)
endif()
find_package(Threads REQUIRED)

# aqua_sources(variable EXCEPT ...): every .cpp of this folder and of those below it, but for these.
function(aqua_sources variable)
  cmake_parse_arguments(S "" "" "EXCEPT" ${ARGN})
  file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  foreach(pattern ${S_EXCEPT})
    list(FILTER found EXCLUDE REGEX "^${pattern}")
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# aqua_room(device DEPS base ...): this folder as a static library aqua_<name>, made of SOURCES or
# else of every source in it but EXCEPT; ONE_BY_ONE: also where AQUA_UNITY joins sources. DEPS are other rooms; includes may only follow them
# (tests/check_includes.py). Rooms of src/ also go into the library proper (src/CMakeLists.txt).
function(aqua_room name)
  cmake_parse_arguments(ROOM "ONE_BY_ONE" "" "SOURCES;EXCEPT;DEPS;LIBS" ${ARGN})
  if(NOT ROOM_SOURCES)
    aqua_sources(ROOM_SOURCES EXCEPT ${ROOM_EXCEPT})
  endif()
  add_library(aqua_${name} STATIC ${ROOM_SOURCES})
  if(ROOM_ONE_BY_ONE)
    set_target_properties(aqua_${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  target_include_directories(aqua_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/src/")
    target_include_directories(aqua_${name} PUBLIC ${PROJECT_SOURCE_DIR})  # "tools/…", "coordinator/…"
  endif()
  list(TRANSFORM ROOM_DEPS PREPEND aqua_)
  target_link_libraries(aqua_${name} PUBLIC ${ROOM_DEPS} ${ROOM_LIBS} Threads::Threads PRIVATE aqua_flags)
endfunction()

function(aqua_program name)
  cmake_parse_arguments(PROG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${PROG_SOURCES})
  target_link_libraries(${name} PRIVATE ${PROG_LIBS} aqua_flags)
endfunction()

# aqua_path_of(variable program): where another program finds this one. With AQUA_PORTABLE both
# are started from the folder that they lie in.
function(aqua_path_of variable program)
  if(AQUA_PORTABLE)
    set(${variable} "./${program}" PARENT_SCOPE)
  else()
    set(${variable} "$<TARGET_FILE:${program}>" PARENT_SCOPE)
  endif()
endfunction()
