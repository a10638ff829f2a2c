// The Python programs that run users' scripts, in the user's Python. Each says at its beginning what it is given and
// what it writes: host.py and answer.py, and samples.py, postprocess.py, load_model.py, iterations.py, metric.py,
// plugins.py.
#pragma once

#include <string>

namespace vernier {

std::string host_program();         // what each begins with: for programs that other folders have
std::string samples_program();      // a data loader script
std::string postprocess_program();  // a script that changes a network
std::string load_model_program();   // a script that makes a model
std::string iterations_program();   // a function that compares or changes what runners gave
std::string plugins_program();      // patterns of plugins
std::string metric_program();       // a function that computes one number of all outputs

}  // namespace vernier
