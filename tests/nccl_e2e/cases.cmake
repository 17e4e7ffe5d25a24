# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
#
# What is run with each NCCL. Ranks use two spinning threads and more, so one case at a time gets
# the machine; no deadline is near what a case takes.

# Lines by which NCCL tells what it took; newer versions print names where older ones print numbers.
set(took_tree "-> Algo (0|TREE) ")
set(took_ring "-> Algo (1|RING) ")
set(took_ll "proto (0|LL) ")
set(took_ll128 "proto (1|LL128) ")
set(took_simple "proto (2|SIMPLE) ")
set(all_right "Out of bounds values : 0 OK")

# nccl_case(VERSION name ENV A=1 ... SEE regex ... NOT regex ... STATUS n RUN argument ...)
# PROGRAM: nccl_test unless said otherwise.
function(nccl_case version name)
  cmake_parse_arguments(case "" "PROGRAM;STATUS" "ENV;SEE;NOT;RUN" ${ARGN})
  set(checks)
  if(NOT case_PROGRAM)
    set(case_PROGRAM nccl_test)
  endif()
  if(case_STATUS)
    list(APPEND checks --status ${case_STATUS})
  endif()
  foreach(regex ${case_SEE})
    list(APPEND checks --see ${regex})
  endforeach()
  foreach(regex ${case_NOT})
    list(APPEND checks --not ${regex})
  endforeach()
  set(test nccl_e2e.${version}.${name})
  add_test(NAME ${test} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_run ${checks} --
    $<TARGET_FILE:${case_PROGRAM}_${version}> ${case_RUN})
  # NCCL 2.29 would choose PAT, which is not emulated, for small all-gathers and reduce-scatters.
  set_tests_properties(${test} PROPERTIES LABELS nccl_e2e PROCESSORS 2 TIMEOUT 600 ENVIRONMENT
    "NCCL_SOCKET_IFNAME=lo;NCCL_PAT_ENABLE=0;NCCL_DEBUG=INFO;NCCL_DEBUG_SUBSYS=INIT,NET,TUNING,P2P,SHM;${case_ENV}")
endfunction()

# NCCL's own network; shows that the emulation is right by itself.
set(net_Socket NCCL_NET=Socket)
# The plugin on a provider that every machine has.
set(net_fabrail NCCL_NET=fabrail NCCL_NET_PLUGIN=fabrail LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}
  FABRAIL_PROVIDER=tcp FABRAIL_NICS=lo)

# As fabrail, but bytes are copied by the kernel only, in rising order: libfabric's tcp provider and fabrail itself use
# memcpy, which may store first bytes last and tear lines of LL128.
set(net_fabrail_in_order ${net_fabrail} FI_TCP_PREFETCH_RBUF_SIZE=0 FABRAIL_EAGER_BYTES=0)

# One algorithm and protocol over one network.
function(nccl_network_case version net algorithm protocol ranks)
  string(TOLOWER ${algorithm}_${protocol} lower)
  string(REGEX MATCH "^[a-z]+" took_algorithm ${lower})
  string(REGEX MATCH "[a-z0-9]+$" took_protocol ${lower})
  set(collectives all)
  if(algorithm STREQUAL Tree)
    set(collectives all_reduce)
  endif()
  nccl_case(${version} ${net}.${lower}_${ranks}_ranks
    ENV NCCL_ALGO=${algorithm} NCCL_PROTO=${protocol} ${net_${net}}
    SEE ${all_right} "Using network ${net}" "via NET/${net}"
      "${took_${took_algorithm}}${took_${took_protocol}}"
    RUN ${collectives} --nodes ${ranks} -b 8 -e 1M -f 362 -n 2 -w 1)
endfunction()

