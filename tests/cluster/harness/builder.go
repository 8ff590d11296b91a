package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A builder makes a module's programs once and keeps them, by the hash of what went in.
type builder struct {
	module module
	from   string // the module's directory
	into   string // where its programs are when they are done
	output *progress
}

// buildModules gives the paths of all programs of the modules, building those that are not there.
func buildModules(ctx context.Context, output *progress, wanted []module) (map[string]string,
	error) {
	sources, err := sourceDirectory()
	if err != nil {
		return nil, err
	}
	cache, err := cacheDirectory()
	if err != nil {
		return nil, err
	}
	programs := map[string]string{}
	for _, m := range wanted {
		hash, err := m.hash(sources)
		if err != nil {
			return nil, fmt.Errorf("read module %s: %w", m.name, err)
		}
		b := builder{m, filepath.Join(sources, m.dir), filepath.Join(cache, hash), output}
		if err := b.ensure(ctx); err != nil {
			return nil, err
		}
		for program := range m.programs {
			programs[program] = filepath.Join(b.into, program)
		}
	}
	return programs, nil
}

// buildSpaceMiB: Go's build cache of all modules is 3.8 GB, the programs are 0.4 GB.
const buildSpaceMiB = 5 << 10

func (b builder) ensure(ctx context.Context) error {
	if _, err := os.Stat(b.into); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(b.into), 0o755); err != nil {
		return fmt.Errorf("make a place for programs: %w", err)
	}
	if free := freeMiB(filepath.Dir(b.into)); free < buildSpaceMiB {
		return fmt.Errorf("building %s needs about %d MiB, and the disk of %s has %d MiB left",
			b.module.name, buildSpaceMiB, filepath.Dir(b.into), free)
	}
	release, err := b.onlyOne()
	if err != nil {
		return err
	}
	defer release()
	if _, err := os.Stat(b.into); err == nil {
		return nil // somebody else built it while we waited
	}
	return b.build(ctx)
}

// onlyOne makes two builds of the same thing take turns, since the second then has nothing to do.
// The lock's file stays: who waits has it open, and would hold nothing if a third made a new one.
func (b builder) onlyOne() (release func(), err error) {
	file, err := os.OpenFile(b.into+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		b.output.say("%s: waiting for another build of the same", b.module.name)
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
			return nil, err
		}
	}
	return func() { file.Close() }, nil
}

// build makes the programs beside their place and moves them there when all are done.
func (b builder) build(ctx context.Context) error {
	start := time.Now()
	unfinished := b.into + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	usually := ""
	if b.module.usually != "" {
		usually = "; usually about " + b.module.usually + " on two cores, once"
	}
	b.output.say("%s: building%s", b.module.name, usually)
	total, err := b.count(ctx)
	if err != nil {
		return err
	}
	done := 0
	for program, source := range b.module.programs {
		args := append(b.arguments("build"), "-v", "-trimpath", "-ldflags", "-s -w "+b.module.ldflags,
			"-o", filepath.Join(unfinished, program), source)
		if err := b.run(ctx, args, func(string) {
			done++
			if done%100 == 0 {
				b.output.pass("%s: %d of at most %d packages compiled", b.module.name, done, total)
			}
		}); err != nil {
			return err
		}
	}
	b.output.say("%s: built in %.0f s", b.module.name, time.Since(start).Seconds())
	return os.Rename(unfinished, b.into)
}

func (b builder) arguments(verb string) []string {
	args := []string{"-n", "10", "go", verb, "-buildvcs=false", "-tags", b.module.tags}
	if b.module.modFile != "" {
		args = append(args, "-modfile", b.module.modFile)
	}
	if verb == "build" {
		args = append(args, "-p", fmt.Sprint(max(1, runtime.NumCPU())))
	}
	return args
}

// count fetches the modules and says how many packages there are to compile.
func (b builder) count(ctx context.Context) (packages int, err error) {
	args := append(b.arguments("list"), "-deps")
	for _, source := range b.module.programs {
		args = append(args, source)
	}
	err = b.run(ctx, args, func(line string) {
		if strings.HasPrefix(line, "go: downloading") {
			b.output.pass("%s: %s", b.module.name, strings.TrimPrefix(line, "go: "))
		} else {
			packages++
		}
	})
	return packages, err
}

// run runs the go command at a low priority: a person's own work goes first. Each line that it
// says is given to hear; when it fails, the last ones are the error.
func (b builder) run(ctx context.Context, args []string, hear func(line string)) error {
	command := exec.CommandContext(ctx, "nice", args...)
	command.Dir = b.from
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if os.Getenv("GOGC") == "" {
		// Memory for time: the compiler needs a third less of it when it collects garbage seldom.
		command.Env = append(command.Env, "GOGC=400")
	}
	reader, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, writer
	last := make(chan []string)
	go func() {
		var lines []string
		eachLine(reader, func(line string) {
			hear(line)
			if lines = append(lines, line); len(lines) > 12 {
				lines = lines[1:]
			}
		})
		last <- lines
	}()
	err := command.Run()
	writer.Close()
	if lines := <-last; err != nil {
		return fmt.Errorf("build %s: %w\n  %s", b.module.name, err, strings.Join(lines, "\n  "))
	}
	return nil
}

// lineMax: what is longer, such as a linker's command, is cut.
const lineMax = 4 << 10

// eachLine reads every line to the end, whatever its length: who wrote it would wait for a reader
// that gave up.
func eachLine(from io.Reader, hear func(line string)) {
	reader := bufio.NewReaderSize(from, lineMax)
	for {
		line, longer, err := reader.ReadLine()
		if err != nil {
			return
		}
		hear(string(line))
		for longer && err == nil {
			_, longer, err = reader.ReadLine()
		}
	}
}

// freeMiB is how much the disk that holds the path can still take.
func freeMiB(path string) int {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return 0
	}
	return int(stat.Bavail * uint64(stat.Bsize) >> 20)
}
