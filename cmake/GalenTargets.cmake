# A room's CMake file is a list: explicit files, explicit rooms it may include.

add_library(galen_options INTERFACE)
target_compile_options(galen_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Werror
  # Designated initializers name what differs from the default; GCC 12 takes the rest for forgotten.
  -Wno-missing-field-initializers
  # GCC 12 at -O2 takes a moved variant for uninitialized and the sum of two texts for overlapping
  # memory (gcc.gnu.org: PR80635, PR105651); clang and the sanitizers look for the real things.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-Wno-maybe-uninitialized>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-Wno-restrict>
  # clang looks into libstdc++ 12's stable_sort, which uses what C++17 deprecates; GCC tells of ours.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  # More of the same kind (PR105329): they may speak, they must not stop the build.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-error=array-bounds>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-error=stringop-overflow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-error=stringop-overread>
  -ffunction-sections -fdata-sections)
target_link_options(galen_options INTERFACE -Wl,--gc-sections -Wl,--as-needed)
target_compile_definitions(galen_options INTERFACE GALEN_VERSION="${PROJECT_VERSION}")
target_include_directories(galen_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
# Tests are linked by gold where it is: three times as fast, of which a sanitizer's build is the most. It
# loses the marks of -fcf-protection, so what ships is linked by the compiler's own choice.
find_program(GALEN_GOLD ld.gold)
if(GALEN_GOLD)
  set(GALEN_TEST_LINKER -fuse-ld=gold)
endif()
if(GALEN_SANITIZE)
  # Everything is compiled alike, generated code too, so these go to the whole build.
  add_compile_options(-fsanitize=${GALEN_SANITIZE} -fno-omit-frame-pointer)
  if(GALEN_SANITIZE MATCHES undefined)
    # vptr looks at memory through a pipe, so it sees ghosts in a test that runs out of descriptors.
    # RapidJSON adds zero to a null pointer, which C++20 allows and the check does not.
    # The path is relative so that a compiler cache serves every clone.
    file(RELATIVE_PATH ignorelist ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/cmake/sanitizer_ignorelist.txt)
    add_compile_options(-fno-sanitize=vptr -fsanitize-ignorelist=${ignorelist})
  endif()
  add_link_options(-fsanitize=${GALEN_SANITIZE} ${GALEN_TEST_LINKER})
elseif(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  # What ships is hard to turn against its user, should a bound be missing somewhere: the stack and the
  # library's own calls are checked, addresses cannot be guessed, tables of addresses are read-only, and
  # jumps go where a jump may go. tests/e2e/hardening_test.cc reads all of it from the programs.
  add_compile_options(-fPIE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -D_GLIBCXX_ASSERTIONS)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES x86_64)
    add_compile_options(-fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES aarch64)
    add_compile_options(-mbranch-protection=standard)
  endif()
  add_link_options(-pie -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

# Headers that most files read are compiled once: a third of the time of a whole build. A file still
# includes what it uses: ./dev tidy reads the product without them (CMAKE_DISABLE_PRECOMPILE_HEADERS).
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cc CONTENT "// Only to carry the headers.\n")
add_library(galen_headers OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
target_link_libraries(galen_headers PRIVATE galen_options fmt::fmt)
target_precompile_headers(galen_headers PRIVATE <fmt/format.h> <algorithm> <chrono> <functional> <map>
  <memory> <optional> <set> <span> <string> <string_view> <utility> <variant> <vector>)
if(GALEN_TESTS)
  add_library(galen_test_headers OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_link_libraries(galen_test_headers PRIVATE galen_options fmt::fmt GTest::gmock)
  target_compile_options(galen_test_headers PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  target_precompile_headers(galen_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <fmt/format.h>
    <algorithm> <chrono> <functional> <map> <memory> <optional> <set> <span> <string> <string_view>
    <utility> <variant> <vector>)
endif()

# Files of a room are compiled several at a time: what they include is read once for all of them, which
# is most of the work. So names in anonymous namespaces are unique in a room. Lists are sorted, so that
# neighbours in a folder share a unit. More files a unit make a whole build quicker and the build after
# one changed file slower. OFF for tools that look at single files.
option(GALEN_UNITS "Compile several files of a room as one unit" ON)
set(GALEN_FILES_PER_UNIT 12 CACHE STRING "How many at the most")
# A program can be linked with a changed file before the rest of its room: ./dev mutate.
set(GALEN_SINGLE_FILE_ROOMS "" CACHE STRING "Rooms (a list) of which each file is a unit of its own")
function(galen_units target)
  if(GALEN_UNITS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${GALEN_FILES_PER_UNIT})
  endif()
endfunction()

# galen_library(ROOM SRCS file... DEPS room-or-library... [PRIVATE_DEPS library...] [SINGLE_FILES]): with
# SINGLE_FILES each file is a unit of its own, for files that are alike and name their parts alike.
function(galen_library room)
  cmake_parse_arguments(ARG "SINGLE_FILES" "" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(galen_${room} STATIC ${ARG_SRCS})
  add_library(galen::${room} ALIAS galen_${room})
  target_link_libraries(galen_${room} PUBLIC galen_options ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  target_precompile_headers(galen_${room} REUSE_FROM galen_headers)
  if(NOT ARG_SINGLE_FILES AND NOT room IN_LIST GALEN_SINGLE_FILE_ROOMS)
    galen_units(galen_${room})
  endif()
endfunction()

# A test that computes takes three places of those that CTest hands out, one that mostly waits (for real
# processes, deadlines, intervals) takes one; ./dev gives three times as many places as there are cores.
set(GALEN_PLACES_COMPUTING 3)

# galen_test(NAME SRCS file_test.cc... DEPS room... [READS_SOURCES file_test.cc...] [WAITS] [PARTS n]): one
# program. Only the files that read the source tree know where it is, so that a compiler cache serves
# every clone. WAITS: it mostly waits. PARTS: run as so many CTest entries, each a part of the tests,
# side by side.
function(galen_test name)
  if(NOT GALEN_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "WAITS" "PARTS" "SRCS;DEPS;READS_SOURCES" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE galen_options ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  target_link_options(${name} PRIVATE ${GALEN_TEST_LINKER})
  # What a test measures is in the rooms' libraries; its own code takes half the time to compile so.
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  target_precompile_headers(${name} REUSE_FROM galen_test_headers)
  galen_units(${name})
  set_source_files_properties(${ARG_READS_SOURCES} PROPERTIES
    COMPILE_DEFINITIONS GALEN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # Which files' tests must have run: ./dev compares.
  set(files ${ARG_SRCS})
  list(FILTER files INCLUDE REGEX "_test[.]cc$")
  file(RELATIVE_PATH place ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM files PREPEND ${place}/)
  list(JOIN files "\n" lines)
  file(WRITE ${CMAKE_BINARY_DIR}/tests/${name}.files "${lines}\n")
  if(NOT ARG_PARTS)
    set(ARG_PARTS 1)
  endif()
  math(EXPR last "${ARG_PARTS} - 1")
  foreach(part RANGE ${last})
    set(entry ${name})
    if(ARG_PARTS GREATER 1)
      set(entry ${name}.${part})
    endif()
    add_test(NAME ${entry} COMMAND ${name} --gtest_brief=1
      --gtest_output=xml:${CMAKE_BINARY_DIR}/tests/${entry}.xml)
    set_tests_properties(${entry} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_PARTS};GTEST_SHARD_INDEX=${part}")
    if(ARG_WAITS)
      # Started first, for the longest of them bound the whole.
      set_tests_properties(${entry} PROPERTIES COST 100)
    else()
      set_tests_properties(${entry} PROPERTIES PROCESSORS ${GALEN_PLACES_COMPUTING})
    endif()
  endforeach()
endfunction()

# All that a user runs, without the tests.
add_custom_target(programs)

# galen_program(NAME SRCS file.cc DEPS room...)
function(galen_program name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  add_dependencies(programs ${name})
  target_link_libraries(${name} PRIVATE galen_options ${ARG_DEPS})
endfunction()

# What must be generated before a source file can be read by a tool.
add_custom_target(generated)

# galen_proto(TARGET file.proto...): lite messages, generated under the same relative path so that
# #include "protos/dra/v1/dra.pb.h" works. Our warnings do not apply to generated code.
function(galen_proto target)
  set(generated)
  foreach(proto ${ARGN})
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    set(out ${CMAKE_BINARY_DIR}/generated/protos/${stem}.pb)
    add_custom_command(
      OUTPUT ${out}.cc ${out}.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
      COMMAND protobuf::protoc --cpp_out=${CMAKE_BINARY_DIR}/generated -I ${CMAKE_SOURCE_DIR}/src
        protos/${proto}
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/src
      DEPENDS ${CMAKE_SOURCE_DIR}/src/protos/${proto}
      VERBATIM)
    list(APPEND generated ${out}.cc)
  endforeach()
  add_library(galen_${target} STATIC ${generated})
  add_library(galen::${target} ALIAS galen_${target})
  target_include_directories(galen_${target} SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated)
  # Its checks name their file: not by where somebody's checkout is.
  target_compile_options(galen_${target} PRIVATE -fmacro-prefix-map=${CMAKE_BINARY_DIR}/=)
  target_link_libraries(galen_${target} PUBLIC protobuf::libprotobuf-lite)
  add_custom_target(galen_${target}_generated DEPENDS ${generated})
  add_dependencies(generated galen_${target}_generated)
endfunction()

# galen_embed(TARGET ROOM HEADER name=file...): text files as the std::string_view constants kName that
# HEADER declares in namespace galen::ROOM, for what a program must find without its source tree.
function(galen_embed target room header)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded_${room}.cc)
  set(text "#include \"${header}\"\n\nnamespace galen::${room} {\n\n")
  foreach(pair ${ARGN})
    string(REGEX REPLACE "=.*" "" name ${pair})
    string(REGEX REPLACE "^[^=]*=" "" file ${pair})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} body)
    string(APPEND text "const std::string_view ${name} = R\"embedded(${body})embedded\";\n\n")
  endforeach()
  string(APPEND text "}  // namespace galen::${room}\n")
  file(GENERATE OUTPUT ${out} CONTENT "${text}")
  target_sources(${target} PRIVATE ${out})
endfunction()
