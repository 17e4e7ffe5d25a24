# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
# fabrail_fmt: fmt for programs. They carry it, as its library's name changes from one Debian to the next. In every
# file that prints it would take seconds to compile; where this version of fmt allows it is compiled once.
find_package(fmt REQUIRED)
add_library(fabrail_fmt INTERFACE)

set(implementation ${CMAKE_CURRENT_LIST_DIR}/fmt/implementation.cpp)
get_target_property(directories fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
try_compile(FABRAIL_FMT_COMPILED_ONCE ${CMAKE_BINARY_DIR}/fmt_probe
  SOURCES ${implementation} ${CMAKE_CURRENT_LIST_DIR}/fmt/probe.cpp
  CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${directories}"
  CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON OUTPUT_VARIABLE output)
if(FABRAIL_FMT_COMPILED_ONCE)
  add_library(fabrail_fmt_implementation STATIC ${implementation})
  target_include_directories(fabrail_fmt_implementation SYSTEM PUBLIC ${directories})
  target_link_libraries(fabrail_fmt INTERFACE fabrail_fmt_implementation)
else()
  message(STATUS "fmt is compiled in every file: ${output}")
  target_link_libraries(fabrail_fmt INTERFACE fmt::fmt-header-only)
endif()
