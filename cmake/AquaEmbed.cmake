# aqua_embed(target HEADER h NAMESPACE ns FILES a.html ...): compiles files into `target`. The
# header declares, for each, `inline constexpr std::string_view` named after it: index_html.
# As a script it writes one such header: cmake -DOUT=h -DNAMESPACE=ns -DFILES=a;b -P AquaEmbed.cmake
function(aqua_write_embedded out namespace)
  set(text "// Made by cmake/AquaEmbed.cmake.\n#pragma once\n\n#include <string_view>\n\nnamespace ${namespace} {\n")
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    string(MAKE_C_IDENTIFIER ${name} name)
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
    string(APPEND text "inline constexpr char ${name}_bytes[] = {${bytes}};\n"
      "inline constexpr std::string_view ${name}{${name}_bytes, sizeof ${name}_bytes};\n")
  endforeach()
  file(WRITE ${out} "${text}}  // namespace ${namespace}\n")
endfunction()

function(aqua_embed target)
  cmake_parse_arguments(E "" "HEADER;NAMESPACE" "FILES" ${ARGN})
  set(header ${CMAKE_CURRENT_BINARY_DIR}/embedded/${E_HEADER})
  list(TRANSFORM E_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} "-DOUT=${header}" "-DNAMESPACE=${E_NAMESPACE}" "-DFILES=${E_FILES}" -P ${script}
    DEPENDS ${E_FILES} ${script} VERBATIM)
  target_sources(${target} PRIVATE ${header})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND OUT)
  aqua_write_embedded(${OUT} ${NAMESPACE} ${FILES})
endif()
