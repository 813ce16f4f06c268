package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // git's pack format is sealed with SHA-1
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"math"
	"path/filepath"
)

// WritePack puts objects into the repository's store, durably and at once: one pack with its index (gitformat-pack,
// version 2, no deltas), written under temporary names, synced and renamed. Objects that the repository already has are
// left out; the same objects give the same pack, which then is there already. Nothing refers to them yet: create a
// reference before git's garbage collection would take them (two weeks, unless configured otherwise).
func (r *Repo) WritePack(ctx context.Context, objects []Object) error {
	missing, err := r.missingObjects(ctx, objects)
	if err != nil || len(missing) == 0 {
		return err
	}
	p, err := buildPack(missing, true)
	if err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	if err := p.write(filepath.Join(r.objectDir, "pack"), true); err != nil {
		return fmt.Errorf("write pack: %w", err)
	}
	return nil
}

// missingObjects drops doubles and what the repository has. A loose object that is kept gets a new age, as when git
// writes it again, so that a collection under way spares it.
func (r *Repo) missingObjects(ctx context.Context, objects []Object) ([]Object, error) {
	var missing []Object
	seen := map[OID]bool{}
	for _, object := range objects {
		if seen[object.OID] {
			continue
		}
		seen[object.OID] = true
		has, err := r.Has(ctx, object.OID)
		if err != nil {
			return nil, fmt.Errorf("write pack: %w", err)
		}
		if !has {
			missing = append(missing, object)
			continue
		}
		refresh(filepath.Join(r.objectDir, string(object.OID[:2]), string(object.OID[2:])))
	}
	sortObjects(missing)
	return missing, nil
}

// pack is a pack and its index in memory.
type pack struct {
	name       string
	data, idx  []byte
	ids        [][sha1.Size]byte
	checksums  []uint32
	offsets    []uint32
	compressor *zlib.Writer // nil: objects are stored as they are
}

// buildPack wants objects sorted by id and without doubles. A pack that is read once and thrown away is not worth compressing.
func buildPack(objects []Object, compress bool) (*pack, error) {
	p := &pack{}
	if compress {
		p.compressor = zlib.NewWriter(nil)
	}
	var b bytes.Buffer
	b.WriteString("PACK")
	writeUint32s(&b, 2, uint32(len(objects))) //nolint:gosec // far fewer than 2^32 objects fit into memory
	for _, object := range objects {
		if err := p.add(&b, object); err != nil {
			return nil, err
		}
	}
	sum := sha1.Sum(b.Bytes()) //nolint:gosec // git's pack format
	b.Write(sum[:])
	p.data, p.name = b.Bytes(), "pack-"+hex.EncodeToString(sum[:])
	p.buildIndex(sum)
	return p, nil
}

func (p *pack) add(b *bytes.Buffer, object Object) error {
	id, err := object.OID.raw()
	if err != nil {
		return err
	}
	if id != hashObject(object.Type, object.Data) {
		return &MalformedError{OID: object.OID, Type: object.Type, Why: "the content does not hash to the id"}
	}
	start := b.Len()
	if start > math.MaxInt32 {
		return fmt.Errorf("%d bytes are too many for one pack", start)
	}
	header, err := packHeader(object)
	if err != nil {
		return err
	}
	b.Write(header)
	if err := p.deflate(b, object.Data); err != nil {
		return err
	}
	p.ids = append(p.ids, id)
	p.offsets = append(p.offsets, uint32(start)) //nolint:gosec // bounded above
	p.checksums = append(p.checksums, crc32.ChecksumIEEE(b.Bytes()[start:]))
	return nil
}

// deflate writes data as a zlib stream (RFC 1950).
func (p *pack) deflate(b *bytes.Buffer, data []byte) error {
	if p.compressor == nil {
		writeStored(b, data)
		return nil
	}
	p.compressor.Reset(b)
	if _, err := p.compressor.Write(data); err != nil {
		return err
	}
	return p.compressor.Close()
}

// writeStored writes data as a zlib stream of stored blocks (RFC 1951, 3.2.4): no window, no tables, no time.
func writeStored(b *bytes.Buffer, data []byte) {
	b.Write([]byte{0x78, 0x01})
	sum := adler32.Checksum(data)
	for last := false; !last; {
		n := min(len(data), math.MaxUint16)
		last = n == len(data)
		final := byte(0)
		if last {
			final = 1
		}
		size := uint16(n) //nolint:gosec // bounded above
		b.WriteByte(final)
		b.Write(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, size), ^size))
		b.Write(data[:n])
		data = data[n:]
	}
	writeUint32s(b, sum)
}

// packHeader is the type and size of an undeltified entry, in groups of four and then seven bits, least first.
func packHeader(object Object) ([]byte, error) {
	types := map[ObjectType]byte{TypeCommit: 1, TypeTree: 2, TypeBlob: 3, TypeTag: 4}
	kind, ok := types[object.Type]
	if !ok {
		return nil, &MalformedError{OID: object.OID, Type: object.Type, Why: "unknown type"}
	}
	size := uint64(len(object.Data))
	header := []byte{kind<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		header[len(header)-1] |= 0x80
		header = append(header, byte(size&0x7f))
	}
	return header, nil
}

func (p *pack) buildIndex(packSum [sha1.Size]byte) {
	var b bytes.Buffer
	b.WriteString("\xfftOc")
	writeUint32s(&b, 2)
	var fanout [256]uint32
	for _, id := range p.ids {
		fanout[id[0]]++
	}
	for i := 1; i < len(fanout); i++ {
		fanout[i] += fanout[i-1]
	}
	writeUint32s(&b, fanout[:]...)
	for _, id := range p.ids {
		b.Write(id[:])
	}
	writeUint32s(&b, p.checksums...)
	writeUint32s(&b, p.offsets...)
	b.Write(packSum[:])
	sum := sha1.Sum(b.Bytes()) //nolint:gosec // git's index format
	b.Write(sum[:])
	p.idx = b.Bytes()
}

func writeUint32s(b *bytes.Buffer, values ...uint32) {
	b.Write(appendUint32s(b.AvailableBuffer(), values...))
}

func appendUint32s(b []byte, values ...uint32) []byte {
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}
