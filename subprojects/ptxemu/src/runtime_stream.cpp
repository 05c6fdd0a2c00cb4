// SPDX-License-Identifier: Apache-2.0
// Streams, events and host functions.
//
// Normally work runs inside the call that submits it. With PTXEMU_DEFER=1 it is queued per stream
// and runs only when something waits for it, as late as the CUDA rules allow: a missing
// synchronisation or a missing event between streams then shows up as wrong data.
#include "checks.hpp"
#include "runtime.hpp"

#include <time.h>

namespace ptxemu {
namespace {

u64 next_sequence = 1;
u64 next_stream_id = 1;

double now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

std::set<Stream*>& streams() {
  static auto* s = new std::set<Stream*>;
  return *s;
}

std::set<Event*>& events() {
  static auto* e = new std::set<Event*>;
  return *e;
}

Stream* create_stream(unsigned flags, int priority) {
  auto* s = new Stream;
  s->id = next_stream_id++;
  s->flags = flags;
  s->non_blocking = flags & cudaStreamNonBlocking;
  s->priority = priority;
  streams().insert(s);
  return s;
}

Stream& legacy_stream() {
  static Stream* s = [] {
    Stream* fresh = create_stream(0, 0);
    fresh->legacy = true;
    return fresh;
  }();
  return *s;
}

void run_stream(Stream& s, u64 up_to);

// The legacy stream waits for all blocking streams, and they wait for it.
void run_implicit_dependencies(Stream& s, u64 before) {
  if (s.non_blocking) return;
  if (!s.legacy) {
    run_stream(legacy_stream(), before);
    return;
  }
  for (Stream* other : vector<Stream*>(streams().begin(), streams().end())) {
    if (other != &s && !other->non_blocking) run_stream(*other, before);
  }
}

// Runs queued work with a sequence number of at most `up_to`. Terminates because every dependency
// has a smaller number than the work that waits for it.
void run_stream(Stream& s, u64 up_to) {
  while (!s.queue.empty() && s.queue.front().sequence <= up_to) {
    QueuedWork item = std::move(s.queue.front());
    s.queue.pop_front();
    run_implicit_dependencies(s, item.sequence - 1);
    if (item.wait && !item.wait->done) run_stream(*item.wait->stream, item.wait->sequence);
    if (item.work) {
      // Nobody waits for this result. A failed kernel is an error of every later call.
      cudaError_t const e = item.work();
      if (e && !sticky_error())
        report("ASYNC-FAILED", string("queued work: ") + cudaGetErrorName(e));
    }
    if (item.record) {
      item.record->done = true;
      item.record->time_ms = now_ms();
    }
  }
}

void submit(Stream& s, QueuedWork item) {
  item.sequence = next_sequence++;
  if (item.record) item.record->sequence = item.sequence;
  s.queue.push_back(std::move(item));
  if (!deferred_mode()) run_stream(s, next_sequence);
}

cudaError_t capture_error(Stream& s) {
  return s.capture->invalidated ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

// Using the legacy stream while a blocking stream captures would create a hidden dependency.
cudaError_t check_implicit_capture(Stream& s) {
  if (!s.legacy) return cudaSuccess;
  for (Stream* other : streams()) {
    if (other->capture && !other->non_blocking &&
        other->capture->mode != cudaStreamCaptureModeRelaxed) {
      other->capture->invalidated = true;
      return cudaErrorStreamCaptureImplicit;
    }
  }
  return cudaSuccess;
}

cudaError_t synchronize(Stream& s) {
  if (s.capture) {
    s.capture->invalidated = true;
    return fail(cudaErrorStreamCaptureUnsupported);
  }
  if (s.legacy) run_implicit_dependencies(s, next_sequence);
  run_stream(s, next_sequence);
  return sticky_error() ? fail(sticky_error()) : cudaSuccess;
}

}  // namespace

bool deferred_mode() {
  static bool const on = env_int("PTXEMU_DEFER", 0) != 0;
  return on;
}

Stream* find_stream(cudaStream_t handle) {
  if (!handle || handle == cudaStreamLegacy) return &legacy_stream();
  if (handle == cudaStreamPerThread) {
    thread_local Stream* mine = create_stream(0, 0);
    return mine;
  }
  auto* s = reinterpret_cast<Stream*>(handle);
  return streams().count(s) ? s : nullptr;
}

cudaError_t enqueue(cudaStream_t handle, cudaGraphNodeType type, Work work, void const* kernel) {
  PTXEMU_CHECK_STICKY;
  Stream* s = find_stream(handle);
  if (!s) return fail(cudaErrorInvalidResourceHandle);
  if (s->capture) {
    if (cudaError_t e = capture_error(*s)) return fail(e);
    GraphNode* node = s->capture->graph->add(type, kernel, std::move(work), s->tails);
    s->tails = {node->index};
    return cudaSuccess;
  }
  if (cudaError_t e = check_implicit_capture(*s)) return fail(e);
  submit(*s, {0, std::move(work), nullptr, nullptr});
  return cudaSuccess;
}

cudaError_t enqueue_and_wait(cudaStream_t handle, Work work) {
  PTXEMU_CHECK_STICKY;
  Stream* s = find_stream(handle);
  if (!s) return fail(cudaErrorInvalidResourceHandle);
  if (s->capture) {
    s->capture->invalidated = true;
    return fail(cudaErrorStreamCaptureUnsupported);
  }
  if (cudaError_t e = check_implicit_capture(*s)) return fail(e);
  auto result = std::make_shared<cudaError_t>(cudaSuccess);
  auto keep_result = [work, result] {
    *result = work();
    return cudaSuccess;
  };
  submit(*s, {0, keep_result, nullptr, nullptr});
  run_stream(*s, next_sequence);
  return sticky_error() ? fail(sticky_error()) : fail(*result);
}

void run_all_streams() {
  vector<Stream*> all(streams().begin(), streams().end());
  // Newest stream first: work without a dependency must not rely on submission order.
  std::sort(all.begin(), all.end(), [](Stream* a, Stream* b) { return a->id > b->id; });
  for (Stream* s : all)
    run_stream(*s, next_sequence);
}

cudaError_t refuse_during_capture() {
  for (Stream* s : streams()) {
    if (!s->capture) continue;
    bool affected = s->capture->mode == cudaStreamCaptureModeGlobal ||
                    (s->capture->mode == cudaStreamCaptureModeThreadLocal &&
                     s->capture->thread == std::this_thread::get_id());
    if (!affected) continue;
    s->capture->invalidated = true;
    return fail(cudaErrorStreamCaptureUnsupported);
  }
  return cudaSuccess;
}

}  // namespace ptxemu

using namespace ptxemu;

namespace {

Stream* stream_or_fail(cudaStream_t handle) {
  Stream* s = find_stream(handle);
  if (!s) fail(cudaErrorInvalidResourceHandle);
  return s;
}

Event* find_event(cudaEvent_t handle) {
  auto* e = reinterpret_cast<Event*>(handle);
  if (events().count(e)) return e;
  fail(cudaErrorInvalidResourceHandle);
  return nullptr;
}

cudaError_t record_event(cudaEvent_t handle, cudaStream_t stream) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  Event* e = find_event(handle);
  Stream* s = stream_or_fail(stream);
  if (!e || !s) return cudaErrorInvalidResourceHandle;
  if (s->capture) {
    if (cudaError_t error = capture_error(*s)) return fail(error);
    e->capture = s->capture;
    e->tails = s->tails;
    return cudaSuccess;
  }
  e->capture.reset();
  e->completion = std::make_shared<Completion>();
  e->completion->stream = s;
  submit(*s, {0, nullptr, e->completion, nullptr});
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int priority) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  if (!s || (flags & ~cudaStreamNonBlocking)) return fail(cudaErrorInvalidValue);
  *s = reinterpret_cast<cudaStream_t>(create_stream(flags, std::clamp(priority, -5, 0)));
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* s) {
  return cudaStreamCreateWithPriority(s, 0, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
  return cudaStreamCreateWithPriority(s, flags, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  PTXEMU_API_LOCK;
  Stream* s = stream_or_fail(handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  if (s->legacy || handle == cudaStreamPerThread) return fail(cudaErrorInvalidResourceHandle);
  run_stream(*s, next_sequence);  // the work still completes
  streams().erase(s);
  // The Stream object stays: events may refer to it. Handles to it are invalid from now on.
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  PTXEMU_API_LOCK;
  Stream* s = stream_or_fail(handle);
  return s ? synchronize(*s) : cudaErrorInvalidResourceHandle;
}

// The first query of unfinished work says so and then lets it finish, so that polling ends.
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  PTXEMU_API_LOCK;
  Stream* s = stream_or_fail(handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  if (s->capture) return synchronize(*s);
  bool const pending = !s->queue.empty();
  cudaError_t e = synchronize(*s);
  return e ? e : pending ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  PTXEMU_API_LOCK;
  PTXEMU_NOT_IN_CAPTURE;
  run_all_streams();
  return sticky_error() ? fail(sticky_error()) : cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  PTXEMU_API_LOCK;
  Stream* s = stream_or_fail(handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  *flags = s->flags;
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  PTXEMU_API_LOCK;
  Stream* s = stream_or_fail(handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  *priority = s->priority;
  return cudaSuccess;
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  PTXEMU_API_LOCK;
  Stream* s = stream_or_fail(handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  *id = s->id;
  return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  PTXEMU_API_LOCK;
  if (!stream_or_fail(handle)) return cudaErrorInvalidResourceHandle;
  *device = 0;
  return cudaSuccess;
}

// Access policy windows and the like are hints.
cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID,
                                   cudaStreamAttrValue const*) {
  PTXEMU_API_LOCK;
  return stream_or_fail(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  Stream* s = stream_or_fail(handle);
  Event* e = find_event(event);
  if (!s || !e) return cudaErrorInvalidResourceHandle;
  if (e->capture) {  // joins (or forks from) that capture
    if (e->capture->invalidated) return fail(cudaErrorStreamCaptureInvalidated);
    if (s->legacy) return fail(cudaErrorStreamCaptureImplicit);
    if (s->capture && s->capture != e->capture) return fail(cudaErrorStreamCaptureMerge);
    s->capture = e->capture;
    for (size_t t : e->tails) {
      if (std::find(s->tails.begin(), s->tails.end(), t) == s->tails.end()) s->tails.push_back(t);
    }
    return cudaSuccess;
  }
  if (s->capture) {
    if (!e->completion) return cudaSuccess;
    s->capture->invalidated = true;
    return fail(cudaErrorStreamCaptureIsolation);
  }
  if (e->completion) submit(*s, {0, nullptr, nullptr, e->completion});
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* user) {
  PTXEMU_API_LOCK;
  if (!fn) return fail(cudaErrorInvalidValue);
  return enqueue(stream, cudaGraphNodeTypeHost, [fn, user] {
    fn(user);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t fn, void* user,
                                  unsigned) {
  PTXEMU_API_LOCK;
  Stream* s = stream_or_fail(stream);
  if (!s) return cudaErrorInvalidResourceHandle;
  if (s->capture) return fail(cudaErrorStreamCaptureUnsupported);
  return enqueue(stream, cudaGraphNodeTypeHost, [=] {
    fn(stream, sticky_error(), user);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  if (!event) return fail(cudaErrorInvalidValue);
  auto* e = new Event;
  e->flags = flags;
  events().insert(e);
  *event = reinterpret_cast<cudaEvent_t>(e);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  PTXEMU_API_LOCK;
  Event* e = find_event(event);
  if (!e) return cudaErrorInvalidResourceHandle;
  events().erase(e);
  delete e;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record_event(event, stream);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return record_event(event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  PTXEMU_API_LOCK;
  Event* e = find_event(event);
  if (!e) return cudaErrorInvalidResourceHandle;
  if (e->capture) return fail(cudaErrorCapturedEvent);
  if (e->completion && !e->completion->done) {
    run_stream(*e->completion->stream, e->completion->sequence);
  }
  return sticky_error() ? fail(sticky_error()) : cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  PTXEMU_API_LOCK;
  Event* e = find_event(event);
  if (!e) return cudaErrorInvalidResourceHandle;
  if (e->capture) return fail(cudaErrorCapturedEvent);
  bool const pending = e->completion && !e->completion->done;
  cudaError_t error = cudaEventSynchronize(event);
  return error ? error : pending ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  PTXEMU_API_LOCK;
  Event *a = find_event(start), *b = find_event(end);
  if (!a || !b) return cudaErrorInvalidResourceHandle;
  if (!a->completion || !b->completion || ((a->flags | b->flags) & cudaEventDisableTiming)) {
    return fail(cudaErrorInvalidResourceHandle);
  }
  if (!a->completion->done || !b->completion->done) return fail(cudaErrorNotReady);
  *ms = float(b->completion->time_ms - a->completion->time_ms);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

// --- capture

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  Stream* s = stream_or_fail(handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  if (s->legacy || s->capture) return fail(cudaErrorStreamCaptureUnsupported);
  static u64 next_capture = 1;
  s->capture = std::make_shared<Capture>();
  s->capture->id = next_capture++;
  s->capture->origin = s;
  s->capture->mode = mode;
  s->capture->thread = std::this_thread::get_id();
  s->tails.clear();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  PTXEMU_API_LOCK;
  Stream* s = stream_or_fail(handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  if (!s->capture) return fail(cudaErrorIllegalState);
  if (s->capture->origin != s) return fail(cudaErrorStreamCaptureUnmatched);
  std::shared_ptr<Capture> capture = s->capture;
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    return fail(cudaErrorStreamCaptureWrongThread);
  }
  // Every node must be an ancestor of the origin stream's last nodes.
  Graph& g = *capture->graph;
  vector<bool> reached(g.nodes.size());
  vector<size_t> todo = s->tails;
  while (!todo.empty()) {
    size_t n = todo.back();
    todo.pop_back();
    if (reached[n]) continue;
    reached[n] = true;
    for (size_t d : g.nodes[n]->dependencies)
      todo.push_back(d);
  }
  bool const joined = std::find(reached.begin(), reached.end(), false) == reached.end();
  for (Stream* other : streams()) {
    if (other->capture == capture) {
      other->capture.reset();
      other->tails.clear();
    }
  }
  for (Event* e : events()) {
    if (e->capture == capture) e->capture.reset();
  }
  if (graph) *graph = nullptr;
  if (capture->invalidated) return fail(cudaErrorStreamCaptureInvalidated);
  if (!joined) return fail(cudaErrorStreamCaptureUnjoined);
  if (graph) *graph = reinterpret_cast<cudaGraph_t>(capture->graph.release());
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     cudaGraphNode_t const** dependencies,
                                     cudaGraphEdgeData const** edges, size_t* num_dependencies) {
  PTXEMU_API_LOCK;
  Stream* s = stream_or_fail(handle);
  if (!s) return cudaErrorInvalidResourceHandle;
  if (s->legacy) {
    if (cudaError_t e = check_implicit_capture(*s)) return fail(e);
  }
  *status = !s->capture               ? cudaStreamCaptureStatusNone
            : s->capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                      : cudaStreamCaptureStatusActive;
  if (!s->capture) return cudaSuccess;
  thread_local vector<cudaGraphNode_t> nodes;
  nodes.clear();
  for (size_t t : s->tails) {
    nodes.push_back(reinterpret_cast<cudaGraphNode_t>(s->capture->graph->nodes[t].get()));
  }
  if (id) *id = s->capture->id;
  if (graph) *graph = reinterpret_cast<cudaGraph_t>(s->capture->graph.get());
  if (dependencies) *dependencies = nodes.data();
  if (edges) *edges = nullptr;
  if (num_dependencies) *num_dependencies = nodes.size();
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(*mode, current);
  return cudaSuccess;
}

}  // extern "C"
