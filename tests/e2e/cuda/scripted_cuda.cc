// A libcuda.so.1 for tests: GPUs whose memory is this process's and whose kernels are run from
// their PTX (ptx_machine.h). What GPUs there are, and what is broken, says the file that
// $GALEN_CUDA_ANSWERS names, read anew in every call:
//
//   gpus 2
//   0 uuid 7d4b…            32 hexadecimal digits
//   0 bus 75                of the PCI address
//   0 memory 4194304        bytes of it, at most 64 MiB; what has no line has a default
//   0 stuck 4096 17         bit 17 of the 64-bit word at byte 4096 of its memory is always flipped
//   0 miscomputes NAME      of the 100th number that kernel NAME stores, bit 5 is flipped
//   0 link-flips 1          what is copied from or to it has a bit flipped
//   fails cuMemAlloc_v2 2   that call, or that kernel, gives this CUresult
//   hangs cuCtxSynchronize  that call blocks while this is so
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "active/cuda_abi.h"
#include "tests/e2e/cuda/ptx_machine.h"

namespace {

namespace cuda = galen::active::cuda;
using galen::e2e::PtxKernel;
using galen::e2e::PtxModule;

constexpr std::uint64_t kPage = 4096;

// What follows `key` and a space in the file.
std::optional<std::string> Answer(const std::string& key) {
  const char* path = std::getenv("GALEN_CUDA_ANSWERS");
  std::ifstream file(path == nullptr ? "" : path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + " ")) return line.substr(key.size() + 1);
    if (line == key) return "";
  }
  return std::nullopt;
}

std::uint64_t NumberOr(const std::string& key, std::uint64_t otherwise) {
  const auto answer = Answer(key);
  return answer ? std::stoull(*answer) : otherwise;
}

// Blocks, or gives what the call fails with.
std::optional<int> Trouble(const std::string& called) {
  while (Answer("hangs " + called)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto fails = Answer("fails " + called);
  return fails ? std::optional(std::stoi(*fails)) : std::nullopt;
}

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

struct Gpu {
  explicit Gpu(int number)
      : index(number), size(std::min<std::uint64_t>(Number("memory", 4 << 20), 64 << 20)) {
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, size)));
    std::memset(memory.get(), 0xa5, size);
  }
  std::uint64_t Number(const std::string& name, std::uint64_t otherwise) const {
    return NumberOr(std::to_string(index) + " " + name, otherwise);
  }
  std::uint64_t begin() const { return reinterpret_cast<std::uint64_t>(memory.get()); }
  bool Has(std::uint64_t address, std::size_t bytes) const {
    return address >= begin() && bytes <= size && address - begin() <= size - bytes;
  }
  std::uint64_t Used() const {
    std::uint64_t used = 0;
    for (const auto& [at, bytes] : blocks) used = std::max(used, at + bytes);
    return used;
  }

  int index;
  std::uint64_t size;
  std::unique_ptr<std::byte, Free> memory;
  std::map<std::uint64_t, std::uint64_t> blocks;  // by offset
};

std::vector<std::unique_ptr<Gpu>>& Gpus() {
  static std::vector<std::unique_ptr<Gpu>> gpus;
  return gpus;
}

thread_local Gpu* current = nullptr;
bool initialized = false;

// One function of a module.
struct Kernel {
  std::string name;
  const PtxKernel* code;
};

// What was loaded, for as long as the library is there: a program may ask for it at any time.
std::vector<std::unique_ptr<PtxModule>>& Modules() {
  static std::vector<std::unique_ptr<PtxModule>> modules;
  return modules;
}
std::vector<std::unique_ptr<Kernel>>& Kernels() {
  static std::vector<std::unique_ptr<Kernel>> kernels;
  return kernels;
}

