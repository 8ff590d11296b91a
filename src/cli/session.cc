// Tested by get_test.cc (no server) and tests/e2e (a real one).
#include "cli/session.h"

#include <utility>

#include "base/log.h"

namespace galen::cli {
namespace {

constexpr int kPage = 500;

}  // namespace

StatusOr<std::unique_ptr<Session>> Session::Open(EpollLoop& loop, const Options& options) {
  std::unique_ptr<Session> session(new Session(loop));
  ASSIGN_OR_RETURN(session->config_,
                   kube::FindConfig(session->files_, options.environment, options.cluster));
  session->dialer_ = net::MakeDialer(loop);
  session->exec_ = kube::MakeExecRunner(loop);
  ASSIGN_OR_RETURN(session->transport_,
                   kube::Transport::Create(loop, NullLog(), *session->dialer_, session->files_,
                                           *session->exec_, session->config_));
  session->client_ = std::make_unique<kube::Client>(loop, *session->transport_);
  return session;
}

StatusOr<Json> Session::Fetch(net::HttpRequest request) {
  std::unique_ptr<net::HttpCall> call;
  StatusOr<Json> answer = Await<Json>(loop_, [&](std::function<void(StatusOr<Json>)> done) {
    call = client_->Do(std::move(request), std::move(done));
  });
  if (answer.ok() || !kube::IsUnreachable(answer.status())) return answer;
  return Unavailable("{}. Is it running? --kubeconfig names another", answer.status().message());
}

StatusOr<std::vector<Json>> Session::List(const kube::Resource& resource, const std::string& ns,
                                          const kube::Selectors& selectors) {
  std::vector<Json> items;
  kube::ListOptions page{
      .selectors = selectors, .limit = kPage, .resume = "", .resource_version = ""};
  do {
    ASSIGN_OR_RETURN(Json answer, Fetch(kube::List(resource, ns, page)));
    for (Json& item : answer["items"].MutableItems()) items.push_back(std::move(item));
    page.resume = std::as_const(answer)["metadata"]["continue"].AsString();
  } while (!page.resume.empty());
  return items;
}

}  // namespace galen::cli
