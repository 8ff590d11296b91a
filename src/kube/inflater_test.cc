#include "kube/inflater.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace galen::kube {
namespace {

std::string Gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Varied(std::size_t size) {
  std::string text;
  while (text.size() < size) text += std::to_string(text.size() * 2654435761u);
  return text;
}

StatusOr<std::string> Unpack(Inflater& inflater, std::string_view bytes) {
  std::string whole;
  while (true) {
    ASSIGN_OR_RETURN(const std::string piece, inflater.Next(bytes));
    if (piece.empty()) return whole;
    EXPECT_LE(piece.size(), Inflater::kPieceBytesMax);
    whole += piece;
  }
}

TEST(Inflater, GivesBackWhatWasPacked) {
  for (const std::string& text : {std::string(), std::string("x"), Varied(200'000)}) {
    Inflater inflater;
    EXPECT_EQ(*Unpack(inflater, Gzip(text)), text);
    EXPECT_EQ(inflater.Finish(), OkStatus());
  }
}

TEST(Inflater, DoesNotCareWhereTheBytesAreCut) {
  const std::string text = Varied(2'000);
  const std::string packed = Gzip(text);
  for (std::size_t cut = 0; cut <= packed.size(); ++cut) {
    Inflater inflater;
    std::string out = *Unpack(inflater, std::string_view(packed).substr(0, cut));
    out += *Unpack(inflater, std::string_view(packed).substr(cut));
    ASSERT_EQ(out, text) << cut;
    ASSERT_EQ(inflater.Finish(), OkStatus()) << cut;
  }
}

TEST(Inflater, ReportsAnAnswerThatWasCutOff) {
  const std::string packed = Gzip(Varied(1'000));
  Inflater inflater;
  EXPECT_TRUE(Unpack(inflater, std::string_view(packed).substr(0, packed.size() - 1)).ok());
  EXPECT_EQ(inflater.Finish().code(), Code::kDataLoss);
}

TEST(Inflater, ReportsWhatIsNoGzip) {
  Inflater plain;
  EXPECT_EQ(Unpack(plain, "{\"kind\":\"List\"}").status().code(), Code::kDataLoss);
  std::string packed = Gzip(Varied(1'000));
  packed[packed.size() / 2] ^= 0x55;
  Inflater broken;
  EXPECT_FALSE(Unpack(broken, packed).ok());
  Inflater longer;
  EXPECT_EQ(Unpack(longer, Gzip("a") + "b").status().code(), Code::kDataLoss);
}

TEST(Inflater, StopsABombEarly) {
  const std::string bomb = Gzip(std::string(50'000'000, '\0'));
  Inflater inflater(1'000'000);
  EXPECT_EQ(Unpack(inflater, bomb).status().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace galen::kube
