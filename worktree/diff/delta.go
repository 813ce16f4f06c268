package diff

// Deltas are git's pack deltas (gitformat-pack): two sizes, then copies from the source and literal bytes.

// deltaSizes reads the source and result size that a delta announces and gives the instructions after them.
func deltaSizes(delta []byte) (source, result int64, rest []byte, ok bool) {
	if source, delta, ok = varint(delta); !ok {
		return 0, 0, nil, false
	}
	if result, delta, ok = varint(delta); !ok {
		return 0, 0, nil, false
	}
	return source, result, delta, true
}

// varint reads seven bits a byte, lowest first.
func varint(b []byte) (n int64, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 8; i++ {
		n |= int64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}

// ApplyDelta builds the result of a delta against source, or reports that the two do not fit or that the result
// is declared larger than limit bytes (0: no limit).
func ApplyDelta(source, delta []byte, limit int64) ([]byte, bool) {
	from, size, ops, ok := deltaSizes(delta)
	if !ok || from != int64(len(source)) || limit > 0 && size > limit {
		return nil, false
	}
	var out []byte
	for len(ops) > 0 {
		var chunk []byte
		op := ops[0]
		ops = ops[1:]
		switch {
		case op&0x80 != 0:
			if chunk, ops, ok = copyChunk(source, ops, op); !ok {
				return nil, false
			}
		case op == 0 || int(op) > len(ops):
			return nil, false
		default:
			chunk, ops = ops[:op], ops[op:]
		}
		if int64(len(out))+int64(len(chunk)) > size {
			return nil, false
		}
		out = append(out, chunk...)
	}
	return out, int64(len(out)) == size
}

// copyChunk reads the offset and length bytes of a copy instruction.
func copyChunk(source, ops []byte, op byte) (chunk, rest []byte, ok bool) {
	var values [7]int
	for i := range values {
		if op&(1<<i) == 0 {
			continue
		}
		if len(ops) == 0 {
			return nil, nil, false
		}
		values[i], ops = int(ops[0]), ops[1:]
	}
	offset := values[0] | values[1]<<8 | values[2]<<16 | values[3]<<24
	size := values[4] | values[5]<<8 | values[6]<<16
	if size == 0 {
		size = 0x10000
	}
	if offset+size > len(source) {
		return nil, nil, false
	}
	return source[offset : offset+size], ops, true
}
