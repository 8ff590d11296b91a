// A cluster's Pods as an API server would send them, and a server that sends nothing else. Pods are
// as large as real ones with their managedFields: about 9 kB of JSON each.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace galen::bench {

// One Pod's JSON, the same for the same index; all are of almost one size.
std::string PodJson(int index);

// What a list request asked for.
struct PageAsked {
  std::size_t limit = 0;  // 0 = all
  std::size_t first = 0;
  // Asked to stay and send changes.
  bool watch = false;
};
// From a request's path. What is missing or no number is 0.
PageAsked ParsePage(std::string_view path);

// Serves lists, in pages where asked to, and watches that never send anything. Whatever the path,
// it is about its Pods. Continue tokens are plain indices. Belongs to a loop.
class PodListServer final : public net::HttpHandler {
 public:
  explicit PodListServer(int pods);

  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;
  // The length of the whole list in one answer.
  std::size_t list_bytes() const { return ListText({}).size(); }
  std::size_t pods() const { return pods_.size(); }

 private:
  std::string ListText(const PageAsked& asked) const;

  std::vector<std::string> pods_;
  std::vector<std::unique_ptr<net::HttpExchange>> watches_;
};

}  // namespace galen::bench