// The broken parts of a GPU, as a kernel that stores meets them.
galen::e2e::PtxMemory MemoryOf(const Gpu& gpu, const std::string& kernel) {
  std::uint64_t stuck = ~std::uint64_t{0};
  unsigned bit = 0;
  if (const auto answer = Answer(std::to_string(gpu.index) + " stuck")) {
    unsigned long long offset = 0;
    if (std::sscanf(answer->c_str(), "%llu %u", &offset, &bit) == 2) stuck = gpu.begin() + offset;
  }
  const bool miscomputes = Answer(std::to_string(gpu.index) + " miscomputes") == kernel;
  galen::e2e::PtxMemory memory{.begin = gpu.begin(), .end = gpu.begin() + gpu.size};
  memory.stored = [=, stores = 0](std::uint64_t address, std::uint64_t value, int) mutable {
    if (address == stuck) value ^= std::uint64_t{1} << bit;
    if (miscomputes && ++stores == 100) value ^= 1 << 5;
    return value;
  };
  return memory;
}

const char* NameOf(int result) {
  switch (result) {
    case cuda::kOutOfMemory:
      return "CUDA_ERROR_OUT_OF_MEMORY";
    case cuda::kEccUncorrectable:
      return "CUDA_ERROR_ECC_UNCORRECTABLE";
    case cuda::kIllegalAddress:
      return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case cuda::kNoDevice:
      return "CUDA_ERROR_NO_DEVICE";
    default:
      return nullptr;
  }
}

}  // namespace

