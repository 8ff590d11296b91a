package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
)

func TestALayerIsTheSameForTheSameFilesAndHasTheirDirectories(t *testing.T) {
	files := []ociFile{
		{name: "bin/busybox", text: []byte("program"), mode: 0o755},
		{name: "bin/sh", target: "busybox", mode: 0o777},
	}
	one, err := layerOf(files)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := layerOf(files)
	if !bytes.Equal(one, again) {
		t.Error("two layers of the same files differ")
	}
	var names []string
	for reader := tar.NewReader(bytes.NewReader(one)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
	if want := []string{"bin/", "bin/busybox", "bin/sh"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

func TestABlobIsKeptByItsDigest(t *testing.T) {
	b := blobs{}
	d, err := b.add("config.v1+json", map[string]string{"os": "linux"})
	if err != nil {
		t.Fatal(err)
	}
	text, ok := b[d.Digest[len("sha256:"):]]
	if !ok || d.Size != len(text) {
		t.Fatalf("%+v %q", d, text)
	}
}
