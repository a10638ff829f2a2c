// Measurements as bytes and back, for a store that this build alone reads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/channel_stats.h"
#include "analysis/known_trials.h"
#include "analysis/layer_probe.h"
#include "analysis/lockstep.h"
#include "analysis/own_error.h"
#include "analysis/requirement.h"
#include "distributed/wire.h"
#include "vernier/report/pictures.h"

namespace vernier::records {

using Trials = std::map<std::string, KnownTrials::BySample>;

/// What put() wrote is read by get(); into an object that is new. Errors: Internal when the bytes end too early.
void put(Packer& packer, const std::map<std::string, OutputStats>& outputs);
void get(Unpacker& unpacker, std::map<std::string, OutputStats>& outputs);
void put(Packer& packer, const std::vector<LayerError>& errors);
void get(Unpacker& unpacker, std::vector<LayerError>& errors);
void put(Packer& packer, const Lockstep& lockstep);
void get(Unpacker& unpacker, Lockstep& lockstep);
void put(Packer& packer, const Trials& trials);
void get(Unpacker& unpacker, Trials& trials);
void put(Packer& packer, const LayerProbe& probe);
void get(Unpacker& unpacker, LayerProbe& probe);
void put(Packer& packer, const Magnitudes& magnitudes);
void get(Unpacker& unpacker, Magnitudes& magnitudes);
void put(Packer& packer, const std::string& words);
void get(Unpacker& unpacker, std::string& words);
void put(Packer& packer, const std::vector<LayerPicture>& pictures);
void get(Unpacker& unpacker, std::vector<LayerPicture>& pictures);

}  // namespace vernier::records
