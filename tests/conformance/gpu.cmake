# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
#
# The suite on GPU memory: emulated GPUs whose memory emulated EFA NICs write, and which see what was
# written only after a flush. Skipped where libfabric does not let a NIC have it (docs/gpu-memory.md),
# for example Debian 12's; Debian 13's does. Label: gpudirect.
if(NOT TARGET emugpu_driver OR NOT TARGET fabrail-sim OR FABRAIL_SANITIZE)
  return()
endif()

#   fabrail_add_gpu_conformance(name nics environment [argument of the suite...])
function(fabrail_add_gpu_conformance name nics environment)
  fabrail_add_efa_conformance(gpu.${name} ${nics}
    "${environment};EMUGPU_VISIBLE_AFTER_MS=100000000;LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/emugpu" ${ARGN})
  set_tests_properties(conformance.efa.gpu.${name} PROPERTIES LABELS "conformance;gpudirect" SKIP_RETURN_CODE 77)
endfunction()

set(bytes_only "--gtest_filter=*Transfer*:*Group*:*Flush*:Visibility*")  # what moves bytes
fabrail_add_gpu_conformance(1rail.write.driver 1 "FABRAIL_PULL=0;FABRAIL_FLUSH=driver;EMUGPU_CC=8.0"
  --abi 8 --memory device ${data_path_only})
fabrail_add_gpu_conformance(4rail.write.loopback 4 "FABRAIL_PULL=0;FABRAIL_FLUSH=loopback;EMUGPU_CC=9.0"
  --abi 8 --memory dmabuf ${data_path_only})
fabrail_add_gpu_conformance(4rail.fetch.loopback 4 "FABRAIL_PULL=2;FABRAIL_FLUSH=loopback;EMUGPU_CC=8.0"
  --abi 8 --memory device ${data_path_only})
fabrail_add_gpu_conformance(1rail.fetch.driver 1 "FABRAIL_PULL=2;FABRAIL_FLUSH=driver;EMUGPU_CC=9.0"
  --abi 8 --memory dmabuf ${bytes_only})

# By peer memory, as there is no dma-buf. They differ from those above in how memory is registered:
# without processes that die, and but for one run only what moves bytes.
fabrail_add_gpu_conformance(peer.4rail.write.loopback 4
  "EMUGPU_DMABUF=0;FABRAIL_PULL=0;FABRAIL_FLUSH=loopback;EMUGPU_CC=9.0" --abi 8 --memory device
  "${data_path_only}:*PeerKilled*:PeerDeath*:*ExitPath*")
fabrail_add_gpu_conformance(peer.1rail.write.driver 1
  "EMUGPU_DMABUF=0;FABRAIL_PULL=0;FABRAIL_FLUSH=driver;EMUGPU_CC=8.0" --abi 8 --memory device ${bytes_only})
fabrail_add_gpu_conformance(peer.1rail.fetch.loopback 1
  "EMUGPU_DMABUF=0;FABRAIL_PULL=2;FABRAIL_FLUSH=loopback;EMUGPU_CC=8.0" --abi 8 --memory device ${bytes_only})
fabrail_add_gpu_conformance(peer.4rail.fetch.driver 4
  "EMUGPU_DMABUF=0;FABRAIL_PULL=2;FABRAIL_FLUSH=driver;EMUGPU_CC=9.0" --abi 8 --memory device ${bytes_only})

# Would these tests see a plugin that flushes wrongly? Each mutant is the plugin with one change in
# one file, and its wrong bytes must be found.
#   fabrail_add_mutant(name source sed_expression environment)
function(fabrail_add_mutant name source expression environment)
  set(mutant ${CMAKE_CURRENT_BINARY_DIR}/mutant_${name}.cpp)
  add_custom_command(OUTPUT ${mutant}
    COMMAND sed -E ${expression} ${CMAKE_SOURCE_DIR}/${source} > ${mutant}
    COMMAND sh -c "! cmp -s ${CMAKE_SOURCE_DIR}/${source} ${mutant}"
    DEPENDS ${CMAKE_SOURCE_DIR}/${source} VERBATIM)
  # The linker takes the mutant's functions, and so never looks at the archive's own.
  add_library(mutant_${name} MODULE ${mutant} $<TARGET_OBJECTS:nccl-net-fabrail>)
  target_link_libraries(mutant_${name} PRIVATE fabrail_topology fabrail_transport fabrail_observe)
  fabrail_add_gpu_conformance(mutant.${name} 4 "${environment}" --abi 8 --memory device
    --plugin $<TARGET_FILE:mutant_${name}> "--gtest_filter=*.MovesEverySizeBothWays/*")
  set_tests_properties(conformance.efa.gpu.mutant.${name} PROPERTIES
    LABELS "gpudirect" PASS_REGULAR_EXPRESSION "wrong byte at offset|test says")
endfunction()

fabrail_add_mutant(no_flush src/transport/device.cpp
  "s/if \\(first == receives.end\\(\\) /if (first != receives.end() /" "FABRAIL_FLUSH=loopback")
fabrail_add_mutant(one_rail src/transport/device.cpp
  "s/rails != 0 [?] rails : all_rails.comm.rails./rails \\& -rails/" "FABRAIL_FLUSH=loopback")
fabrail_add_mutant(too_early src/transport/dispatch.cpp
  "s/popcount\\(slot.stripes\\) == slot.expected/popcount(slot.stripes) + 1 >= slot.expected/"
  "FABRAIL_FLUSH=loopback;FABRAIL_PULL=0")
