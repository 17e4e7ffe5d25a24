// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The table; its rows are what `tests/nccl/read_layout LIBNCCL` prints from a library's debug info.
#include "tests/nccl/probe/comm_layout.h"

#include <algorithm>
#include <string>

#include "tests/nccl/probe/nccl_library.h"

namespace fabrail::nccl_test {
namespace {

#ifdef __x86_64__
constexpr bool kOffsetsHold = true;
#else
constexpr bool kOffsetsHold = false;  // pthread types, of which ncclComm has many, differ in size
#endif

constexpr size_t kNone = CommLayout::kAbsent;

// version, sizeof ncclComm, ncclNet, ncclNetVer, netContext, commHash, sharedRes
constexpr CommLayout kLayouts[] = {
    {21801, 11128, 9120, kNone, kNone, 9168, 120},
    {21803, 11176, 9120, kNone, kNone, 9168, 120},
    {21903, 11600, 9376, kNone, kNone, 9424, 120},
    {22005, 13152, 10400, kNone, kNone, 10448, 120},
    {22105, 16288, 13480, kNone, kNone, 13528, 128},
    {22203, 219520, 13488, kNone, kNone, 213576, 128},
    {22304, 253152, 13512, kNone, kNone, 246944, 128},
    {22403, 252624, 13512, kNone, kNone, 246944, 128},
    {22501, 501072, 26312, kNone, kNone, 492704, 128},
    {22602, 506752, 26320, 26328, kNone, 492720, 136},
    {22605, 506752, 26320, 26328, kNone, 492720, 136},
    {22703, 1080320, 26320, 26332, kNone, 1066160, 136},
    {22705, 1080320, 26320, 26332, kNone, 1066160, 136},
    {22706, 1080320, 26320, 26332, kNone, 1066160, 136},
    {22707, 1080320, 26320, 26332, kNone, 1066160, 136},
    {22803, 1081816, 26320, 26340, 26328, 1066176, 136},
    {22807, 1082968, 26320, 26348, 26328, 1066184, 136},
    {22809, 1082968, 26320, 26348, 26328, 1066184, 136},
    {22902, 1084808, 26832, 26860, 26840, 1066704, 136},
    {22903, 1084808, 26832, 26860, 26840, 1066704, 136},
    {22907, 1199592, 26832, 26864, 26840, 1181392, 136},
    {23003, 1199728, 26832, 26872, 26840, 1181400, 136},
    {23004, 1199728, 26832, 26872, 26840, 1181400, 136},
    {23007, 1199744, 26840, 26884, 26848, 1181416, 136},
    {23102, 1196464, 26848, 26880, 26856, 1181408, 136},
    {23203, 1196536, 26848, 26880, 26856, 1181408, 136},
};

}  // namespace

const CommLayout& comm_layout(int version) {
  if (!kOffsetsHold) throw Unsupported("the table of NCCL's layouts is for x86-64");
  const auto* found = std::ranges::find(kLayouts, version, &CommLayout::version);
  if (found == std::end(kLayouts)) {
    throw Unsupported("the layout of NCCL " + std::to_string(version) + " is not in the table");
  }
  return *found;
}

int native_abi(int version) {
  struct Era {
    int first_version;
    int abi;
  };
  constexpr Era kEras[] = {{23000, 12}, {22800, 11}, {22600, 10}, {22400, 9},
                           {22000, 8},  {21900, 7},  {21300, 6}};
  for (const Era& era : kEras) {
    if (version >= era.first_version) return era.abi;
  }
  throw Unsupported("NCCL before 2.13 has no net ABI that we know");
}

}  // namespace fabrail::nccl_test
