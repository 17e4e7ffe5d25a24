// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Feeds any bytes to the readers of files that the doctor does not trust; the first byte chooses.
#include <cstdint>
#include <span>
#include <sstream>
#include <string>

#include "src/cli/doctor/elf.h"
#include "src/cli/doctor/ld_cache.h"
#include "src/cli/doctor/nccl_log.h"
#include "src/cli/doctor/nccl_topology.h"
#include "src/cli/doctor/settings.h"

namespace {

using namespace fabrail::doctor;

void read_as_elf(std::string_view bytes) {
  const auto source = ByteSource::over(std::as_bytes(std::span(bytes.data(), bytes.size())));
  (void)read_elf(source).ok();
  (void)read_elf_symbols(source).ok();
  (void)source.has_text("NCCL version ");
}

void read_as_conf(std::string_view bytes) {
  Settings settings;
  add_conf("/etc/nccl.conf", bytes, settings);
}

void read_as_log(std::string_view bytes) {
  std::istringstream input{std::string(bytes)};
  read_nccl_log(input, "log");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      read_as_elf(bytes);
      break;
    case 1:
      read_ld_cache(bytes);
      break;
    case 2:
      read_as_conf(bytes);
      break;
    case 3:
      read_as_log(bytes);
      break;
    default:
      read_topology_file(bytes);
  }
  return 0;
}