function(nccl_plugin_cases version)
  foreach(ranks 2 4)
    foreach(algorithm Ring Tree)
      foreach(protocol Simple LL)
        nccl_network_case(${version} fabrail ${algorithm} ${protocol} ${ranks})
      endforeach()
    endforeach()
  endforeach()
  set(used "Using network fabrail" "via NET/fabrail")
  nccl_case(${version} fabrail.types_and_reductions
    ENV ${net_fabrail} SEE ${all_right} ${used} " bfloat16 +avg "
    RUN all_reduce,reduce,reduce_scatter -d all -o all --nodes 2 -b 3000 -n 1 -w 0)
  nccl_case(${version} fabrail.odd_ranks_and_sizes
    ENV ${net_fabrail} SEE ${all_right} ${used}
    RUN all -d int8,double --nodes 3 -b 1000 -e 1M -f 31 -n 1 -w 0)
  nccl_case(${version} fabrail.two_gpus_a_node
    ENV ${net_fabrail} SEE ${all_right} ${used} "via P2P/"
    RUN all --nodes 2 -g 2 -b 8 -e 1M -f 362 -n 1 -w 0)
  nccl_case(${version} fabrail.eight_ranks_to_all
    ENV ${net_fabrail} SEE ${all_right} ${used}
    RUN alltoall --nodes 8 -b 8K -e 512K -f 64 -n 1 -w 0)
  nccl_case(${version} fabrail.registered_buffers
    ENV ${net_fabrail} SEE ${all_right} ${used}
    RUN all --nodes 2 -R -b 8 -e 1M -f 362 -n 1 -w 0)
  nccl_case(${version} fabrail.one_channel_large_buffers
    ENV ${net_fabrail} NCCL_MAX_NCHANNELS=1 NCCL_BUFFSIZE=8388608
    SEE ${all_right} ${used} "1 coll channels"
    RUN all_reduce --nodes 2 -b 8 -e 16M -f 1448 -n 1 -w 0)
  nccl_case(${version} fabrail.many_channels_small_buffers
    ENV ${net_fabrail} NCCL_MIN_NCHANNELS=16 NCCL_BUFFSIZE=65536
    SEE ${all_right} ${used} "16 coll channels"
    RUN all_reduce --nodes 2 -b 8 -e 4M -f 724 -n 1 -w 0)
  foreach(algorithm Ring Tree)
    string(TOLOWER ${algorithm} lower)
    nccl_case(${version} fabrail.${lower}_ll128_2_ranks
      ENV NCCL_ALGO=${algorithm} NCCL_PROTO=LL128 ${net_fabrail_in_order}
      SEE ${all_right} ${used} "${took_${lower}}${took_ll128}"
      RUN all_reduce --nodes 2 -b 8 -e 1M -f 362 -n 2 -w 1)
  endforeach()
  # Else lines are torn now and then: whoever asks for LL128 is told. So few bytes go by LL.
  nccl_case(${version} fabrail.ll128_is_warned_of
    ENV ${net_fabrail} NCCL_PROTO=LL,LL128 SEE ${all_right} ${used} "${took_ll}"
      "NCCL_PROTO=LL,LL128 lets NCCL use LL128, which can give WRONG RESULTS here: through host memory"
    RUN all_reduce --nodes 2 -b 8 -e 8 -n 1 -w 0)
  foreach(scenario many split abort death)
    nccl_case(${version} fabrail.${scenario} PROGRAM nccl_scenario
      ENV ${net_fabrail} SEE "rank 1: ${scenario} done" ${used} RUN 3 ${scenario})
  endforeach()
  nccl_case(${version} fabrail.wrong_byte_is_reported
    ENV ${net_fabrail} STATUS 1 SEE "Out of bounds values : [1-9][0-9]* FAILED" ${used}
    RUN all_reduce --nodes 2 -b 1000 -n 1 -w 0 --corrupt)
endfunction()

# nccl_topology_case(VERSION name [GDR] INSTANCE preset TYPE instance-type GPU address SWITCH address NETS ...)
# Where NCCL sees our devices on an emulated node; NETS and SWITCH as check_topology takes them.
function(nccl_topology_case version name)
  cmake_parse_arguments(case "GDR" "INSTANCE;TYPE;GPU;SWITCH" "NETS" ${ARGN})
  list(TRANSFORM case_NETS PREPEND "--net=")
  if(case_GDR)
    set(gdr --gdr)
  endif()
  set(test nccl_e2e.${version}.topology.${name})
  # fabrail-sim puts the emulated NICs before what LD_LIBRARY_PATH says.
  add_test(NAME ${test} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_topology
    --instance ${case_INSTANCE} --gpu ${case_SWITCH} ${case_NETS} ${gdr} --
    $<TARGET_FILE:nccl_test_${version}> all_reduce --nodes 2 -b 1000 -n 1 -w 0)
  set_tests_properties(${test} PROPERTIES LABELS "efa;gpudirect" PROCESSORS 2 TIMEOUT 600
    SKIP_RETURN_CODE 77 ENVIRONMENT "FABRAIL_SIM=$<TARGET_FILE:fabrail-sim>;\
FABRAIL_INSTANCE=${case_TYPE};EMUGPU_PCI=${case_GPU};\
NCCL_SOCKET_IFNAME=lo;NCCL_PAT_ENABLE=0;NCCL_DEBUG=INFO;NCCL_NET=fabrail;NCCL_NET_PLUGIN=fabrail;\
LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}:${CMAKE_BINARY_DIR}/emugpu;NCCL_BUFFSIZE=1048576;\
FABRAIL_PROVIDER=efa;FI_EFA_USE_DEVICE_RDMA=1;FI_EFA_ENABLE_SHM_TRANSFER=0")
endfunction()

