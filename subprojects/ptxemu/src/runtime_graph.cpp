// SPDX-License-Identifier: Apache-2.0
// CUDA graphs: nodes in creation order with their dependencies.
#include "memory.hpp"
#include "runtime.hpp"

namespace ptxemu {

GraphNode* Graph::add(cudaGraphNodeType type, void const* kernel, Work work, vector<size_t> deps) {
  auto node = std::make_unique<GraphNode>();
  node->graph = this;
  node->index = nodes.size();
  node->type = type;
  node->kernel = kernel;
  node->work = std::move(work);
  node->dependencies = std::move(deps);
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  for (auto& n : nodes)
    copy->add(n->type, n->kernel, n->work, n->dependencies);
  return copy;
}

// Creation order normally; in deferred mode the latest node that is ready goes first, so that a
// dependency missing from the graph shows up.
cudaError_t run_graph(Graph const& graph) {
  size_t const n = graph.nodes.size();
  vector<bool> done(n);
  auto ready = [&](size_t k) {
    for (size_t d : graph.nodes[k]->dependencies) {
      if (!done[d]) return false;
    }
    return true;
  };
  for (size_t finished = 0; finished < n; finished++) {
    size_t pick = n;
    for (size_t k = 0; k < n; k++) {
      if (done[k] || !ready(k)) continue;
      pick = k;
      if (!deferred_mode()) break;
    }
    if (pick == n) return cudaErrorInvalidValue;  // a cycle
    done[pick] = true;
    if (graph.nodes[pick]->work) {
      if (cudaError_t e = graph.nodes[pick]->work()) return e;
    }
  }
  return cudaSuccess;
}

namespace {

// An instantiated graph is replaced as a whole by an update; a running launch keeps its copy.
struct GraphExec {
  std::shared_ptr<Graph> graph;
};

Graph* to_graph(cudaGraph_t g) {
  return reinterpret_cast<Graph*>(g);
}
GraphExec* to_exec(cudaGraphExec_t e) {
  return reinterpret_cast<GraphExec*>(e);
}
GraphNode* to_node(cudaGraphNode_t n) {
  return reinterpret_cast<GraphNode*>(n);
}
cudaGraphNode_t handle(GraphNode* n) {
  return reinterpret_cast<cudaGraphNode_t>(n);
}

vector<size_t> indices(cudaGraphNode_t const* nodes, size_t count) {
  vector<size_t> out;
  for (size_t k = 0; k < count; k++)
    out.push_back(to_node(nodes[k])->index);
  return out;
}

cudaError_t add_node(cudaGraphNode_t* out, cudaGraph_t graph, cudaGraphNode_t const* deps,
                     size_t num_deps, cudaGraphNodeType type, Work work,
                     void const* kernel = nullptr) {
  if (!out || !graph) return fail(cudaErrorInvalidValue);
  *out = handle(to_graph(graph)->add(type, kernel, std::move(work), indices(deps, num_deps)));
  return cudaSuccess;
}

}  // namespace
}  // namespace ptxemu

