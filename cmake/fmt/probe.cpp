// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Does it link, with this version of fmt?
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  const std::string text =
      fmt::format("{:>{}} {:.3f} {:g} {:L} {:x} {}", argv[0], argc + 4, 1.5 * argc,
                  1.5F * static_cast<float>(argc), 1000 * argc, argc, argc == 1);
  fmt::print("{:?<10}\n", text);
  fmt::print(stderr, "{}\n", text);
  fmt::print(std::cout, "{}\n", text);
}
