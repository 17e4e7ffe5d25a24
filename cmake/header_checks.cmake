# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
# Target header_checks: compiles each header alone, with the flags of all our code; those of include/ as C too.
# Built when asked for: cmake --build build/release --target header_checks
add_library(header_checks OBJECT EXCLUDE_FROM_ALL)
target_link_libraries(header_checks PRIVATE fabrail_options fabrail_libfabric_headers)

function(add_header_check header language)
  string(MAKE_C_IDENTIFIER ${header} name)
  set(source ${CMAKE_BINARY_DIR}/header_checks/${name}.${language})
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n" @ONLY)
  target_sources(header_checks PRIVATE ${source})
endfunction()

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
  include/*.h src/*.h topology/*.h plugin/*.h)
foreach(header IN LISTS headers)
  add_header_check(${header} cpp)
  if(header MATCHES "^include/")
    add_header_check(${header} c)
  endif()
endforeach()
