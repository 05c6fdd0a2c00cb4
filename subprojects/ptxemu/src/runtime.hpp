// SPDX-License-Identifier: Apache-2.0
// Shared state of the CUDA runtime replacement: errors, streams, captures and work items.
#pragma once

#include "ir.hpp"

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

namespace ptxemu {

// One lock around every API function: the emulator itself is single-threaded. It is recursive
// because host functions and stream callbacks run under it.
std::recursive_mutex& api_mutex();
#define PTXEMU_API_LOCK std::lock_guard<std::recursive_mutex> api_guard(ptxemu::api_mutex())

// --- errors (runtime_error.cpp)
cudaError_t fail(cudaError_t e);  // remembers e as the thread's last error and returns it
cudaError_t sticky_error();       // error of a failed kernel; all later calls return it
void set_sticky_error(cudaError_t e);

// Returns from the calling function if a kernel has failed before.
#define PTXEMU_CHECK_STICKY \
  if (sticky_error()) return fail(sticky_error())

// --- work (runtime_stream.cpp)
using Work = std::function<cudaError_t()>;

struct Graph;

struct GraphNode {
  Graph* graph = nullptr;
  size_t index = 0;
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  void const* kernel = nullptr;  // for cudaGraphExecUpdate
  Work work;
  vector<size_t> dependencies;
};

struct Graph {
  vector<unique_ptr<GraphNode>> nodes;
  GraphNode* add(cudaGraphNodeType type, void const* kernel, Work work, vector<size_t> deps);
  unique_ptr<Graph> clone() const;
};

struct Capture {
  unique_ptr<Graph> graph = std::make_unique<Graph>();
  u64 id = 0;
  struct Stream* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  bool invalidated = false;
};

// What an event stands for after cudaEventRecord.
struct Completion {
  struct Stream* stream = nullptr;
  u64 sequence = 0;
  bool done = false;
  double time_ms = 0;
};

struct QueuedWork {
  u64 sequence;
  Work work;
  std::shared_ptr<Completion> record, wait;
};

struct Stream {
  u64 id = 0;
  bool legacy = false, non_blocking = false;
  int priority = 0;
  unsigned flags = 0;
  std::deque<QueuedWork> queue;  // only used with PTXEMU_DEFER=1
  std::shared_ptr<Capture> capture;
  vector<size_t> tails;  // last nodes of the capture in this stream
};

struct Event {
  unsigned flags = 0;
  std::shared_ptr<Completion> completion;
  std::shared_ptr<Capture> capture;  // recorded in a capturing stream
  vector<size_t> tails;
};

bool deferred_mode();                      // PTXEMU_DEFER=1
Stream* find_stream(cudaStream_t handle);  // null for an invalid handle

// Appends work to a stream: runs it, queues it (deferred mode) or adds it to a capture.
cudaError_t enqueue(cudaStream_t stream, cudaGraphNodeType type, Work work,
                    void const* kernel = nullptr);
// For calls that are synchronous in the legacy stream or block on a stream.
cudaError_t enqueue_and_wait(cudaStream_t stream, Work work);
void run_all_streams();

// Error of a call that is not allowed while some stream captures; invalidates that capture.
cudaError_t refuse_during_capture();
#define PTXEMU_NOT_IN_CAPTURE \
  if (cudaError_t capture_error = refuse_during_capture()) return capture_error

// Runs the nodes of a graph in a topological order.
cudaError_t run_graph(Graph const& graph);

// --- modules and launches (runtime_launch.cpp)
struct KernelRef {
  Module* module = nullptr;
  Func* func = nullptr;
};
KernelRef find_kernel(void const* host_function);  // null members if unknown
u64 static_shared_bytes(Func const& f);            // without red zones
void* symbol_address(void const* host_variable, u64* size = nullptr);
cudaError_t launch(void const* function, dim3 grid, dim3 block, void** args, size_t shared,
                   cudaStream_t stream, bool cooperative);
// Checks a launch and returns the work that performs it.
cudaError_t prepare_launch(void const* function, dim3 grid, dim3 block, void** args, size_t shared,
                           bool cooperative, Work& work);

// --- memory (runtime_memory.cpp)
cudaError_t copy(void* dst, void const* src, size_t bytes, cudaMemcpyKind kind);
cudaError_t fill(void* dst, int value, size_t bytes);

// --- device properties (runtime_device.cpp)
int compute_capability();  // 90 for 9.0
int sm_count();
int max_shared_per_block();  // with opt-in
int max_shared_per_sm();

}  // namespace ptxemu
