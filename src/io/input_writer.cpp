
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "io/iteration_folder.h"
#include "io/npz_writer.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class InputsForm {
 public:
  virtual ~InputsForm() = default;
  virtual void add(const std::vector<NamedTensor>& inputs) = 0;
  virtual void finish() = 0;
};

class JsonFile final : public InputsForm {
 public:
  explicit JsonFile(const std::filesystem::path& path) : file_(path) {}

  void add(const std::vector<NamedTensor>& inputs) override {
    file_.write(count_ == 0 ? "[\n    " : ",\n    ");
    put_sample([this](std::string_view text) { file_.write(text); }, inputs, 4);
    ++count_;
  }
  void finish() override {
    file_.write(count_ == 0 ? "[]" : "\n]");
    file_.commit();
  }

 private:
  NewFile file_;
  std::size_t count_ = 0;
};

class Folder final : public InputsForm {
 public:
  explicit Folder(const std::filesystem::path& path) : folder_(path) {}
  void add(const std::vector<NamedTensor>& inputs) override {
    folder_.add([&inputs](const TextSink& out) { put_sample(out, inputs, 0); });
  }
  void finish() override { folder_.commit(); }

 private:
  IterationFolder folder_;
};

class Npz final : public InputsForm {
 public:
  explicit Npz(const std::filesystem::path& path) : writer_(path, NpzWriter::Content::Samples) {}
  void add(const std::vector<NamedTensor>& inputs) override { writer_.add(inputs); }
  void finish() override { writer_.commit(); }

 private:
  NpzWriter writer_;
};

std::unique_ptr<InputsForm> form_of(const std::filesystem::path& path) {
  if (names_a_folder(path)) return std::make_unique<Folder>(path);
  if (path.extension() == ".npz") return std::make_unique<Npz>(path);
  return std::make_unique<JsonFile>(path);
}

}  // namespace

struct InputWriter::State {
  std::unique_ptr<InputsForm> form;
};

InputWriter::InputWriter(const std::filesystem::path& path) : state_(new State{form_of(path)}) {}
InputWriter::~InputWriter() = default;
void InputWriter::add(const std::vector<NamedTensor>& inputs) { state_->form->add(inputs); }
void InputWriter::finish() { state_->form->finish(); }

}  // namespace vernier
