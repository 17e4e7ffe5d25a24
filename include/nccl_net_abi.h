// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// NCCL's network plugin ABI, versions 6 to 12, as plain C declarations: what a `libnccl-net.so`
// exports and what NCCL passes to it. Usable from C11 and C++20. Every size and offset is asserted
// below, so that a compiler whose layout differs from NCCL's does not get as far as a plugin.
//
// Which NCCL uses which version:
//   v6  2.13 .. 2.18    v7  2.19    v8  2.20 .. 2.23    v9  2.24, 2.25
//   v10 2.26, 2.27      v11 2.28, 2.29                  v12 2.30 and newer
// NCCL looks the versions up from its own downwards and uses the first that it finds.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define NCCL_NET_STATIC_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
#else
#define NCCL_NET_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

// ------------------------------------------------------------------------------------------------
// constants

/// What every function returns. NCCL treats any value but NCCL_NET_SUCCESS as
/// fatal for the communicator.
typedef enum {
  NCCL_NET_SUCCESS = 0,
  NCCL_NET_UNHANDLED_CUDA_ERROR = 1,
  NCCL_NET_SYSTEM_ERROR = 2,
  NCCL_NET_INTERNAL_ERROR = 3,
  NCCL_NET_INVALID_ARGUMENT = 4,
  NCCL_NET_INVALID_USAGE = 5,
  NCCL_NET_REMOTE_ERROR = 6,
  NCCL_NET_IN_PROGRESS = 7,
  NCCL_NET_TIMEOUT = 8
} nccl_net_result_t;

/// Levels of the log callback. NCCL_NET_LOG_INFO is what NCCL_DEBUG=INFO shows.
typedef enum {
  NCCL_NET_LOG_NONE = 0,
  NCCL_NET_LOG_VERSION = 1,
  NCCL_NET_LOG_WARN = 2,
  NCCL_NET_LOG_INFO = 3,
  NCCL_NET_LOG_ABORT = 4,
  NCCL_NET_LOG_TRACE = 5
} nccl_net_log_level_t;

/// Subsystem bits of the log callback. A line shows at INFO when any of its bits is in
/// NCCL_DEBUG_SUBSYS; the default there is INIT and ENV, so that a line with NET alone stays
/// invisible.
enum {
  NCCL_NET_LOG_INIT = 0x1,
  NCCL_NET_LOG_COLL = 0x2,
  NCCL_NET_LOG_P2P = 0x4,
  NCCL_NET_LOG_SHM = 0x8,
  NCCL_NET_LOG_NET = 0x10,
  NCCL_NET_LOG_GRAPH = 0x20,
  NCCL_NET_LOG_TUNING = 0x40,
  NCCL_NET_LOG_ENV = 0x80
};

enum {
  NCCL_NET_HANDLE_BYTES = 128,  ///< what listen() may write and connect() receives
  NCCL_NET_PTR_HOST = 1,
  NCCL_NET_PTR_CUDA = 2,
  NCCL_NET_PTR_DMABUF = 4,
  NCCL_NET_MAX_DEVICES = 128,
  NCCL_NET_MAX_REQUESTS = 32,  ///< per communicator and receive of a group (8 before NCCL 2.19)
  NCCL_NET_DEVICE_HOST = 0,
  NCCL_NET_DEVICE_UNPACK = 1,
  NCCL_NET_DEVICE_INVALID_VERSION = 0,
  NCCL_NET_TRAFFIC_CLASS_UNDEFINED = -1,
  NCCL_NET_MAX_VDEVICES_V9 = 4,
  NCCL_NET_MAX_VDEVICES_V12 = 8
};

/// NCCL's logger: mutex protected, callable from any thread until the library is closed; cuts at
/// 1024 bytes.
typedef void (*nccl_net_log_fn)(nccl_net_log_level_t level, unsigned long flags,
                                const char* file_or_function, int line, const char* format, ...);

/// NCCL's profiler callback (v10 and newer): type 0 start, 1 stop, 2 update, 3 update and stop.
typedef nccl_net_result_t (*nccl_net_profiler_fn)(void** event, int type, void* parent,
                                                  int64_t plugin_id, void* extra);

// -----------------------------------------------------------------------------------------------
// properties NCCL hands getProperties() an uninitialised struct: every field must be written.
// `name` and `pci_path` are read again later, from other threads, and must stay valid.

typedef struct {
  char* name;       ///< shown in logs, and the key of NCCL's <net> node: unique for each device
  char* pci_path;   ///< resolved /sys path that ends in domain:bus:device.function, or NULL
  uint64_t guid;    ///< devices with equal guid and port count as one physical port
  int ptr_support;  ///< NCCL_NET_PTR_* bits
  int speed;        ///< Mbit/s
  int port;
  float latency;  ///< microseconds
  int max_comms;
  int max_recvs;  ///< largest n of irecv
} nccl_net_properties_v6_t;

typedef struct {
  char* name;
  char* pci_path;
  uint64_t guid;
  int ptr_support;
  int speed;
  int port;
  float latency;
  int max_comms;
  int max_recvs;
  int net_device_type;
  int net_device_version;
} nccl_net_properties_v7_t;