# Each leader under its own switch, with a link for all four rails: 16 lanes at 32 GT/s.
set(nets_of_p5)
foreach(net rdmap79s0,0000:45:00.0 rdmap96s0,0000:56:00.0 rdmap113s0,0000:67:00.0 rdmap130s0,0000:78:00.0
    rdmap147s0,0000:89:00.0 rdmap164s0,0000:9a:00.0 rdmap181s0,0000:ab:00.0 rdmap198s0,0000:bc:00.0)
  list(APPEND nets_of_p5 ${net},400000,64)
endforeach()
# Switches that neither the guest nor NCCL sees by itself.
set(nets_of_p4d)
foreach(net rdmap16s27,ffff:10:1f.0 rdmap32s27,ffff:20:1f.0 rdmap144s27,ffff:90:1f.0 rdmap160s27,ffff:a0:1f.0)
  list(APPEND nets_of_p4d ${net},100000,0)
endforeach()

function(nccl_topology_cases version)
  nccl_topology_case(${version} p5 GDR INSTANCE p5 TYPE p5.48xlarge
    GPU 0000:53:00.0 SWITCH 0000:45:00.0 NETS ${nets_of_p5})
  nccl_topology_case(${version} p4d INSTANCE p4d TYPE p4d.24xlarge
    GPU 0000:10:1c.0 SWITCH ffff:10:1f.0 NETS ${nets_of_p4d})
endfunction()

# nccl_efa_case(VERSION name ENV A=1 ... CHECKS --see regex ... BREAK fault ... RUN argument ...)
# NCCL over emulated EFA NICs that shuffle, two nodes with the same ones. What a NIC wrote to a GPU stays
# hidden until it is flushed. BREAK: of fabrail-sim, before the job starts. WHOLE128: the NICs keep aligned 128
# bytes of a write whole.
function(nccl_efa_case version name)
  cmake_parse_arguments(case "WHOLE128" "" "ENV;CHECKS;BREAK;RUN" ${ARGN})
  set(nics --nics 2 --set "shuffle 16")
  if(case_WHOLE128)
    list(APPEND nics --set "rdma read write unsolicited whole128")
  endif()
  set(job $<TARGET_FILE:nccl_test_${version}> ${case_RUN} --nodes 2 -n 1 -w 0)
  if(case_BREAK)
    list(JOIN case_BREAK " " fault)
    set(job sh -c "$<TARGET_FILE:fabrail-sim> break ${fault} && exec \"$@\"" - ${job})
  endif()
  set(test nccl_e2e.${version}.efa.${name})
  add_test(NAME ${test} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_run ${case_CHECKS} --
    $<TARGET_FILE:fabrail-sim> run --instance p5en --nodes 1 ${nics} --once -- ${job})
  # The GPU has no place in PCI here, so NCCL takes it for far from every NIC.
  set_tests_properties(${test} PROPERTIES LABELS "efa;gpudirect" PROCESSORS 2 TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "NCCL_SOCKET_IFNAME=lo;NCCL_PAT_ENABLE=0;NCCL_DEBUG=INFO;NCCL_DEBUG_SUBSYS=INIT,NET,TUNING;\
NCCL_NET=fabrail;NCCL_NET_PLUGIN=fabrail;NCCL_NET_GDR_LEVEL=SYS;FABRAIL_PROVIDER=efa;EMUGPU_VISIBLE_AFTER_MS=100000;\
LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}:${CMAKE_BINARY_DIR}/emugpu;${case_ENV}")
endfunction()

