// What a file says about itself for people and tools: documentation and metadata. Exporters write megabytes of it (a
// stack trace for each node), and every copy of a model and every session would carry it along.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>
#include <onnx/onnx_pb.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace vernier {

struct ModelNotes {
  using Metadata = google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>;
  struct Note {
    std::string text;
    Metadata metadata;
  };
  Note model;
  Note graph;
  std::size_t bytes = 0;
  std::map<std::string, Note> nodes;  // of the main graph and of bodies, by name
};

/// Takes the notes out of a message whose nodes have unique names. Null, and nothing is taken, below 64 KiB of them.
std::shared_ptr<const ModelNotes> take_notes(onnx::ModelProto& proto);

/// Puts them back where they were: in nodes that still have their name. What `proto` says meanwhile stays.
void put_back_notes(const ModelNotes& notes, onnx::ModelProto& proto);

}  // namespace vernier