typedef struct {
  char* name;
  char* pci_path;
  uint64_t guid;
  int ptr_support;
  int reg_is_global;  ///< 1: a registration serves every communicator of the device
  int speed;
  int port;
  float latency;
  int max_comms;
  int max_recvs;
  int net_device_type;
  int net_device_version;
} nccl_net_properties_v8_t;

/// The physical devices behind a virtual one.
typedef struct {
  int ndevs;
  int devs[NCCL_NET_MAX_VDEVICES_V9];
} nccl_net_vdevice_properties_v9_t;

typedef struct {
  int ndevs;
  int devs[NCCL_NET_MAX_VDEVICES_V12];
} nccl_net_vdevice_properties_v12_t;

typedef struct {
  char* name;
  char* pci_path;
  uint64_t guid;
  int ptr_support;
  int reg_is_global;
  int force_flush;  ///< 1: flush after each GPUDirect receive even where NCCL would not
  int speed;
  int port;
  float latency;
  int max_comms;
  int max_recvs;
  int net_device_type;
  int net_device_version;
  nccl_net_vdevice_properties_v9_t vprops;
  size_t max_p2p_bytes;  ///< largest isend; NCCL does not check that it is set
  size_t max_coll_bytes;
} nccl_net_properties_v9_t;

typedef nccl_net_properties_v9_t nccl_net_properties_v10_t;

typedef struct {
  char* name;
  char* pci_path;
  uint64_t guid;
  int ptr_support;
  int reg_is_global;
  int force_flush;
  int speed;
  int port;
  float latency;
  int max_comms;
  int max_recvs;
  int net_device_type;
  int net_device_version;
  nccl_net_vdevice_properties_v9_t vprops;
  size_t max_p2p_bytes;
  size_t max_coll_bytes;
  int max_multi_request_size;
} nccl_net_properties_v11_t;

typedef struct {
  char* name;
  char* pci_path;
  uint64_t guid;
  int ptr_support;
  int reg_is_global;
  int force_flush;
  int speed;
  int port;
  float latency;
  int max_comms;
  int max_recvs;
  int net_device_type;
  int net_device_version;
  nccl_net_vdevice_properties_v12_t vprops;
  size_t max_p2p_bytes;
  size_t max_coll_bytes;
  int max_multi_request_size;
  int16_t rail_id;   ///< -1: undefined
  int16_t plane_id;  ///< -1: undefined
} nccl_net_properties_v12_t;

/// For networks that unpack on the GPU; a host network leaves it untouched (v7 and newer).
typedef struct {
  int net_device_type;
  int net_device_version;
  void* handle;
  size_t size;
  int needs_proxy_progress;
} nccl_net_device_handle_t;

/// v10 and newer.
typedef struct {
  int traffic_class;  ///< -1: undefined
} nccl_net_comm_config_t;

/// v11 and newer: what NCCL expects of a communicator, all -1 where it does not know.
typedef struct {
  int32_t max_concurrent_peers;
  int32_t min_concurrent_peers;
  int32_t max_flows_per_peer;
  int32_t min_flows_per_peer;
} nccl_net_comm_attributes_t;

typedef struct {
  nccl_net_comm_attributes_t send;
  nccl_net_comm_attributes_t recv;
  uint32_t op;
  uint32_t algo;
  uint32_t proto;
} nccl_net_attributes_t;

// ------------------------------------------------------------------------------------------
// function tables `connect` and `accept` never block: success with *comm == NULL means "call
// again". `isend` and `irecv` may leave *request == NULL, which means "not now, nothing was
// queued". `iflush` with *request == NULL means "nothing to flush". `test` always writes *done.

typedef struct {
  const char* name;  ///< read before init()
  nccl_net_result_t (*init)(nccl_net_log_fn log);
  nccl_net_result_t (*devices)(int* ndev);
  nccl_net_result_t (*get_properties)(int dev, nccl_net_properties_v6_t* properties);
  nccl_net_result_t (*listen)(int dev, void* handle, void** listen_comm);
  nccl_net_result_t (*connect)(int dev, void* handle, void** send_comm);
  nccl_net_result_t (*accept)(void* listen_comm, void** recv_comm);
  nccl_net_result_t (*reg_mr)(void* comm, void* data, int size, int type, void** mhandle);
  nccl_net_result_t (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset,
                                     int fd, void** mhandle);  ///< may be NULL
  nccl_net_result_t (*dereg_mr)(void* comm, void* mhandle);
  nccl_net_result_t (*isend)(void* send_comm, void* data, int size, int tag, void* mhandle,
                             void** request);
  nccl_net_result_t (*irecv)(void* recv_comm, int n, void** data, int* sizes, int* tags,
                             void** mhandles, void** request);
  nccl_net_result_t (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                              void** request);
  nccl_net_result_t (*test)(void* request, int* done, int* sizes);
  nccl_net_result_t (*close_send)(void* send_comm);
  nccl_net_result_t (*close_recv)(void* recv_comm);
  nccl_net_result_t (*close_listen)(void* listen_comm);
} nccl_net_v6_t;