function(nccl_efa_cases version)
  set(used --see "Using network fabrail" --see "Selected provider is efa")
  set(gdr ${used} --needs "decided: gpudirect (dma-buf|peer memory)" --see "via NET/fabrail/0/GDRDMA"
    --not "via NET/fabrail/0(/Shared)?$")
  set(staged ${used} --not GDRDMA --see "via NET/fabrail/0")
  set(right --see ${all_right})
  set(wrong --status 1 --see "Out of bounds values : [1-9][0-9]* FAILED")
  set(everything all -b 8 -e 1M -f 362)

  # Through host memory: whatever this libfabric is able to.
  nccl_efa_case(${version} staged ENV EMUGPU_GPUDIRECT=0 CHECKS ${staged} ${right} RUN ${everything})
  nccl_efa_case(${version} staged_ll ENV EMUGPU_GPUDIRECT=0 NCCL_PROTO=LL NCCL_ALGO=Ring
    CHECKS ${staged} ${right} --see "${took_ring}${took_ll}" RUN ${everything})

  nccl_efa_case(${version} flush_by_driver ENV EMUGPU_CC=8.0 FABRAIL_FLUSH=driver
    CHECKS ${gdr} ${right} --see "decided: flush driver" RUN ${everything})
  nccl_efa_case(${version} peer_memory ENV EMUGPU_CC=8.0 EMUGPU_DMABUF=0 FABRAIL_FLUSH=driver
    CHECKS ${gdr} ${right} --see "decided: gpudirect peer memory" RUN ${everything})
  nccl_efa_case(${version} flush_by_loopback ENV EMUGPU_CC=8.0 FABRAIL_FLUSH=loopback
    CHECKS ${gdr} ${right} --see "decided: flush loopback read" RUN ${everything})
  nccl_efa_case(${version} fetched ENV EMUGPU_CC=8.0 FABRAIL_PULL=2 CHECKS ${gdr} ${right} RUN ${everything})
  nccl_efa_case(${version} forced_flush ENV EMUGPU_CC=9.0 NCCL_NET_FORCE_FLUSH=1
    CHECKS ${gdr} ${right} RUN ${everything})
  nccl_efa_case(${version} ordered_writes ENV EMUGPU_CC=9.0 EMUGPU_WRITES_ORDERING=200
    CHECKS ${gdr} ${right} --see "decided: flush none" RUN ${everything})
  nccl_efa_case(${version} tree ENV EMUGPU_CC=8.0 NCCL_ALGO=Tree
    CHECKS ${gdr} ${right} --see "${took_tree}${took_simple}" RUN all_reduce -b 8 -e 1M -f 362)
  nccl_efa_case(${version} two_gpus_a_node ENV EMUGPU_CC=8.0 EMUGPU_COUNT=2
    CHECKS ${gdr} ${right} --see "via P2P/" RUN ${everything} -g 2)
  nccl_efa_case(${version} registered_buffers ENV EMUGPU_CC=8.0 CHECKS ${gdr} ${right} RUN ${everything} -R)

  # Polled inside the data, which nothing flushes. Where fabrail forbids LL128, NCCL is told.
  set(ll128 ENV EMUGPU_VISIBLE_AFTER_MS=0 NCCL_PROTO=LL128)
  set(ll ENV EMUGPU_VISIBLE_AFTER_MS=0 NCCL_PROTO=LL)
  set(allowed ${gdr} --see "decided: protocols Simple, LL and LL128")
  nccl_efa_case(${version} ll WHOLE128 ${ll} CHECKS ${allowed} ${right} --see "${took_ring}${took_ll}"
    RUN ${everything})
  nccl_efa_case(${version} ll128 WHOLE128 ${ll128} CHECKS ${allowed} ${right} --see "${took_ring}${took_ll128}"
    RUN ${everything})
  nccl_efa_case(${version} ll128_tree WHOLE128 ${ll128} NCCL_ALGO=Tree
    CHECKS ${allowed} ${right} --see "${took_tree}${took_ll128}" RUN all_reduce -b 8 -e 1M -f 362)
  nccl_efa_case(${version} staged_without_ll128 WHOLE128 ENV EMUGPU_GPUDIRECT=0
    CHECKS ${staged} ${right} --needs "decided: protocols Simple and LL" --see "NCCL_PROTO=.LL128 set" --not "${took_ll128}"
    RUN all_reduce -b 8 -e 1M -f 362)

  # Before v9 the plugin cannot ask for flushes; NCCL flushes for this GPU by itself.
  if(version VERSION_GREATER_EQUAL 2.24)
    nccl_efa_case(${version} v8_alone ENV EMUGPU_CC=8.0 NCCL_NET_PLUGIN=$<TARGET_FILE:nccl-net-onlyv8>
      SINGLE_VERSION_OF=$<TARGET_FILE:nccl-net-fabrail>
      CHECKS ${gdr} ${right} --see "Loaded net plugin fabrail \\(v8\\)" RUN ${everything})
  endif()

  # Would these see what they are there for?
  nccl_efa_case(${version} missing_flush_is_seen ENV EMUGPU_CC=9.0 CHECKS ${gdr} ${wrong} RUN ${everything})
  nccl_efa_case(${version} flipped_bit_is_seen ENV EMUGPU_CC=8.0 BREAK corrupt --on write
    CHECKS ${gdr} ${wrong} RUN all_reduce -b 1M -e 1M)

  # Halves of lines that come too late, once all lines have been used. Simple does not mind.
  set(tear --delay 100ms --skip 40 --times 20)
  set(megabyte all_reduce -b 1M -e 1M)
  nccl_efa_case(${version} staged_torn_ll_is_seen ENV EMUGPU_GPUDIRECT=0 NCCL_PROTO=LL BREAK tear-8 --on read,write ${tear}
    CHECKS ${staged} ${wrong} --see "torn LL line" --see "${took_ll}" RUN ${megabyte})
  nccl_efa_case(${version} torn_ll_is_seen WHOLE128 ${ll} BREAK tear-8 --on write ${tear}
    CHECKS ${gdr} ${wrong} --see "torn LL line" --see "${took_ll}" RUN ${megabyte})
  nccl_efa_case(${version} torn_ll128_is_seen WHOLE128 ${ll128} NCCL_LL128_BUFFSIZE=131072 BREAK tear-128 --on write ${tear}
    CHECKS ${gdr} ${wrong} --see "torn LL128 line" --see "${took_ll128}" RUN ${megabyte})
  nccl_efa_case(${version} torn_simple_is_right WHOLE128 ENV EMUGPU_VISIBLE_AFTER_MS=0 NCCL_PROTO=Simple
    BREAK tear-128 --on write --delay 20ms CHECKS ${gdr} ${right} --see "${took_simple}" --not torn RUN ${megabyte})

  # FABRAIL_REQUIRE, met and not, by a real ncclCommInitRank.
  nccl_efa_case(${version} require_met ENV EMUGPU_CC=8.0 FABRAIL_REQUIRE=efa,gdr,dmabuf,rails=2
    CHECKS ${gdr} ${right} RUN all_reduce -b 8 -e 1K -f 2)
  nccl_efa_case(${version} require_not_met ENV EMUGPU_GPUDIRECT=0 FABRAIL_REQUIRE=efa,gdr
    CHECKS --status 3 --see "ncclCommInitRank: invalid usage .*FABRAIL_REQUIRE is not met.*gdr: the GPU does not let NICs"
      --not "via NET" --not "Using network Socket"
    RUN all_reduce -b 8 -e 1K -f 2)