using namespace ptxemu;

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  PTXEMU_API_LOCK;
  *graph = reinterpret_cast<cudaGraph_t>(new Graph);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  PTXEMU_API_LOCK;
  delete to_graph(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph) {
  PTXEMU_API_LOCK;
  *copy = reinterpret_cast<cudaGraph_t>(to_graph(graph)->clone().release());
  return cudaSuccess;
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  cudaGraphNode_t const* deps, size_t num_deps) {
  PTXEMU_API_LOCK;
  return add_node(node, graph, deps, num_deps, cudaGraphNodeTypeEmpty, nullptr);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   cudaGraphNode_t const* deps, size_t num_deps,
                                   cudaKernelNodeParams const* p) {
  PTXEMU_API_LOCK;
  Work work;
  cudaError_t e = prepare_launch(p->func, p->gridDim, p->blockDim, p->kernelParams,
                                 p->sharedMemBytes, false, work);
  if (e) return fail(e);
  return add_node(node, graph, deps, num_deps, cudaGraphNodeTypeKernel, work, p->func);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     cudaGraphNode_t const* deps, size_t num_deps, void* dst,
                                     void const* src, size_t n, cudaMemcpyKind kind) {
  PTXEMU_API_LOCK;
  return add_node(node, graph, deps, num_deps, cudaGraphNodeTypeMemcpy,
                  [=] { return copy(dst, src, n, kind); });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   cudaGraphNode_t const* deps, size_t num_deps,
                                   cudaMemsetParams const* p) {
  PTXEMU_API_LOCK;
  cudaMemsetParams m = *p;
  return add_node(node, graph, deps, num_deps, cudaGraphNodeTypeMemset, [m] {
    for (size_t row = 0; row < m.height; row++) {
      auto* at = static_cast<u8*>(m.dst) + row * m.pitch;
      cudaError_t e = fill(at, 0, m.width * m.elementSize);
      if (e) return e;
      for (size_t k = 0; k < m.width; k++) {
        memcpy(host_view(at + k * m.elementSize), &m.value, m.elementSize);
      }
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 cudaGraphNode_t const* deps, size_t num_deps,
                                 cudaHostNodeParams const* p) {
  PTXEMU_API_LOCK;
  cudaHostNodeParams h = *p;
  return add_node(node, graph, deps, num_deps, cudaGraphNodeTypeHost, [h] {
    h.fn(h.userData);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t, cudaGraphNode_t const* from,
                                     cudaGraphNode_t const* to, cudaGraphEdgeData const*,
                                     size_t count) {
  PTXEMU_API_LOCK;
  for (size_t k = 0; k < count; k++) {
    to_node(to[k])->dependencies.push_back(to_node(from[k])->index);
  }
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  PTXEMU_API_LOCK;
  Graph& g = *to_graph(graph);
  if (nodes) {
    for (size_t k = 0; k < *count; k++) {
      nodes[k] = k < g.nodes.size() ? handle(g.nodes[k].get()) : nullptr;
    }
    *count = min(*count, g.nodes.size());
  } else {
    *count = g.nodes.size();
  }
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  PTXEMU_API_LOCK;
  *type = to_node(node)->type;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  PTXEMU_API_LOCK;
  PTXEMU_CHECK_STICKY;
  if (!exec || !graph) return fail(cudaErrorInvalidValue);
  *exec = reinterpret_cast<cudaGraphExec_t>(new GraphExec{to_graph(graph)->clone()});
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* params) {
  params->result_out = cudaGraphInstantiateSuccess;
  return cudaGraphInstantiate(exec, graph, params->flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  PTXEMU_API_LOCK;
  delete to_exec(exec);
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  PTXEMU_API_LOCK;
  if (!exec) return fail(cudaErrorInvalidValue);
  std::shared_ptr<Graph> graph = to_exec(exec)->graph;
  return enqueue(stream, cudaGraphNodeTypeGraph, [graph] {
    cudaError_t e = run_graph(*graph);
    return e ? fail(e) : e;
  });
}

// The topology and the node types must be unchanged. Unlike the real one it accepts a different
// kernel in a node only if it is the same function.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  PTXEMU_API_LOCK;
  Graph const &old_graph = *to_exec(exec)->graph, &new_graph = *to_graph(graph);
  cudaGraphExecUpdateResult result = cudaGraphExecUpdateSuccess;
  GraphNode* culprit = nullptr;
  if (old_graph.nodes.size() != new_graph.nodes.size()) {
    result = cudaGraphExecUpdateErrorTopologyChanged;
  }
  for (size_t k = 0; k < new_graph.nodes.size() && result == cudaGraphExecUpdateSuccess; k++) {
    GraphNode const &a = *old_graph.nodes[k], &b = *new_graph.nodes[k];
    if (a.type != b.type) {
      result = cudaGraphExecUpdateErrorNodeTypeChanged;
    } else if (a.dependencies != b.dependencies) {
      result = cudaGraphExecUpdateErrorTopologyChanged;
    } else if (a.kernel != b.kernel) {
      result = cudaGraphExecUpdateErrorFunctionChanged;
    }
    if (result != cudaGraphExecUpdateSuccess) culprit = new_graph.nodes[k].get();
  }
  if (info) {
    memset(info, 0, sizeof *info);
    info->result = result;
    info->errorNode = culprit ? handle(culprit) : nullptr;
  }
  if (result != cudaGraphExecUpdateSuccess) return fail(cudaErrorGraphExecUpdateFailure);
  to_exec(exec)->graph = new_graph.clone();
  return cudaSuccess;
}

}  // extern "C"