typedef struct {
  const char* name;  ///< read before init()
  nccl_net_result_t (*init)(nccl_net_log_fn log);
  nccl_net_result_t (*devices)(int* ndev);
  nccl_net_result_t (*get_properties)(int dev, nccl_net_properties_v7_t* properties);
  nccl_net_result_t (*listen)(int dev, void* handle, void** listen_comm);
  nccl_net_result_t (*connect)(int dev, void* handle, void** send_comm,
                               nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*accept)(void* listen_comm, void** recv_comm,
                              nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*reg_mr)(void* comm, void* data, int size, int type, void** mhandle);
  nccl_net_result_t (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset,
                                     int fd, void** mhandle);  ///< may be NULL
  nccl_net_result_t (*dereg_mr)(void* comm, void* mhandle);
  nccl_net_result_t (*isend)(void* send_comm, void* data, int size, int tag, void* mhandle,
                             void** request);
  nccl_net_result_t (*irecv)(void* recv_comm, int n, void** data, int* sizes, int* tags,
                             void** mhandles, void** request);
  nccl_net_result_t (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                              void** request);
  nccl_net_result_t (*test)(void* request, int* done, int* sizes);
  nccl_net_result_t (*close_send)(void* send_comm);
  nccl_net_result_t (*close_recv)(void* recv_comm);
  nccl_net_result_t (*close_listen)(void* listen_comm);
  nccl_net_result_t (*get_device_mr)(void* comm, void* mhandle,
                                     void** device_mhandle);                   ///< may be NULL
  nccl_net_result_t (*irecv_consumed)(void* recv_comm, int n, void* request);  ///< may be NULL
} nccl_net_v7_t;

typedef struct {
  const char* name;  ///< read before init()
  nccl_net_result_t (*init)(nccl_net_log_fn log);
  nccl_net_result_t (*devices)(int* ndev);
  nccl_net_result_t (*get_properties)(int dev, nccl_net_properties_v8_t* properties);
  nccl_net_result_t (*listen)(int dev, void* handle, void** listen_comm);
  nccl_net_result_t (*connect)(int dev, void* handle, void** send_comm,
                               nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*accept)(void* listen_comm, void** recv_comm,
                              nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*reg_mr)(void* comm, void* data, size_t size, int type, void** mhandle);
  nccl_net_result_t (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset,
                                     int fd, void** mhandle);  ///< may be NULL
  nccl_net_result_t (*dereg_mr)(void* comm, void* mhandle);
  nccl_net_result_t (*isend)(void* send_comm, void* data, int size, int tag, void* mhandle,
                             void** request);
  nccl_net_result_t (*irecv)(void* recv_comm, int n, void** data, int* sizes, int* tags,
                             void** mhandles, void** request);
  nccl_net_result_t (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                              void** request);
  nccl_net_result_t (*test)(void* request, int* done, int* sizes);
  nccl_net_result_t (*close_send)(void* send_comm);
  nccl_net_result_t (*close_recv)(void* recv_comm);
  nccl_net_result_t (*close_listen)(void* listen_comm);
  nccl_net_result_t (*get_device_mr)(void* comm, void* mhandle,
                                     void** device_mhandle);                   ///< may be NULL
  nccl_net_result_t (*irecv_consumed)(void* recv_comm, int n, void* request);  ///< may be NULL
} nccl_net_v8_t;

typedef struct {
  const char* name;  ///< read before init()
  nccl_net_result_t (*init)(nccl_net_log_fn log);
  nccl_net_result_t (*devices)(int* ndev);
  nccl_net_result_t (*get_properties)(int dev, nccl_net_properties_v9_t* properties);
  nccl_net_result_t (*listen)(int dev, void* handle, void** listen_comm);
  nccl_net_result_t (*connect)(int dev, void* handle, void** send_comm,
                               nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*accept)(void* listen_comm, void** recv_comm,
                              nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*reg_mr)(void* comm, void* data, size_t size, int type, void** mhandle);
  nccl_net_result_t (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset,
                                     int fd, void** mhandle);  ///< may be NULL
  nccl_net_result_t (*dereg_mr)(void* comm, void* mhandle);
  nccl_net_result_t (*isend)(void* send_comm, void* data, size_t size, int tag, void* mhandle,
                             void** request);
  nccl_net_result_t (*irecv)(void* recv_comm, int n, void** data, size_t* sizes, int* tags,
                             void** mhandles, void** request);
  nccl_net_result_t (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                              void** request);
  nccl_net_result_t (*test)(void* request, int* done, int* sizes);
  nccl_net_result_t (*close_send)(void* send_comm);
  nccl_net_result_t (*close_recv)(void* recv_comm);
  nccl_net_result_t (*close_listen)(void* listen_comm);
  nccl_net_result_t (*get_device_mr)(void* comm, void* mhandle,
                                     void** device_mhandle);                   ///< may be NULL
  nccl_net_result_t (*irecv_consumed)(void* recv_comm, int n, void* request);  ///< may be NULL
  nccl_net_result_t (*make_vdevice)(int* dev,
                                    nccl_net_vdevice_properties_v9_t* vprops);  ///< may be NULL
} nccl_net_v9_t;

