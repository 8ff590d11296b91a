# All fuzzing programs. Built only where the build instruments for libFuzzer: preset asan.
add_custom_target(fuzzers)

# galen_fuzz(file_fuzz.cc TARGETS name=Function... DEPS room...): the targets of that file, each a program
# fuzz_NAME. Everywhere else fuzz_corpus_test runs the same functions on what fuzzing has kept.
function(galen_fuzz source)
  if(NOT GALEN_SANITIZE MATCHES fuzzer)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "TARGETS;DEPS" ${ARGN})
  get_filename_component(stem ${source} NAME_WE)
  add_library(galen_${stem} STATIC ${source})
  target_link_libraries(galen_${stem} PUBLIC galen_options ${ARG_DEPS})
  foreach(pair ${ARG_TARGETS})
    string(REGEX REPLACE "=.*" "" name ${pair})
    string(REGEX REPLACE "^[^=]*=" "" function ${pair})
    add_executable(fuzz_${name} fuzz_entry.cc)
    target_compile_definitions(fuzz_${name} PRIVATE GALEN_FUZZ_FUNCTION=${function})
    target_link_libraries(fuzz_${name} PRIVATE galen_${stem})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    add_dependencies(fuzzers fuzz_${name})
  endforeach()
endfunction()
