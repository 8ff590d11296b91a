// alloc-peer SUBCOMMAND: answers questions from standard input, line by line, until it ends.
#include <iostream>
#include <string>
#include <string_view>

#include "tests/alloc/peer.h"

namespace galen::alloc_peer {
namespace {

using Answer = Json (*)(const Json& question);

Answer AnswerOf(std::string_view subcommand) {
  if (subcommand == "allocate") return AnswerAllocate;
  if (subcommand == "cel") return AnswerCel;
  return nullptr;
}

int Run(Answer answer) {
  for (std::string line; std::getline(std::cin, line);) {
    const StatusOr<Json> question = Json::Parse(line);
    if (!question.ok()) {
      std::cerr << "alloc-peer: " << question.status().message() << "\n";
      return 1;
    }
    std::cout << answer(*question).Dump() << "\n" << std::flush;
  }
  return 0;
}

}  // namespace
}  // namespace galen::alloc_peer

int main(int argc, char** argv) {
  const auto answer = argc == 2 ? galen::alloc_peer::AnswerOf(argv[1]) : nullptr;
  if (answer == nullptr) {
    std::cerr << "usage: alloc-peer allocate|cel\n";
    return 64;
  }
  return galen::alloc_peer::Run(answer);
}