typedef struct {
  const char* name;  ///< read before init()
  nccl_net_result_t (*init)(nccl_net_log_fn log, nccl_net_profiler_fn profiler);
  nccl_net_result_t (*devices)(int* ndev);
  nccl_net_result_t (*get_properties)(int dev, nccl_net_properties_v10_t* properties);
  nccl_net_result_t (*listen)(int dev, void* handle, void** listen_comm);
  nccl_net_result_t (*connect)(int dev, nccl_net_comm_config_t* config, void* handle,
                               void** send_comm, nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*accept)(void* listen_comm, void** recv_comm,
                              nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*reg_mr)(void* comm, void* data, size_t size, int type, void** mhandle);
  nccl_net_result_t (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset,
                                     int fd, void** mhandle);  ///< may be NULL
  nccl_net_result_t (*dereg_mr)(void* comm, void* mhandle);
  nccl_net_result_t (*isend)(void* send_comm, void* data, size_t size, int tag, void* mhandle,
                             void* phandle, void** request);
  nccl_net_result_t (*irecv)(void* recv_comm, int n, void** data, size_t* sizes, int* tags,
                             void** mhandles, void** phandles, void** request);
  nccl_net_result_t (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                              void** request);
  nccl_net_result_t (*test)(void* request, int* done, int* sizes);
  nccl_net_result_t (*close_send)(void* send_comm);
  nccl_net_result_t (*close_recv)(void* recv_comm);
  nccl_net_result_t (*close_listen)(void* listen_comm);
  nccl_net_result_t (*get_device_mr)(void* comm, void* mhandle,
                                     void** device_mhandle);                   ///< may be NULL
  nccl_net_result_t (*irecv_consumed)(void* recv_comm, int n, void* request);  ///< may be NULL
  nccl_net_result_t (*make_vdevice)(int* dev,
                                    nccl_net_vdevice_properties_v9_t* vprops);  ///< may be NULL
} nccl_net_v10_t;

typedef struct {
  const char* name;  ///< read before init()
  nccl_net_result_t (*init)(void** ctx, uint64_t comm_id, nccl_net_comm_config_t* config,
                            nccl_net_log_fn log, nccl_net_profiler_fn profiler);
  nccl_net_result_t (*devices)(int* ndev);
  nccl_net_result_t (*get_properties)(int dev, nccl_net_properties_v11_t* properties);
  nccl_net_result_t (*listen)(void* ctx, int dev, void* handle, void** listen_comm);
  nccl_net_result_t (*connect)(void* ctx, int dev, void* handle, void** send_comm,
                               nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*accept)(void* listen_comm, void** recv_comm,
                              nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*reg_mr)(void* comm, void* data, size_t size, int type, void** mhandle);
  nccl_net_result_t (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset,
                                     int fd, void** mhandle);  ///< may be NULL
  nccl_net_result_t (*dereg_mr)(void* comm, void* mhandle);
  nccl_net_result_t (*isend)(void* send_comm, void* data, size_t size, int tag, void* mhandle,
                             void* phandle, void** request);
  nccl_net_result_t (*irecv)(void* recv_comm, int n, void** data, size_t* sizes, int* tags,
                             void** mhandles, void** phandles, void** request);
  nccl_net_result_t (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                              void** request);
  nccl_net_result_t (*test)(void* request, int* done, int* sizes);
  nccl_net_result_t (*close_send)(void* send_comm);
  nccl_net_result_t (*close_recv)(void* recv_comm);
  nccl_net_result_t (*close_listen)(void* listen_comm);
  nccl_net_result_t (*get_device_mr)(void* comm, void* mhandle,
                                     void** device_mhandle);                   ///< may be NULL
  nccl_net_result_t (*irecv_consumed)(void* recv_comm, int n, void* request);  ///< may be NULL
  nccl_net_result_t (*make_vdevice)(int* dev,
                                    nccl_net_vdevice_properties_v9_t* vprops);  ///< may be NULL
  nccl_net_result_t (*finalize)(void* ctx);
  nccl_net_result_t (*set_net_attr)(void* ctx, nccl_net_attributes_t* attributes);  ///< may be NULL
} nccl_net_v11_t;

typedef struct {
  const char* name;  ///< read before init()
  nccl_net_result_t (*init)(void** ctx, uint64_t comm_id, nccl_net_comm_config_t* config,
                            nccl_net_log_fn log, nccl_net_profiler_fn profiler);
  nccl_net_result_t (*devices)(int* ndev);
  nccl_net_result_t (*get_properties)(int dev, nccl_net_properties_v12_t* properties);
  nccl_net_result_t (*listen)(void* ctx, int dev, void* handle, void** listen_comm);
  nccl_net_result_t (*connect)(void* ctx, int dev, void* handle, void** send_comm,
                               nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*accept)(void* listen_comm, void** recv_comm,
                              nccl_net_device_handle_t** device_comm);
  nccl_net_result_t (*reg_mr)(void* comm, void* data, size_t size, int type, void** mhandle);
  nccl_net_result_t (*reg_mr_dmabuf)(void* comm, void* data, size_t size, int type, uint64_t offset,
                                     int fd, void** mhandle);  ///< may be NULL
  nccl_net_result_t (*dereg_mr)(void* comm, void* mhandle);
  nccl_net_result_t (*isend)(void* send_comm, void* data, size_t size, int tag, void* mhandle,
                             void* phandle, void** request);
  nccl_net_result_t (*irecv)(void* recv_comm, int n, void** data, size_t* sizes, int* tags,
                             void** mhandles, void** phandles, void** request);
  nccl_net_result_t (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                              void** request);
  nccl_net_result_t (*test)(void* request, int* done, int* sizes);
  nccl_net_result_t (*close_send)(void* send_comm);
  nccl_net_result_t (*close_recv)(void* recv_comm);
  nccl_net_result_t (*close_listen)(void* listen_comm);
  nccl_net_result_t (*get_device_mr)(void* comm, void* mhandle,
                                     void** device_mhandle);                   ///< may be NULL
  nccl_net_result_t (*irecv_consumed)(void* recv_comm, int n, void* request);  ///< may be NULL
  nccl_net_result_t (*make_vdevice)(int* dev,
                                    nccl_net_vdevice_properties_v12_t* vprops);  ///< may be NULL
  nccl_net_result_t (*finalize)(void* ctx);
  nccl_net_result_t (*set_net_attr)(void* ctx, nccl_net_attributes_t* attributes);  ///< may be NULL
} nccl_net_v12_t;