endfunction()

# Without NVLinks NCCL's rings would cross between nodes at few GPUs; with them all-to-all goes through buffers of
# all of a node's GPUs, for which 23 GB were too little. One channel for each device.
function(nccl_whole_nodes_case version collective nvlinks)
  set(test nccl_e2e.${version}.whole_nodes.${collective})
  add_test(NAME ${test} COMMAND $<TARGET_FILE:fabrail-sim> run --instance p5 --nodes 2 --once --
    ${CMAKE_CURRENT_SOURCE_DIR}/whole_nodes.sh $<TARGET_FILE:fabrail-sim> $<TARGET_FILE:nccl_test_${version}>
    ${collective} -n 1 -w 0 ${ARGN})
  set_tests_properties(${test} PROPERTIES LABELS "efa;gpudirect" PROCESSORS 2 TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "NCCL_SOCKET_IFNAME=lo;NCCL_PAT_ENABLE=0;NCCL_DEBUG=INFO;NCCL_NET=fabrail;NCCL_NET_PLUGIN=fabrail;\
LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}:${CMAKE_BINARY_DIR}/emugpu;FABRAIL_PROVIDER=efa;FABRAIL_INSTANCE=p5.48xlarge;\
EMUGPU_WRITES_ORDERING=200;EMUGPU_NVLINKS=${nvlinks};NCCL_MAX_NCHANNELS=8;EMUGPU_MEMORY_BYTES=1073741824")
endfunction()

