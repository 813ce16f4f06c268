#include <vector>
#include "buffer.h"

using namespace std;
using Bytes = vector<char>;

namespace io {

/// Holds bytes.
template <typename T>
class Buffer : public Base, private Counted {
 public:
  explicit Buffer(int size) : size_(size) {}
  ~Buffer();

  virtual int read(T* into, int count = 1) const override {
    return this->size_ + count;
  }

  Buffer& operator+=(const Buffer& other);

 private:
  int size_;
};

enum class Mode { Read, Write };

int total = 0;

}  // namespace io

int io::Reader::next(int skip) {
  io::log(skip);
  return buffer_.read(nullptr, skip);
}

template <class T>
T twice(T value) {
  return value * 2;
}