// --------------------------------------------------------------------------------------- layout,
// asserted

NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_result_t) == 4, "NCCL passes its enums as 32-bit integers");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_log_level_t) == 4,
                       "NCCL passes its enums as 32-bit integers");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_properties_v6_t) == 48, "sizeof nccl_net_properties_v6_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v6_t, name) == 0,
                       "nccl_net_properties_v6_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v6_t, pci_path) == 8,
                       "nccl_net_properties_v6_t.pci_path");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v6_t, guid) == 16,
                       "nccl_net_properties_v6_t.guid");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v6_t, ptr_support) == 24,
                       "nccl_net_properties_v6_t.ptr_support");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v6_t, speed) == 28,
                       "nccl_net_properties_v6_t.speed");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v6_t, port) == 32,
                       "nccl_net_properties_v6_t.port");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v6_t, latency) == 36,
                       "nccl_net_properties_v6_t.latency");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v6_t, max_comms) == 40,
                       "nccl_net_properties_v6_t.max_comms");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v6_t, max_recvs) == 44,
                       "nccl_net_properties_v6_t.max_recvs");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_properties_v7_t) == 56, "sizeof nccl_net_properties_v7_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v7_t, name) == 0,
                       "nccl_net_properties_v7_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v7_t, pci_path) == 8,
                       "nccl_net_properties_v7_t.pci_path");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v7_t, guid) == 16,
                       "nccl_net_properties_v7_t.guid");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v7_t, ptr_support) == 24,
                       "nccl_net_properties_v7_t.ptr_support");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v7_t, speed) == 28,
                       "nccl_net_properties_v7_t.speed");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v7_t, port) == 32,
                       "nccl_net_properties_v7_t.port");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v7_t, latency) == 36,
                       "nccl_net_properties_v7_t.latency");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v7_t, max_comms) == 40,
                       "nccl_net_properties_v7_t.max_comms");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v7_t, max_recvs) == 44,
                       "nccl_net_properties_v7_t.max_recvs");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v7_t, net_device_type) == 48,
                       "nccl_net_properties_v7_t.net_device_type");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v7_t, net_device_version) == 52,
                       "nccl_net_properties_v7_t.net_device_version");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_properties_v8_t) == 64, "sizeof nccl_net_properties_v8_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, name) == 0,
                       "nccl_net_properties_v8_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, pci_path) == 8,
                       "nccl_net_properties_v8_t.pci_path");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, guid) == 16,
                       "nccl_net_properties_v8_t.guid");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, ptr_support) == 24,
                       "nccl_net_properties_v8_t.ptr_support");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, reg_is_global) == 28,
                       "nccl_net_properties_v8_t.reg_is_global");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, speed) == 32,
                       "nccl_net_properties_v8_t.speed");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, port) == 36,
                       "nccl_net_properties_v8_t.port");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, latency) == 40,
                       "nccl_net_properties_v8_t.latency");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, max_comms) == 44,
                       "nccl_net_properties_v8_t.max_comms");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, max_recvs) == 48,
                       "nccl_net_properties_v8_t.max_recvs");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, net_device_type) == 52,
                       "nccl_net_properties_v8_t.net_device_type");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v8_t, net_device_version) == 56,
                       "nccl_net_properties_v8_t.net_device_version");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_properties_v9_t) == 104, "sizeof nccl_net_properties_v9_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, name) == 0,
                       "nccl_net_properties_v9_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, pci_path) == 8,
                       "nccl_net_properties_v9_t.pci_path");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, guid) == 16,
                       "nccl_net_properties_v9_t.guid");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, ptr_support) == 24,
                       "nccl_net_properties_v9_t.ptr_support");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, reg_is_global) == 28,
                       "nccl_net_properties_v9_t.reg_is_global");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, force_flush) == 32,
                       "nccl_net_properties_v9_t.force_flush");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, speed) == 36,
                       "nccl_net_properties_v9_t.speed");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, port) == 40,
                       "nccl_net_properties_v9_t.port");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, latency) == 44,
                       "nccl_net_properties_v9_t.latency");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, max_comms) == 48,
                       "nccl_net_properties_v9_t.max_comms");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, max_recvs) == 52,
                       "nccl_net_properties_v9_t.max_recvs");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, net_device_type) == 56,
                       "nccl_net_properties_v9_t.net_device_type");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, net_device_version) == 60,
                       "nccl_net_properties_v9_t.net_device_version");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, vprops) == 64,
                       "nccl_net_properties_v9_t.vprops");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, max_p2p_bytes) == 88,
                       "nccl_net_properties_v9_t.max_p2p_bytes");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v9_t, max_coll_bytes) == 96,
                       "nccl_net_properties_v9_t.max_coll_bytes");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_properties_v11_t) == 112,
                       "sizeof nccl_net_properties_v11_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, name) == 0,
                       "nccl_net_properties_v11_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, pci_path) == 8,
                       "nccl_net_properties_v11_t.pci_path");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, guid) == 16,
                       "nccl_net_properties_v11_t.guid");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, ptr_support) == 24,
                       "nccl_net_properties_v11_t.ptr_support");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, reg_is_global) == 28,
                       "nccl_net_properties_v11_t.reg_is_global");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, force_flush) == 32,
                       "nccl_net_properties_v11_t.force_flush");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, speed) == 36,
                       "nccl_net_properties_v11_t.speed");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, port) == 40,
                       "nccl_net_properties_v11_t.port");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, latency) == 44,
                       "nccl_net_properties_v11_t.latency");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, max_comms) == 48,
                       "nccl_net_properties_v11_t.max_comms");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, max_recvs) == 52,
                       "nccl_net_properties_v11_t.max_recvs");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, net_device_type) == 56,
                       "nccl_net_properties_v11_t.net_device_type");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, net_device_version) == 60,
                       "nccl_net_properties_v11_t.net_device_version");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, vprops) == 64,
                       "nccl_net_properties_v11_t.vprops");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, max_p2p_bytes) == 88,
                       "nccl_net_properties_v11_t.max_p2p_bytes");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, max_coll_bytes) == 96,
                       "nccl_net_properties_v11_t.max_coll_bytes");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v11_t, max_multi_request_size) == 104,
                       "nccl_net_properties_v11_t.max_multi_request_size");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_properties_v12_t) == 128,
                       "sizeof nccl_net_properties_v12_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, name) == 0,
                       "nccl_net_properties_v12_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, pci_path) == 8,
                       "nccl_net_properties_v12_t.pci_path");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, guid) == 16,
                       "nccl_net_properties_v12_t.guid");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, ptr_support) == 24,
                       "nccl_net_properties_v12_t.ptr_support");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, reg_is_global) == 28,
                       "nccl_net_properties_v12_t.reg_is_global");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, force_flush) == 32,
                       "nccl_net_properties_v12_t.force_flush");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, speed) == 36,
                       "nccl_net_properties_v12_t.speed");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, port) == 40,
                       "nccl_net_properties_v12_t.port");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, latency) == 44,
                       "nccl_net_properties_v12_t.latency");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, max_comms) == 48,
                       "nccl_net_properties_v12_t.max_comms");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, max_recvs) == 52,
                       "nccl_net_properties_v12_t.max_recvs");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, net_device_type) == 56,
                       "nccl_net_properties_v12_t.net_device_type");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, net_device_version) == 60,
                       "nccl_net_properties_v12_t.net_device_version");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, vprops) == 64,
                       "nccl_net_properties_v12_t.vprops");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, max_p2p_bytes) == 104,
                       "nccl_net_properties_v12_t.max_p2p_bytes");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, max_coll_bytes) == 112,
                       "nccl_net_properties_v12_t.max_coll_bytes");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, max_multi_request_size) == 120,
                       "nccl_net_properties_v12_t.max_multi_request_size");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, rail_id) == 124,
                       "nccl_net_properties_v12_t.rail_id");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_properties_v12_t, plane_id) == 126,
                       "nccl_net_properties_v12_t.plane_id");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_properties_v10_t) == 104,
                       "sizeof nccl_net_properties_v10_t");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_device_handle_t) == 32, "sizeof nccl_net_device_handle_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_device_handle_t, net_device_type) == 0,
                       "nccl_net_device_handle_t.net_device_type");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_device_handle_t, net_device_version) == 4,
                       "nccl_net_device_handle_t.net_device_version");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_device_handle_t, handle) == 8,
                       "nccl_net_device_handle_t.handle");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_device_handle_t, size) == 16,
                       "nccl_net_device_handle_t.size");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_device_handle_t, needs_proxy_progress) == 24,
                       "nccl_net_device_handle_t.needs_proxy_progress");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_comm_config_t) == 4, "sizeof nccl_net_comm_config_t");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_vdevice_properties_v9_t) == 20,
                       "sizeof nccl_net_vdevice_properties_v9_t");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_vdevice_properties_v12_t) == 36,
                       "sizeof nccl_net_vdevice_properties_v12_t");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_attributes_t) == 44, "sizeof nccl_net_attributes_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_attributes_t, send) == 0, "nccl_net_attributes_t.send");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_attributes_t, recv) == 16, "nccl_net_attributes_t.recv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_attributes_t, op) == 32, "nccl_net_attributes_t.op");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_attributes_t, algo) == 36, "nccl_net_attributes_t.algo");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_attributes_t, proto) == 40, "nccl_net_attributes_t.proto");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_v6_t) == 136, "sizeof nccl_net_v6_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, name) == 0, "nccl_net_v6_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, init) == 8, "nccl_net_v6_t.init");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, devices) == 16, "nccl_net_v6_t.devices");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, get_properties) == 24,
                       "nccl_net_v6_t.get_properties");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, listen) == 32, "nccl_net_v6_t.listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, connect) == 40, "nccl_net_v6_t.connect");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, accept) == 48, "nccl_net_v6_t.accept");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, reg_mr) == 56, "nccl_net_v6_t.reg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, reg_mr_dmabuf) == 64, "nccl_net_v6_t.reg_mr_dmabuf");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, dereg_mr) == 72, "nccl_net_v6_t.dereg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, isend) == 80, "nccl_net_v6_t.isend");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, irecv) == 88, "nccl_net_v6_t.irecv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, iflush) == 96, "nccl_net_v6_t.iflush");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, test) == 104, "nccl_net_v6_t.test");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, close_send) == 112, "nccl_net_v6_t.close_send");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, close_recv) == 120, "nccl_net_v6_t.close_recv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v6_t, close_listen) == 128, "nccl_net_v6_t.close_listen");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_v7_t) == 152, "sizeof nccl_net_v7_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, name) == 0, "nccl_net_v7_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, init) == 8, "nccl_net_v7_t.init");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, devices) == 16, "nccl_net_v7_t.devices");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, get_properties) == 24,
                       "nccl_net_v7_t.get_properties");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, listen) == 32, "nccl_net_v7_t.listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, connect) == 40, "nccl_net_v7_t.connect");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, accept) == 48, "nccl_net_v7_t.accept");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, reg_mr) == 56, "nccl_net_v7_t.reg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, reg_mr_dmabuf) == 64, "nccl_net_v7_t.reg_mr_dmabuf");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, dereg_mr) == 72, "nccl_net_v7_t.dereg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, isend) == 80, "nccl_net_v7_t.isend");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, irecv) == 88, "nccl_net_v7_t.irecv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, iflush) == 96, "nccl_net_v7_t.iflush");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, test) == 104, "nccl_net_v7_t.test");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, close_send) == 112, "nccl_net_v7_t.close_send");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, close_recv) == 120, "nccl_net_v7_t.close_recv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, close_listen) == 128, "nccl_net_v7_t.close_listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, get_device_mr) == 136,
                       "nccl_net_v7_t.get_device_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v7_t, irecv_consumed) == 144,
                       "nccl_net_v7_t.irecv_consumed");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_v8_t) == 152, "sizeof nccl_net_v8_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, name) == 0, "nccl_net_v8_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, init) == 8, "nccl_net_v8_t.init");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, devices) == 16, "nccl_net_v8_t.devices");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, get_properties) == 24,
                       "nccl_net_v8_t.get_properties");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, listen) == 32, "nccl_net_v8_t.listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, connect) == 40, "nccl_net_v8_t.connect");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, accept) == 48, "nccl_net_v8_t.accept");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, reg_mr) == 56, "nccl_net_v8_t.reg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, reg_mr_dmabuf) == 64, "nccl_net_v8_t.reg_mr_dmabuf");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, dereg_mr) == 72, "nccl_net_v8_t.dereg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, isend) == 80, "nccl_net_v8_t.isend");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, irecv) == 88, "nccl_net_v8_t.irecv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, iflush) == 96, "nccl_net_v8_t.iflush");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, test) == 104, "nccl_net_v8_t.test");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, close_send) == 112, "nccl_net_v8_t.close_send");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, close_recv) == 120, "nccl_net_v8_t.close_recv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, close_listen) == 128, "nccl_net_v8_t.close_listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, get_device_mr) == 136,
                       "nccl_net_v8_t.get_device_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v8_t, irecv_consumed) == 144,
                       "nccl_net_v8_t.irecv_consumed");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_v9_t) == 160, "sizeof nccl_net_v9_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, name) == 0, "nccl_net_v9_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, init) == 8, "nccl_net_v9_t.init");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, devices) == 16, "nccl_net_v9_t.devices");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, get_properties) == 24,
                       "nccl_net_v9_t.get_properties");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, listen) == 32, "nccl_net_v9_t.listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, connect) == 40, "nccl_net_v9_t.connect");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, accept) == 48, "nccl_net_v9_t.accept");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, reg_mr) == 56, "nccl_net_v9_t.reg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, reg_mr_dmabuf) == 64, "nccl_net_v9_t.reg_mr_dmabuf");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, dereg_mr) == 72, "nccl_net_v9_t.dereg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, isend) == 80, "nccl_net_v9_t.isend");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, irecv) == 88, "nccl_net_v9_t.irecv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, iflush) == 96, "nccl_net_v9_t.iflush");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, test) == 104, "nccl_net_v9_t.test");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, close_send) == 112, "nccl_net_v9_t.close_send");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, close_recv) == 120, "nccl_net_v9_t.close_recv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, close_listen) == 128, "nccl_net_v9_t.close_listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, get_device_mr) == 136,
                       "nccl_net_v9_t.get_device_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, irecv_consumed) == 144,
                       "nccl_net_v9_t.irecv_consumed");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v9_t, make_vdevice) == 152, "nccl_net_v9_t.make_vdevice");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_v10_t) == 160, "sizeof nccl_net_v10_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, name) == 0, "nccl_net_v10_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, init) == 8, "nccl_net_v10_t.init");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, devices) == 16, "nccl_net_v10_t.devices");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, get_properties) == 24,
                       "nccl_net_v10_t.get_properties");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, listen) == 32, "nccl_net_v10_t.listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, connect) == 40, "nccl_net_v10_t.connect");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, accept) == 48, "nccl_net_v10_t.accept");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, reg_mr) == 56, "nccl_net_v10_t.reg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, reg_mr_dmabuf) == 64,
                       "nccl_net_v10_t.reg_mr_dmabuf");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, dereg_mr) == 72, "nccl_net_v10_t.dereg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, isend) == 80, "nccl_net_v10_t.isend");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, irecv) == 88, "nccl_net_v10_t.irecv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, iflush) == 96, "nccl_net_v10_t.iflush");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, test) == 104, "nccl_net_v10_t.test");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, close_send) == 112, "nccl_net_v10_t.close_send");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, close_recv) == 120, "nccl_net_v10_t.close_recv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, close_listen) == 128,
                       "nccl_net_v10_t.close_listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, get_device_mr) == 136,
                       "nccl_net_v10_t.get_device_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, irecv_consumed) == 144,
                       "nccl_net_v10_t.irecv_consumed");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v10_t, make_vdevice) == 152,
                       "nccl_net_v10_t.make_vdevice");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_v11_t) == 176, "sizeof nccl_net_v11_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, name) == 0, "nccl_net_v11_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, init) == 8, "nccl_net_v11_t.init");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, devices) == 16, "nccl_net_v11_t.devices");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, get_properties) == 24,
                       "nccl_net_v11_t.get_properties");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, listen) == 32, "nccl_net_v11_t.listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, connect) == 40, "nccl_net_v11_t.connect");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, accept) == 48, "nccl_net_v11_t.accept");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, reg_mr) == 56, "nccl_net_v11_t.reg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, reg_mr_dmabuf) == 64,
                       "nccl_net_v11_t.reg_mr_dmabuf");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, dereg_mr) == 72, "nccl_net_v11_t.dereg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, isend) == 80, "nccl_net_v11_t.isend");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, irecv) == 88, "nccl_net_v11_t.irecv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, iflush) == 96, "nccl_net_v11_t.iflush");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, test) == 104, "nccl_net_v11_t.test");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, close_send) == 112, "nccl_net_v11_t.close_send");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, close_recv) == 120, "nccl_net_v11_t.close_recv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, close_listen) == 128,
                       "nccl_net_v11_t.close_listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, get_device_mr) == 136,
                       "nccl_net_v11_t.get_device_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, irecv_consumed) == 144,
                       "nccl_net_v11_t.irecv_consumed");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, make_vdevice) == 152,
                       "nccl_net_v11_t.make_vdevice");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, finalize) == 160, "nccl_net_v11_t.finalize");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v11_t, set_net_attr) == 168,
                       "nccl_net_v11_t.set_net_attr");