// Names and types are cuda.h's.
extern "C" {

#define TROUBLE_OF(name) \
  if (const auto trouble = Trouble(name)) return *trouble

int cuInit(unsigned) {
  TROUBLE_OF("cuInit");
  initialized = true;
  Gpus().clear();
  for (auto n = NumberOr("gpus", 1); Gpus().size() < n;) {
    Gpus().push_back(std::make_unique<Gpu>(static_cast<int>(Gpus().size())));
  }
  return cuda::kSuccess;
}
int cuDeviceGetCount(int* count) {
  TROUBLE_OF("cuDeviceGetCount");
  if (!initialized) return cuda::kNotInitialized;
  *count = static_cast<int>(Gpus().size());
  return cuda::kSuccess;
}
int cuDeviceGet(cuda::Device* device, int ordinal) {
  TROUBLE_OF("cuDeviceGet");
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= Gpus().size())
    return cuda::kInvalidDevice;
  *device = ordinal;
  return cuda::kSuccess;
}
int cuDeviceGetName(char* name, int size, cuda::Device device) {
  const std::string text = Answer(std::to_string(device) + " name").value_or("Scripted GPU");
  std::snprintf(name, static_cast<std::size_t>(size), "%s", text.c_str());
  return cuda::kSuccess;
}
int cuDeviceGetUuid(cuda::Uuid* uuid, cuda::Device device) {
  const std::string text = Answer(std::to_string(device) + " uuid")
                               .value_or(std::string(31, '0') + std::to_string(device));
  for (std::size_t i = 0; i < 16; ++i) {
    uuid->bytes[i] = static_cast<unsigned char>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  }
  return cuda::kSuccess;
}
int cuDeviceGetPCIBusId(char* address, int size, cuda::Device device) {
  const auto bus = NumberOr(std::to_string(device) + " bus", 0x4b + static_cast<unsigned>(device));
  std::snprintf(address, static_cast<std::size_t>(size), "0000:%02X:00.0",
                static_cast<unsigned>(bus));
  return cuda::kSuccess;
}
int cuCtxCreate_v2(cuda::Context* context, unsigned, cuda::Device device) {
  TROUBLE_OF("cuCtxCreate_v2");
  current = Gpus().at(static_cast<std::size_t>(device)).get();
  *context = current;
  return cuda::kSuccess;
}
int cuCtxDestroy_v2(cuda::Context context) {
  TROUBLE_OF("cuCtxDestroy_v2");
  static_cast<Gpu*>(context)->blocks.clear();
  return cuda::kSuccess;
}
int cuCtxSetCurrent(cuda::Context context) {
  current = static_cast<Gpu*>(context);
  return cuda::kSuccess;
}
int cuCtxSynchronize() {
  TROUBLE_OF("cuCtxSynchronize");
  return cuda::kSuccess;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  TROUBLE_OF("cuMemGetInfo_v2");
  *total = current->size;
  *free = current->size - current->Used();
  return cuda::kSuccess;
}
int cuMemAlloc_v2(cuda::DevicePtr* block, std::size_t bytes) {
  TROUBLE_OF("cuMemAlloc_v2");
  const std::uint64_t at = (current->Used() + kPage - 1) / kPage * kPage;
  if (at > current->size || bytes > current->size - at) return cuda::kOutOfMemory;
  current->blocks[at] = bytes;
  *block = current->begin() + at;
  return cuda::kSuccess;
}
int cuMemFree_v2(cuda::DevicePtr block) {
  return current->blocks.erase(block - current->begin()) == 1 ? cuda::kSuccess
                                                              : cuda::kInvalidValue;
}
int cuMemcpyHtoD_v2(cuda::DevicePtr to, const void* from, std::size_t bytes) {
  TROUBLE_OF("cuMemcpyHtoD_v2");
  if (!current->Has(to, bytes)) return cuda::kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return cuda::kSuccess;
}
int cuMemcpyDtoH_v2(void* to, cuda::DevicePtr from, std::size_t bytes) {
  TROUBLE_OF("cuMemcpyDtoH_v2");
  if (!current->Has(from, bytes)) return cuda::kInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return cuda::kSuccess;
}
int cuMemcpyPeer(cuda::DevicePtr to, cuda::Context to_context, cuda::DevicePtr from,
                 cuda::Context from_context, std::size_t bytes) {
  TROUBLE_OF("cuMemcpyPeer");
  const Gpu &receiver = *static_cast<Gpu*>(to_context), &sender = *static_cast<Gpu*>(from_context);
  if (!receiver.Has(to, bytes) || !sender.Has(from, bytes)) return cuda::kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  if (receiver.Number("link-flips", 0) + sender.Number("link-flips", 0) > 0) {
    *reinterpret_cast<unsigned char*>(to) ^= 4;
  }
  return cuda::kSuccess;
}
int cuModuleLoadData(cuda::Module* module, const void* text) {
  TROUBLE_OF("cuModuleLoadData");
  auto parsed = std::make_unique<PtxModule>(galen::e2e::ParsePtx(static_cast<const char*>(text)));
  if (!parsed->error.empty()) {
    std::fprintf(stderr, "scripted CUDA: PTX: %s\n", parsed->error.c_str());
    return cuda::kInvalidImage;
  }
  *module = Modules().emplace_back(std::move(parsed)).get();
  return cuda::kSuccess;
}
int cuModuleGetFunction(cuda::Function* function, cuda::Module module, const char* name) {
  const PtxModule& parsed = *static_cast<PtxModule*>(module);
  const auto found = parsed.kernels.find(name);
  if (found == parsed.kernels.end()) return cuda::kNotFound;
  *function = Kernels().emplace_back(new Kernel{name, &found->second}).get();
  return cuda::kSuccess;
}
int cuLaunchKernel(cuda::Function function, unsigned blocks, unsigned, unsigned, unsigned threads,
                   unsigned, unsigned, unsigned, cuda::Stream, void** parameters, void**) {
  const Kernel& kernel = *static_cast<Kernel*>(function);
  TROUBLE_OF("cuLaunchKernel");
  TROUBLE_OF(kernel.name);
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < kernel.code->parameter_bits.size(); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, parameters[i],
                static_cast<std::size_t>(kernel.code->parameter_bits[i]) / 8);
    values.push_back(value);
  }
  const bool ran = galen::e2e::RunPtx(*kernel.code, {.blocks = blocks, .threads = threads}, values,
                                      MemoryOf(*current, kernel.name));
  return ran ? cuda::kSuccess : cuda::kIllegalAddress;
}
int cuGetErrorName(int result, const char** name) {
  *name = NameOf(result);
  return *name == nullptr ? cuda::kInvalidValue : cuda::kSuccess;
}
int cuGetErrorString(int result, const char** text) {
  *text = result == cuda::kOutOfMemory ? "out of memory" : nullptr;
  return *text == nullptr ? cuda::kInvalidValue : cuda::kSuccess;
}

#undef TROUBLE_OF
}
