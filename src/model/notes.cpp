#include "model/notes.h"

#include <cstddef>
#include <set>
#include <utility>

#include "model/model.h"

namespace vernier {
namespace {

constexpr std::size_t kLeastBytes = std::size_t{64} << 10U;

using Documentation = ModelNotes::Note;

template <class Message>
std::size_t bytes_in(const Message& message) {
  std::size_t bytes = message.doc_string().size();
  for (const onnx::StringStringEntryProto& entry : message.metadata_props()) bytes += entry.ByteSizeLong();
  return bytes;
}

template <class Message>
Documentation taken_from(Message& message) {
  Documentation note{message.doc_string(), {}};
  note.metadata.Swap(message.mutable_metadata_props());
  message.clear_doc_string();
  return note;
}

template <class Message>
void put_back(const Documentation& note, Message& message) {
  if (!note.text.empty() && message.doc_string().empty()) message.set_doc_string(note.text);
  std::set<std::string> said;
  for (const onnx::StringStringEntryProto& entry : message.metadata_props()) said.insert(entry.key());
  ModelNotes::Metadata all;
  for (const onnx::StringStringEntryProto& entry : note.metadata) {
    if (!said.contains(entry.key())) *all.Add() = entry;
  }
  all.MergeFrom(message.metadata_props());
  message.mutable_metadata_props()->Swap(&all);
}

}  // namespace

std::shared_ptr<const ModelNotes> take_notes(onnx::ModelProto& proto) {
  std::size_t bytes = bytes_in(proto) + bytes_in(proto.graph());
  for_each_graph(std::as_const(proto).graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) bytes += bytes_in(node);
  });
  if (bytes < kLeastBytes) return nullptr;
  auto notes = std::make_shared<ModelNotes>();
  notes->bytes = bytes;
  notes->model = taken_from(proto);
  notes->graph = taken_from(*proto.mutable_graph());
  for_each_graph(*proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      if (bytes_in(node) > 0) notes->nodes.emplace(node.name(), taken_from(node));
    }
  });
  return notes;
}

void put_back_notes(const ModelNotes& notes, onnx::ModelProto& proto) {
  put_back(notes.model, proto);
  put_back(notes.graph, *proto.mutable_graph());
  for_each_graph(*proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      if (const auto note = notes.nodes.find(node.name()); note != notes.nodes.end()) put_back(note->second, node);
    }
  });
}

}  // namespace vernier