NCCL_NET_STATIC_ASSERT(sizeof(nccl_net_v12_t) == 176, "sizeof nccl_net_v12_t");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, name) == 0, "nccl_net_v12_t.name");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, init) == 8, "nccl_net_v12_t.init");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, devices) == 16, "nccl_net_v12_t.devices");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, get_properties) == 24,
                       "nccl_net_v12_t.get_properties");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, listen) == 32, "nccl_net_v12_t.listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, connect) == 40, "nccl_net_v12_t.connect");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, accept) == 48, "nccl_net_v12_t.accept");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, reg_mr) == 56, "nccl_net_v12_t.reg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, reg_mr_dmabuf) == 64,
                       "nccl_net_v12_t.reg_mr_dmabuf");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, dereg_mr) == 72, "nccl_net_v12_t.dereg_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, isend) == 80, "nccl_net_v12_t.isend");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, irecv) == 88, "nccl_net_v12_t.irecv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, iflush) == 96, "nccl_net_v12_t.iflush");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, test) == 104, "nccl_net_v12_t.test");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, close_send) == 112, "nccl_net_v12_t.close_send");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, close_recv) == 120, "nccl_net_v12_t.close_recv");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, close_listen) == 128,
                       "nccl_net_v12_t.close_listen");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, get_device_mr) == 136,
                       "nccl_net_v12_t.get_device_mr");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, irecv_consumed) == 144,
                       "nccl_net_v12_t.irecv_consumed");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, make_vdevice) == 152,
                       "nccl_net_v12_t.make_vdevice");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, finalize) == 160, "nccl_net_v12_t.finalize");
NCCL_NET_STATIC_ASSERT(offsetof(nccl_net_v12_t, set_net_attr) == 168,
                       "nccl_net_v12_t.set_net_attr");

#ifdef __cplusplus
}  // extern "C"
#endif
