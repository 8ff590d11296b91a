// TLS between an end of ours and a peer, on a wire that belongs to somebody else, who forwards,
// holds back, damages, repeats and invents bytes, as the input says.
#include <cstddef>
#include <memory>
#include <string>

#include "base/check.h"
#include "base/loop/fake_loop.h"
#include "net/fake_memory_stream.h"
#include "net/tls/test_certificates.h"
#include "net/tls/tls_stream.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {
namespace {

// What the ends are made of is made once, which takes longer than the rest of a run. No session is
// resumed, so that a run knows nothing of the one before.
struct Contexts {
  Contexts() {
    const net::TestAuthority authority("fuzz authority");
    const net::TestCertificate certificate = authority.Issue({.names = {"api.local"}});
    server = *net::MakeServerContext(
        {.certificate_pem = certificate.certificate_pem, .key_pem = certificate.key_pem});
    client = *net::MakeClientContext({.ca_pem = authority.pem()});
  }

  net::SslContext server, client;
};

const Contexts& Made() {
  static const Contexts contexts;
  return contexts;
}

// One of the two ends. Nothing comes after its end, which is reported once.
class End final : public net::ByteStream::Sink {
 public:
  void Connect(std::unique_ptr<net::ByteStream> link) {
    stream_ =
        net::TlsStream::Connect(std::move(link), Made().client.get(),
                                {.name = "api.local", .address = "api.local:443"}, OnShaken());
  }
  void Accept(std::unique_ptr<net::ByteStream> link) {
    stream_ = net::TlsStream::Accept(std::move(link), Made().server.get(), OnShaken());
  }
  void OnBytes(std::string_view bytes) override {
    GALEN_CHECK(ends_ == 0);
    received_ += bytes;
  }
  void OnWritable() override { GALEN_CHECK(ends_ == 0); }
  void OnClosed(const Status& status) override {
    GALEN_CHECK(!status.ok() && ends_ == 0);
    ++ends_;
  }

  void Write(std::string_view bytes) {
    if (!shaken_ || stream_ == nullptr) return;
    said_ += bytes;
    stream_->Write(bytes);
  }
  // With a goodbye, once hands were shaken.
  void Leave() { stream_.reset(); }

  bool shaken() const { return shaken_; }
  // How often it was reported that the handshake or the stream ended, or that hands were shaken.
  int outcomes() const { return outcomes_; }
  int ends() const { return ends_; }
  const std::string& said() const { return said_; }
  const std::string& received() const { return received_; }

 private:
  net::TlsStream::OnHandshake OnShaken() {
    return [this](const StatusOr<std::string>& protocol) {
      ++outcomes_;
      shaken_ = protocol.ok();
      if (!shaken_) return stream_.reset();
      stream_->SetSink(*this);
    };
  }

  std::unique_ptr<net::TlsStream> stream_;
  bool shaken_ = false;
  int outcomes_ = 0;
  int ends_ = 0;
  std::string said_;
  std::string received_;
};

// The wire, of which either side is a stream; what each wrote lies here until it is handed on.
class Wire {
 public:
  explicit Wire(FakeLoop& loop)
      : loop_(loop),
        to_us_(net::MemoryStream::Make(loop)),
        to_peer_(net::MemoryStream::Make(loop)) {
    to_us_.left->SetSink(of_us_);
    to_peer_.left->SetSink(of_peer_);
  }

  std::unique_ptr<net::ByteStream> OurEnd() { return std::move(to_us_.right); }
  std::unique_ptr<net::ByteStream> PeersEnd() { return std::move(to_peer_.right); }

  // Until neither has more to say.
  void ForwardAll() {
    do {
      to_peer_.left->Write(std::exchange(of_us_.received, ""));
      Hand(of_peer_.received.size());
    } while (!of_us_.received.empty() || !of_peer_.received.empty());
  }
  // The first bytes of what the peer wrote.
  void Hand(std::size_t size) {
    last_ = of_peer_.received.substr(0, size);
    of_peer_.received.erase(0, size);
    Say(last_);
  }
  void HandAgain() { Say(last_); }
  void Damage(std::size_t at, unsigned char by) {
    if (of_peer_.received.empty()) return;
    char& byte = of_peer_.received[at % of_peer_.received.size()];
    byte = static_cast<char>(byte ^ by);
  }
  void Drop(std::size_t size) { of_peer_.received.erase(0, size); }
  void Say(std::string_view bytes) {
    to_us_.left->Write(bytes);
    loop_.RunUntilIdle();
  }
  void Close() {
    to_us_.left.reset();
    loop_.RunUntilIdle();
  }

 private:
  FakeLoop& loop_;
  net::MemoryStream::Pair to_us_, to_peer_;
  net::RecordingByteSink of_us_, of_peer_;
  std::string last_;
};

// One thing that is done on the wire or at an end.
void Act(FakeLoop& loop, Input& input, Wire& wire, End& us, End& peer) {
  switch (input.Byte() % 10) {
    case 0:
      return wire.ForwardAll();
    case 1:
      return wire.Hand(input.Byte());
    case 2:
      return wire.HandAgain();
    case 3: {
      const std::size_t at = input.Byte();
      return wire.Damage(at, input.Byte());
    }
    case 4:
      return wire.Drop(input.Byte());
    case 5:
      return wire.Say(input.Text());
    case 6:
      peer.Write(input.Text());
      break;
    case 7:
      us.Write(input.Text());
      break;
    case 8:
      peer.Write(std::string(std::size_t{input.Byte()} * 256, 'x'));
      break;
    case 9:
      peer.Leave();
      break;
  }
  loop.RunUntilIdle();
}

}  // namespace

// The lowest bit of the first byte says which end is ours, the next whether there is a peer at all.
void FuzzTls(std::string_view bytes) {
  Input input(bytes);
  const unsigned char form = input.Byte();
  FakeLoop loop;
  End us, peer;
  Wire wire(loop);
  const bool client = (form & 1) == 0;
  const bool honest = (form & 2) == 0;
  client ? us.Connect(wire.OurEnd()) : us.Accept(wire.OurEnd());
  if (honest) client ? peer.Accept(wire.PeersEnd()) : peer.Connect(wire.PeersEnd());
  loop.RunUntilIdle();
  if (honest) {
    while (!input.empty()) Act(loop, input, wire, us, peer);
  } else {
    const std::size_t piece = std::size_t{input.Byte()} + 1;
    while (!input.empty()) wire.Say(input.Piece(piece));
  }
  wire.Close();
  GALEN_CHECK(us.outcomes() == 1 && us.ends() == (us.shaken() ? 1 : 0));
  // Nobody without the certificate's key, and nobody who did not see our hello, is a peer.
  GALEN_CHECK(honest || !us.shaken());
  GALEN_CHECK(peer.said().starts_with(us.received()) && us.said().starts_with(peer.received()));
}

}  // namespace galen::fuzz
