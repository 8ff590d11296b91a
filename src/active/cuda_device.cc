#include "active/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/check.h"

namespace galen::active {
namespace {

// Enough threads to keep every processor of any GPU busy; each strides over the remaining items.
constexpr std::uint64_t kThreadsOfBlock = 256;
constexpr std::uint64_t kBlocksMax = 8192;
constexpr std::size_t kAnswerWords = 3;

}  // namespace

StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Open(CudaDriver& driver, CudaGpu gpu) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(driver, std::move(gpu)));
  RETURN_IF_ERROR(Annotate(device->Start(), "start {}", device->gpu_.pci_address));
  return device;
}

CudaDevice::~CudaDevice() {
  // Ignored: it fails only after an error of the GPU; then the memory is freed with the process.
  if (context_ != nullptr) static_cast<void>(driver_.Call(driver_.end_context, context_));
}

Status CudaDevice::Start() {
  cuda::Device handle = 0;
  RETURN_IF_ERROR(driver_.Call(driver_.device, &handle, gpu_.ordinal));
  RETURN_IF_ERROR(driver_.Call(driver_.make_context, &context_, 0, handle));
  cuda::Module module = nullptr;
  RETURN_IF_ERROR(driver_.Call(driver_.load, &module, std::string(kKernels).c_str()));
  const std::pair<const char*, cuda::Function*> kernels[] = {
      {"active_fill", &fill_},
      {"active_compare", &compare_},
      {"active_multiply_integers", &multiply_integers_},
      {"active_multiply_floats", &multiply_floats_},
      {"active_checksum", &checksum_}};
  for (const auto& [name, kernel] : kernels) {
    RETURN_IF_ERROR(driver_.Call(driver_.find, kernel, module, name));
  }
  return driver_.Call(driver_.allocate, &answer_, kAnswerWords * sizeof(std::uint64_t));
}

StatusOr<std::uint64_t> CudaDevice::FreeBytes() {
  std::size_t free = 0, total = 0;
  RETURN_IF_ERROR(Use());
  RETURN_IF_ERROR(driver_.Call(driver_.memory, &free, &total));
  return std::uint64_t{free};
}

StatusOr<Address> CudaDevice::Allocate(std::uint64_t bytes) {
  cuda::DevicePtr block = 0;
  RETURN_IF_ERROR(Use());
  RETURN_IF_ERROR(driver_.Call(driver_.allocate, &block, bytes));
  return Address{block};
}

Status CudaDevice::Free(Address begin) {
  RETURN_IF_ERROR(Use());
  return driver_.Call(driver_.free, begin);
}

Status CudaDevice::Upload(std::span<const std::byte> bytes, Address to) {
  RETURN_IF_ERROR(Use());
  return driver_.Call(driver_.upload, to, bytes.data(), bytes.size());
}

Status CudaDevice::Download(Address from, std::span<std::byte> bytes) {
  RETURN_IF_ERROR(Use());
  return driver_.Call(driver_.download, bytes.data(), from, bytes.size());
}

Status CudaDevice::CopyFrom(ComputeDevice& source, Address from, Address to, std::uint64_t bytes) {
  const auto* other = dynamic_cast<CudaDevice*>(&source);
  GALEN_CHECK(other != nullptr);
  RETURN_IF_ERROR(Use());
  RETURN_IF_ERROR(driver_.Call(driver_.copy_between, to, context_, from, other->context_, bytes));
  return driver_.Call(driver_.synchronize);
}

Status CudaDevice::Run(cuda::Function kernel, std::uint64_t items,
                       std::initializer_list<void*> parameters) {
  const std::uint64_t blocks =
      std::clamp<std::uint64_t>((items + kThreadsOfBlock - 1) / kThreadsOfBlock, 1, kBlocksMax);
  std::vector<void*> pointers(parameters);
  RETURN_IF_ERROR(Use());
  RETURN_IF_ERROR(driver_.Call(driver_.launch, kernel, static_cast<unsigned>(blocks), 1, 1,
                               static_cast<unsigned>(kThreadsOfBlock), 1, 1, 0, nullptr,
                               pointers.data(), nullptr));
  return driver_.Call(driver_.synchronize);
}

Status CudaDevice::Fill(const Words& words, const Pattern& pattern) {
  Words given = words;
  Pattern wanted = pattern;
  return Run(
      fill_, words.count,
      {&given.begin, &given.count, &given.first, &wanted.kind, &wanted.argument, &wanted.mask});
}

StatusOr<Mismatch> CudaDevice::Compare(const Words& words, const Pattern& pattern) {
  Words given = words;
  Pattern wanted = pattern;
  std::array<std::uint64_t, kAnswerWords> found = {0, ~std::uint64_t{0}, 0};
  RETURN_IF_ERROR(Upload(std::as_bytes(std::span(found)), answer_));
  RETURN_IF_ERROR(Run(compare_, words.count,
                      {&given.begin, &given.count, &given.first, &wanted.kind, &wanted.argument,
                       &wanted.mask, &answer_}));
  RETURN_IF_ERROR(Download(answer_, std::as_writable_bytes(std::span(found))));
  Mismatch mismatch{.count = found[0], .first = found[1], .bits = found[2]};
  if (mismatch.count == 0) return Mismatch{};
  // The result comes from the device under suspicion, and says where we look next.
  const bool is_sound = mismatch.count <= words.count && mismatch.bits != 0 &&
                        mismatch.first - words.first < words.count;
  if (!is_sound) return Unavailable("the GPU returned an impossible result");
  return mismatch;
}

Status CudaDevice::Multiply(MatrixKind kind, const Matrices& matrices) {
  Matrices given = matrices;
  return Run(kind == MatrixKind::kIntegers ? multiply_integers_ : multiply_floats_,
             std::uint64_t{given.size} * given.size,
             {&given.left, &given.right, &given.product, &given.size});
}

StatusOr<std::uint64_t> CudaDevice::Checksum(Address elements, std::uint64_t count) {
  std::uint64_t sum = 0;
  RETURN_IF_ERROR(Upload(std::as_bytes(std::span(&sum, 1)), answer_));
  RETURN_IF_ERROR(Run(checksum_, count, {&elements, &count, &answer_}));
  RETURN_IF_ERROR(Download(answer_, std::as_writable_bytes(std::span(&sum, 1))));
  return sum;
}

}  // namespace galen::active