# The plugin as NCCL's adapters from older ABIs see it, one at a time (tests/nccl/stub). NCCL 2.22 has none from v8,
# which it speaks itself.
function(nccl_abi_cases version)
  set(newest 10)
  if(version VERSION_LESS 2.24)
    set(newest 7)
  endif()
  foreach(abi RANGE 6 ${newest})
    set(alone NCCL_NET_PLUGIN=$<TARGET_FILE:nccl-net-onlyv${abi}> SINGLE_VERSION_OF=$<TARGET_FILE:nccl-net-fabrail>)
    set(loaded "Loaded net plugin fabrail \\(v${abi}\\)")
    if(abi EQUAL 8)
      set(work all -b 8 -e 1M -f 362)
    else()
      set(work all_reduce -b 8 -e 64K -f 90)
    endif()
    nccl_case(${version} fabrail.v${abi}_alone ENV ${net_fabrail} ${alone}
      SEE ${all_right} ${loaded} "Using network fabrail" "via NET/fabrail" RUN ${work} --nodes 2 -n 1 -w 0)
  endforeach()
endfunction()

function(nccl_cases version)
  nccl_network_case(${version} Socket Ring Simple 2)
  nccl_network_case(${version} Socket Ring LL 2)
  nccl_network_case(${version} Socket Ring LL128 2)
  nccl_network_case(${version} Socket Tree LL128 2)
  nccl_network_case(${version} Socket Tree Simple 4)
  nccl_case(${version} one_rank
    SEE ${all_right} RUN all -b 8 -e 1M -f 362 -n 1 -w 0)
  nccl_case(${version} legacy_ipc
    ENV NCCL_CUMEM_ENABLE=0 SEE ${all_right} "via P2P/IPC"
    RUN all_reduce,alltoall -g 2 -b 8 -e 1M -f 362 -n 1 -w 0)
  nccl_case(${version} shared_memory
    ENV NCCL_P2P_DISABLE=1 SEE ${all_right} "via SHM/"
    RUN all_reduce,alltoall -g 2 -b 8 -e 1M -f 362 -n 1 -w 0)
  nccl_case(${version} ll128_inside_a_node
    ENV NCCL_PROTO=LL128 SEE ${all_right} "via P2P/" "${took_ll128}"
    RUN all_reduce -g 2 -b 8 -e 1M -f 362 -n 1 -w 0)
  if(version VERSION_GREATER_EQUAL 2.23)
    nccl_case(${version} pat_is_refused
      ENV ${net_Socket} NCCL_PAT_ENABLE=1 NCCL_ALGO=PAT STATUS 134
      SEE "\\[emugpu\\] not emulated: NCCL device function" NOT ${all_right}
      RUN all_gather --nodes 2 -b 1M -n 1 -w 0)
  endif()
  nccl_case(${version} no_size_is_refused
    STATUS 2 SEE "maxbytes is less than" NOT ${all_right} RUN all_reduce -b 64K -e 1K)
  if(TARGET nccl-net-fabrail)
    nccl_plugin_cases(${version})
    nccl_abi_cases(${version})
  endif()
  if(TARGET nccl-net-fabrail AND TARGET fabrail-sim)
    nccl_topology_cases(${version})
    nccl_efa_cases(${version})
    nccl_whole_nodes_case(${version} all_reduce 18 -b 4M)
    nccl_whole_nodes_case(${version} alltoall 0 -b 16M)
  endif()
endfunction()

# Whether the scripts work that people run for longer: tests/nccl_e2e/soak and compare.
function(nccl_script_cases)
  add_test(NAME nccl_e2e.soak COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/soak --build ${CMAKE_BINARY_DIR} --runs 5 --seed 139)
  add_test(NAME nccl_e2e.compare COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/compare --build ${CMAKE_BINARY_DIR}
    --rounds 1 --iters 1 --collectives all_reduce)
  set_tests_properties(nccl_e2e.soak nccl_e2e.compare PROPERTIES LABELS nccl_e2e PROCESSORS 2 TIMEOUT 300)
endfunction()
