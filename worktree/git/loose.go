package git

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxResultBytes bounds what one merge may hand back.
const maxResultBytes = 1 << 30

// readLooseDir reads every loose object of an object directory into memory, sorted by id.
func readLooseDir(dir string) ([]Object, error) {
	files, err := filepath.Glob(filepath.Join(globQuote(dir), "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return nil, fmt.Errorf("read new objects: %w", err)
	}
	var objects []Object
	room := int64(maxResultBytes)
	for _, file := range files {
		id := OID(filepath.Base(filepath.Dir(file)) + filepath.Base(file))
		if !id.Valid() {
			continue
		}
		object, err := readLoose(file, id, room)
		if err != nil {
			return nil, fmt.Errorf("read new object %s: %w", id, err)
		}
		room -= int64(len(object.Data))
		objects = append(objects, object)
	}
	sortObjects(objects)
	return objects, nil
}

func readLoose(path string, id OID, limit int64) (object Object, err error) {
	file, err := os.Open(path) //nolint:gosec // a file below our own directory
	if err != nil {
		return Object{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	inflated, err := zlib.NewReader(file)
	if err != nil {
		return Object{}, err
	}
	reader := bufio.NewReader(inflated)
	header, err := reader.ReadString(0)
	if err != nil {
		return Object{}, err
	}
	kind, length, _ := strings.Cut(strings.TrimSuffix(header, "\x00"), " ")
	size, err := strconv.ParseInt(length, 10, 64)
	if err != nil {
		return Object{}, err
	}
	if size > limit {
		return Object{}, &LimitError{OID: id, Size: size, Limit: limit}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(reader, data); err != nil {
		return Object{}, err
	}
	return Object{OID: id, Type: ObjectType(kind), Data: data}, nil
}
