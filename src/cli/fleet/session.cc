#include "cli/fleet/session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"

namespace galen::cli {
namespace {

// As kubectl's chunk size: pages keep the server's and our memory use small.
constexpr int kPage = 500;

// A missing --kubeconfig file is reported once, with advice.
Status CheckNamed(FileSystem& files, const std::string& path) {
  if (path.empty() || files.Read(path).status().code() != Code::kNotFound) return OkStatus();
  return InvalidArgument(
      "there is no kubeconfig {}: --kubeconfig names another, without it $KUBECONFIG "
      "or ~/.kube/config is read",
      path);
}

}  // namespace

StatusOr<std::unique_ptr<Session>> Session::Open(EpollLoop& loop, const Options& options,
                                                 const Interrupt* interrupt) {
  std::unique_ptr<Session> session(new Session(loop, interrupt));
  RETURN_IF_ERROR(CheckNamed(session->files_, options.cluster.path));
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
  StatusOr<Json> answer = Await<Json>(
      loop_,
      [&](std::function<void(StatusOr<Json>)> done) {
        call = client_->Do(std::move(request), std::move(done));
      },
      interrupt_);
  if (answer.ok()) return answer;
  const std::string& said = answer.status().message();
  if (kube::IsUnreachable(answer.status())) {
    return Unavailable("{}. Is the API server running? Another one is chosen with --kubeconfig.",
                       said);
  }
  if (answer.status().code() == Code::kInvalidArgument) return FailedPrecondition("{}", said);
  if (answer.status().code() == Code::kPermissionDenied) {
    return PermissionDenied("{}. An account that may is chosen with --kubeconfig", said);
  }
  return answer;
}

StatusOr<std::vector<Json>> ItemsOf(Json answer, const std::string& what) {
  const Json& items = std::as_const(answer)["items"];
  // Go writes an empty list as null.
  if (items.is_null() && answer.is_object() && answer.Has("items")) return std::vector<Json>();
  if (!items.is_array()) return DataLoss("{} gave no list; is it a Kubernetes API?", what);
  return std::move(answer["items"].MutableItems());
}

StatusOr<std::vector<Json>> Session::List(const kube::Resource& resource, const std::string& ns,
                                          const kube::Selectors& selectors) {
  std::vector<Json> items;
  kube::ListOptions page{
      .selectors = selectors, .limit = kPage, .resume = "", .resource_version = ""};
  do {
    ASSIGN_OR_RETURN(Json answer, Fetch(kube::List(resource, ns, page)));
    page.resume = std::as_const(answer)["metadata"]["continue"].AsString();
    ASSIGN_OR_RETURN(std::vector<Json> more,
                     ItemsOf(std::move(answer),
                             fmt::format("{}, asked for {},", config_.server, resource.plural)));
    std::move(more.begin(), more.end(), std::back_inserter(items));
  } while (!page.resume.empty());
  return items;
}

}  // namespace galen::cli
