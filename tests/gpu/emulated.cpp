// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "tests/gpu/emulated.h"

namespace fabrail::gpu {

CUdeviceptr map_pieces(int pieces, int device, bool for_nics) {
  constexpr std::size_t kPiece = 2 << 20;
  const CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, device};
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = location;
  properties.allocFlags.gpuDirectRDMACapable = for_nics ? 1 : 0;
  const CUmemAccessDesc access{location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr base = 0;
  const auto count = static_cast<std::size_t>(pieces);
  EXPECT_EQ(cuMemAddressReserve(&base, count * kPiece, 0, 0, 0), CUDA_SUCCESS);
  for (std::size_t i = 0; i < count; ++i) {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cuMemCreate(&handle, kPiece, &properties, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemMap(base + i * kPiece, kPiece, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemSetAccess(base + i * kPiece, kPiece, &access, 1), CUDA_SUCCESS);
  }
  return base;
}

}  // namespace fabrail::gpu
