package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Images of a machine that can pull none: made here, in the OCI layout, each one layer with one
// static program. A Pod names them and says `imagePullPolicy: Never`.
const (
	busyboxImage = "localhost/busybox:1"
	pauseImage   = "localhost/pause:1"
)

type ociImage struct {
	name    string
	command []string
	files   []ociFile
}

type ociFile struct {
	name   string
	text   []byte // of a file
	target string // of a link
	mode   int64
}

// writeImages makes an archive with the two images that every node has.
func (c *cluster) writeImages(path string) error {
	busybox, err := os.ReadFile(busyboxProgram)
	if err != nil {
		return err
	}
	pause, err := os.ReadFile(c.state.Programs["pause"])
	if err != nil {
		return err
	}
	shell := []ociFile{
		{name: "bin/busybox", text: busybox, mode: 0o755},
		{name: "etc/passwd", text: []byte("root:x:0:0:root:/:/bin/sh\n"), mode: 0o644},
		{name: "etc/group", text: []byte("root:x:0:\n"), mode: 0o644},
	}
	applets, err := exec.Command(busyboxProgram, "--list").Output()
	if err != nil {
		return fmt.Errorf("ask busybox what it can: %w", err)
	}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			shell = append(shell, ociFile{name: "bin/" + applet, target: "busybox", mode: 0o777})
		}
	}
	return writeArchive(path, []ociImage{
		{busyboxImage, []string{"/bin/sh"}, shell},
		{pauseImage, []string{"/pause"}, []ociFile{{name: "pause", text: pause, mode: 0o755}}},
	})
}

// blobs is an OCI layout in the making: contents by digest.
type blobs map[string][]byte

// A descriptor says what a blob is.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

const ociType = "application/vnd.oci.image."

func (b blobs) add(kind string, content any) (descriptor, error) {
	text, raw := content.([]byte)
	if !raw {
		var err error
		if text, err = json.Marshal(content); err != nil {
			return descriptor{}, err
		}
	}
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:])
	b[digest] = text
	return descriptor{MediaType: ociType + kind, Digest: "sha256:" + digest, Size: len(text)}, nil
}

func (b blobs) addImage(image ociImage) (descriptor, error) {
	layer, err := layerOf(image.files)
	if err != nil {
		return descriptor{}, err
	}
	content, err := b.add("layer.v1.tar", layer)
	if err != nil {
		return descriptor{}, err
	}
	config, err := b.add("config.v1+json", map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Cmd": image.command, "Env": []string{"PATH=/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{content.Digest}},
	})
	if err != nil {
		return descriptor{}, err
	}
	manifest, err := b.add("manifest.v1+json", map[string]any{
		"schemaVersion": 2, "mediaType": ociType + "manifest.v1+json",
		"config": config, "layers": []descriptor{content},
	})
	manifest.Annotations = map[string]string{"io.containerd.image.name": image.name}
	return manifest, err
}

func writeArchive(path string, images []ociImage) error {
	content := blobs{}
	var manifests []descriptor
	for _, image := range images {
		manifest, err := content.addImage(image)
		if err != nil {
			return fmt.Errorf("make image %s: %w", image.name, err)
		}
		manifests = append(manifests, manifest)
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2,
		"mediaType": ociType + "index.v1+json", "manifests": manifests})
	if err != nil {
		return err
	}
	files := []ociFile{
		{name: "oci-layout", text: []byte(`{"imageLayoutVersion":"1.0.0"}`), mode: 0o644},
		{name: "index.json", text: index, mode: 0o644},
	}
	for digest, text := range content {
		files = append(files, ociFile{name: "blobs/sha256/" + digest, text: text, mode: 0o644})
	}
	archive, err := layerOf(files)
	if err != nil {
		return err
	}
	return os.WriteFile(path, archive, 0o600)
}

// layerOf is a tar of the files, with the directories they lie in, the same for the same files.
func layerOf(files []ociFile) ([]byte, error) {
	var text bytes.Buffer
	out := tar.NewWriter(&text)
	made := map[string]bool{".": true}
	for _, file := range files {
		if dir := filepath.Dir(file.name); !made[dir] {
			made[dir] = true
			header := &tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o755}
			if err := out.WriteHeader(header); err != nil {
				return nil, err
			}
		}
		header := &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.text))}
		if file.target != "" {
			header.Typeflag, header.Linkname = tar.TypeSymlink, file.target
		}
		if err := out.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := io.Copy(out, bytes.NewReader(file.text)); err != nil {
			return nil, err
		}
	}
	err := out.Close()
	return text.Bytes(), err
}

// importImages gives an archive's images to one node.
func (c *cluster) importImages(ctx context.Context, node, archive string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, self, "_enter", c.dir, node, "/", "--",
		c.state.Programs["ctr"], "--address", c.path(node, "containerd.sock"),
		"--namespace", "k8s.io", "images", "import", archive)
	command.Env = c.environment(node)
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("import %s on %s: %w: %s", archive, node, err,
			strings.TrimSpace(string(said)))
	}
	return nil
}

// image is the verb: an archive of a person's own, on every node.
func image(ctx context.Context, args []string) error {
	line := newCommandLine("image")
	c, words, err := line.parse(args)
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return usageFault("image needs one file: ./dev cluster image FILE.tar")
	}
	if err := c.mustRun(); err != nil {
		return err
	}
	archive, err := filepath.Abs(words[0])
	if err != nil {
		return err
	}
	if _, err := os.Stat(archive); err != nil {
		return err
	}
	var imports []func() error
	for _, node := range c.nodes() {
		imports = append(imports, func() error { return c.importImages(ctx, node, archive) })
	}
	return together(imports...)
}
