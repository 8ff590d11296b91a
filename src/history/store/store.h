// What happened and how each device is, kept over restarts: a journal on disk, the latest health of
// every device and the last records in memory. Belongs to one loop.
// Answers come from memory and are the same after a restart, with the original times, for all
// that Sync has answered OK for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "history/journal/journal_writer.h"
#include "history/store/record.h"

namespace galen::history {

// Lines in the order in which they came, of which the oldest go first. They lie one behind the
// other in large pieces of memory, each given back as a whole: many thousands of short lines, all
// of another length, cost their bytes and leave no holes behind. Pure.
class LineWindow {
 public:
  // One record as text, with its number.
  struct Line {
    std::uint64_t sequence = 0;
    std::string_view text;  // holds until it is popped
  };

  void Push(std::uint64_t sequence, std::string_view text);
  // REQUIRES: not empty.
  Line front() const { return At(pieces_.front(), pieces_.front().begin); }
  void PopFront();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // Limit of all texts together.
  std::size_t bytes() const { return bytes_; }

  // Oldest first. `visit` takes a Line.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Piece& piece : pieces_) {
      for (std::size_t at = piece.begin; at < piece.end;) {
        const Line line = At(piece, at);
        visit(line);
        at += sizeof(Head) + line.text.size();
      }
    }
  }

 private:
  // The header before each text.
  struct Head {
    std::uint64_t sequence;
    std::uint64_t size;
  };
  struct Piece {
    std::unique_ptr<char[]> memory;
    std::size_t capacity = 0, begin = 0, end = 0;
  };
  // So large that the C library takes and gives back each by itself, and that of what is taken only
  // what was written is resident.
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

  static Line At(const Piece& piece, std::size_t at) {
    Head head;
    std::memcpy(&head, piece.memory.get() + at, sizeof(head));
    return {head.sequence, {piece.memory.get() + at + sizeof(head), head.size}};
  }

  std::deque<Piece> pieces_;  // none is empty
  std::size_t size_ = 0, bytes_ = 0;
};

// The memory of a process about its devices. Records are kept as lines and decoded at each
// query: queries are rare, and a node may have thousands of devices.
class Store {
 public:
  // Devices whose latest health is kept; past it the one that changed longest ago is forgotten.
  // Four drivers of the most devices that one may have (4096).
  static constexpr std::size_t kDevicesMax = 16384;

  // Where records are kept, and how many.
  struct Options {
    // The journal's; made when it is missing. One process at a time.
    std::string directory;
    // The window of recent records; the oldest go first, whichever of the two bounds is reached.
    // The latest change of a device outlives it. Bytes are those of the encoded lines.
    std::size_t records_max = 20'000;
    std::size_t bytes_max = std::size_t{8} << 20;
    // The journal is rewritten when it has grown past this, and past twice what it must hold.
    std::size_t journal_bytes_max = std::size_t{16} << 20;
    // As JournalWriter's.
    DiskQueue* disk = nullptr;
  };

  // Reads everything that is on disk. A broken segment and a line that cannot be read are no
  // errors: they are left out and notes() says so. Errors are those of Journal::Open. `files` is
  // lent and outlives the store.
  static StatusOr<std::unique_ptr<Store>> Open(FileSystem& files, Options options);
  Store(const Store&) = delete;

  // Writes down what happened, in memory at once and on disk with the next Sync. Bounds the record,
  // gives it its number and returns that. Never refuses: what the journal has no room for is in the
  // next rewrite, if the window still holds it. A kChange becomes the device's latest health, a
  // kForgotten takes it away.
  std::uint64_t Append(Record record);
  // As JournalWriter's: one write for all that was appended, or a rewrite when the journal has
  // grown too far. Queries answer from memory, whatever the disk does.
  void Sync(JournalWriter::Done done) { writer_->Sync(std::move(done)); }

  // The health after the last change of every device that ever changed and was not forgotten.
  std::map<DeviceId, DeviceHealth> Latest() const;
  // The last known health of devices that are Unknown now and were not before.
  std::map<DeviceId, DeviceHealth> BeforeSilence() const;
  // Oldest first, as far back as the window goes.
  std::vector<Record> OfDevice(const DeviceId& id) const;
  // Records that name the Pod, and all others of the incidents it was part of, save those about
  // other Pods. Oldest first. By PodRef: that very Pod; by name: every Pod that had it.
  std::vector<Record> OfPod(const PodRef& pod) const;
  std::vector<Record> OfPod(const ObjectKey& pod) const;
  // Records after the one of this number; 0 for all.
  std::vector<Record> Since(std::uint64_t sequence) const;

  // Notes for the log on what was found broken when the store was opened.
  const std::vector<std::string>& notes() const { return notes_; }
  // Whether something that was written before was lost.
  bool lossy() const { return lossy_; }
  const JournalWriter& journal() const { return *writer_; }

 private:
  // Kept as written: a quarter of what a Record takes, and few are ever asked for.
  struct Kept {
    std::uint64_t sequence = 0;
    std::string line;
  };
  // The last change of a device, and the one that began its silence, which another cause may have
  // by now: the driver that was silent is gone.
  struct Newest {
    Kept change;
    bool begins_silence = false;
    std::unique_ptr<Kept> silence;  // null: `change` began it, or there is none
  };

  explicit Store(Options options) : options_(std::move(options)) {}

  void Replay(const std::vector<std::string>& lines);
  void Apply(const Record& record, std::string line);
  void NoteChange(const Record& record, const std::string& line);
  void ForgetOldestDevice();
  // Everything that is kept, as written.
  std::vector<std::string> Lines() const;
  // The records whose line holds `text` as JSON writes it and that `matches` takes.
  template <typename Matches>
  std::vector<Record> Find(std::string_view text, Matches matches) const;
  template <typename Matches>
  std::vector<Record> OfPodThat(const ObjectKey& key, Matches matches) const;

  const Options options_;
  std::unique_ptr<JournalWriter> writer_;
  std::vector<std::string> notes_;
  bool lossy_ = false;
  std::uint64_t last_sequence_ = 0;
  std::map<DeviceId, Newest> latest_;
  LineWindow window_;
};

}  // namespace galen::history
