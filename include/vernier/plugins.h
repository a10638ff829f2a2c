// The jobs behind `vernier plugin`: parts of a graph that plugins can compute are found by the plugins' own patterns
// and replaced. A plugin is a folder with a pattern.py, a program for ONNX GraphSurgeon that says where it fits:
// get_matching_subgraphs(graph), get_plugin_metadata(), and replace_with_plugin(...) if the plugin replaces by itself.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/sinks.h"

namespace vernier {

/// What runs the patterns: a Python with onnx and onnx_graphsurgeon, and the seconds that one may take (0: any).
struct PatternOptions {
  std::filesystem::path model;
  std::filesystem::path plugins;  // folder of the plugins' folders
  std::string python = "python3";
  double script_seconds = 0;
};

struct MatchPluginsOptions : PatternOptions {
  std::vector<std::string> included;  // names of folders; empty: all
  std::vector<std::string> excluded;
};

struct PluginMatches {
  struct Instance {
    std::vector<std::string> inputs, outputs;
    std::string attributes;  // a JSON object; empty: there are none
  };
  std::string folder;    // its name, which chooses it
  std::string name, op;  // as its metadata say; empty without an instance
  std::vector<Instance> instances;
};

/// One entry a plugin, sorted by folder. Errors: Input when a pattern fails, with its line; Usage for a name that no
/// plugin has; Backend when Python cannot be started; Interrupted.
VERNIER_API std::vector<PluginMatches> match_plugins(const MatchPluginsOptions& options, const JobSinks& sinks = {});

/// The matches as YAML, one document a plugin that matches, for a person to edit and for replace_by_plugins().
VERNIER_API std::string plugin_config(const std::vector<PluginMatches>& matches);

struct ReplaceByPluginsOptions : PatternOptions {
  std::filesystem::path config;  // YAML
  std::filesystem::path output;
};

struct PluginReplacements {
  struct Plugin {
    std::string name;
    std::size_t listed = 0, replaced = 0;
  };
  std::vector<Plugin> plugins;
  std::size_t nodes_before = 0, nodes_after = 0;
};

/// Puts one node in the place of each instance that the configuration lists. Reading YAML needs a Python with PyYAML.
/// Errors: as match_plugins(); Input for a tensor that the model does not have.
VERNIER_API PluginReplacements replace_by_plugins(const ReplaceByPluginsOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
