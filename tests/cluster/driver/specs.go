package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// specs are the files by which a container runtime learns what a device does to a container: one
// for each prepared claim. They are also the driver's memory of what is prepared.
type specs struct {
	dir    string
	driver string
}

// id names a device to the runtime. It holds the claim's UID, so that no name is ever used twice.
func (s specs) id(claim types.UID, device string) string {
	return fmt.Sprintf("%s/test=%s-%s", s.driver, claim, device)
}

func (s specs) path(claim types.UID) string {
	return filepath.Join(s.dir, s.driver+"-"+string(claim)+".json")
}

// write gives each device an environment variable. Its name must be an identifier: a shell drops
// others.
func (s specs) write(claim types.UID, names []string) error {
	type edits struct {
		Env []string `json:"env"`
	}
	type device struct {
		Name  string `json:"name"`
		Edits edits  `json:"containerEdits"`
	}
	var devices []device
	for _, name := range names {
		variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		devices = append(devices, device{string(claim) + "-" + name,
			edits{[]string{variable + "=" + string(claim)}}})
	}
	text, err := json.Marshal(map[string]any{"cdiVersion": "0.6.0", "kind": s.driver + "/test",
		"devices": devices})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	// The runtime must not see half a file; it reads names that end in .json.
	fresh := s.path(claim) + ".new"
	if err := os.WriteFile(fresh, text, 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, s.path(claim))
}

// remove is right also for a claim that was never prepared.
func (s specs) remove(claim types.UID) error {
	if err := os.Remove(s.path(claim)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
