package git

import (
	"crypto/sha1" //nolint:gosec // git's index format is sealed with SHA-1
	"encoding/binary"
)

// IndexStat is what an index keeps of a file, so that git need not read it again. Times are in nanoseconds.
type IndexStat struct {
	Ctime, Mtime             int64
	Dev, Ino, UID, GID, Size uint32
}

// IndexEntry is one file of an index.
type IndexEntry struct {
	PathEntry
	Stat IndexStat
}

// EncodeIndex is an index file of version 2 (gitformat-index). Entries must be sorted by path bytewise.
func EncodeIndex(entries []IndexEntry) ([]byte, error) {
	size := 32
	for _, e := range entries {
		size += 72 + len(e.Path)
	}
	b := make([]byte, 0, size)
	b = append(b, "DIRC"...)
	b = appendUint32s(b, 2, uint32(len(entries))) //nolint:gosec // far fewer than 2^32 files fit into memory
	for _, e := range entries {
		var err error
		if b, err = appendIndexEntry(b, e); err != nil {
			return nil, err
		}
	}
	sum := sha1.Sum(b) //nolint:gosec // git's index format
	return append(b, sum[:]...), nil
}

func appendIndexEntry(b []byte, e IndexEntry) ([]byte, error) {
	id, err := e.OID.raw()
	if err != nil {
		return nil, err
	}
	const second = 1_000_000_000
	start := len(b)
	for _, time := range []int64{e.Stat.Ctime, e.Stat.Mtime} {
		b = appendUint32s(b, uint32(time/second), uint32(time%second)) //nolint:gosec // the format keeps 32 bits of each
	}
	b = appendUint32s(b, e.Stat.Dev, e.Stat.Ino, uint32(e.Mode), e.Stat.UID, e.Stat.GID, e.Stat.Size)
	b = append(b, id[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(min(len(e.Path), 0xfff))) //nolint:gosec // bounded here
	b = append(b, e.Path...)
	padding := 8 - (len(b)-start)%8
	return append(b, make([]byte, padding)...), nil
}
