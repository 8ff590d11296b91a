// A cluster's Pods as an API server would send them, and a server that sends nothing else. Pods are
// as large as real ones with their managedFields: about 9 kB of JSON each.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace galen::bench {

// One Pod's JSON.
std::string PodJson(int index);

// What a list request asked for.
struct PageAsked {
  std::size_t limit = 0;  // 0 = all
  std::size_t first = 0;
  bool watch = false;
};
PageAsked ParsePage(std::string_view path);

// Serves lists, in pages where asked to, and watches that never tell anything. Belongs to a loop.
class PodListServer final : public net::HttpHandler {
 public:
  explicit PodListServer(int pods);

  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;
  // Of the whole list in one answer.
  std::size_t list_bytes() const { return ListText({}).size(); }
  std::size_t pods() const { return pods_.size(); }

 private:
  std::string ListText(const PageAsked& asked) const;

  std::vector<std::string> pods_;
  std::vector<std::unique_ptr<net::HttpExchange>> watches_;
};

}  // namespace galen::bench
