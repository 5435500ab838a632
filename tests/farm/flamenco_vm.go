// Compiles jobs as Flamenco Manager does: a job type runs in goja, with the globals that Flamenco gives it.
//
//	flamenco_vm supple-bake.js <jobs.json >compiled.json
//
// It reads a list of jobs as the Manager's API takes them, and prints {"jobType": ..., "jobs": [...]}: for each job its
// tasks, or the error that its submitter would read.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/ioutil"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// Job, Task and Command have the fields and methods that scripts see, with a lower-case first letter.
type Job struct {
	JobID, Name, JobType string
	Priority             int
	Created              time.Time
	Settings             map[string]interface{}
	Metadata             map[string]string
	Tasks                []Task
}

type Task struct {
	UUID, Name, Type string
	Priority         int
	Commands         []Command
	Dependencies     []*Task
}

type Command struct {
	Name           string
	Parameters     map[string]interface{}
	TotalStepCount int
}

// AddTask keeps a copy, as Flamenco's does: what is added to the task later is lost.
func (job *Job) AddTask(task *Task)            { job.Tasks = append(job.Tasks, *task) }
func (task *Task) AddCommand(command *Command) { task.Commands = append(task.Commands, *command) }
func (task *Task) AddDependency(other *Task) error {
	task.Dependencies = append(task.Dependencies, other)
	return nil
}

var taskCount = 0

func newTask(name, kind string) (*Task, error) {
	if strings.TrimSpace(name) == "" || strings.TrimSpace(kind) == "" {
		return nil, errors.New("author.Task(name, type): both are required")
	}
	taskCount++
	return &Task{UUID: strconv.Itoa(taskCount), Name: strings.TrimSpace(name), Type: strings.TrimSpace(kind), Priority: 50}, nil
}

func newCommand(name string, parameters map[string]interface{}, steps int) (*Command, error) {
	return &Command{name, parameters, steps}, nil
}

// Uncapped gives each field and method its name with a lower-case first letter, as goja.UncapFieldNameMapper.
type Uncapped struct{}

func uncap(name string) string                                              { return strings.ToLower(name[:1]) + name[1:] }
func (Uncapped) FieldName(_ reflect.Type, field reflect.StructField) string { return uncap(field.Name) }
func (Uncapped) MethodName(_ reflect.Type, method reflect.Method) string    { return uncap(method.Name) }

// callable lets scripts call a Go function with too few or too many arguments, as today's goja does; the one of Debian
// demands the exact count.
func callable(vm *goja.Runtime, function interface{}) func(goja.FunctionCall) goja.Value {
	value := reflect.ValueOf(function)
	kind := value.Type()
	return func(call goja.FunctionCall) goja.Value {
		var words []reflect.Value
		for i := 0; i < kind.NumIn() || (kind.IsVariadic() && i < len(call.Arguments)); i++ {
			wanted := kind.In(min(i, kind.NumIn()-1))
			if kind.IsVariadic() && i >= kind.NumIn()-1 {
				wanted = wanted.Elem()
			}
			word := reflect.New(wanted)
			if i < len(call.Arguments) {
				if err := vm.ExportTo(call.Arguments[i], word.Interface()); err != nil {
					panic(vm.NewTypeError(err.Error()))
				}
			} else if kind.IsVariadic() {
				break
			}
			words = append(words, word.Elem())
		}
		results := value.Call(words)
		if len(results) == 2 && !results[1].IsNil() {
			panic(vm.NewGoError(results[1].Interface().(error)))
		}
		return vm.ToValue(results[0].Interface())
	}
}

func toSlash(name string) string { return strings.Replace(name, "\\", "/", -1) }

func dirname(name string) string {
	folder, _ := path.Split(toSlash(name))
	if folder == "" {
		return "."
	}
	if len(folder) > 1 {
		return strings.TrimSuffix(folder, "/")
	}
	return folder
}

func stem(name string) string {
	base := path.Base(toSlash(name))
	return strings.TrimSuffix(base, path.Ext(base))
}

// explode lists the frames of "1-10,20..25,40" in order, each once.
func explode(text string) ([]int, error) {
	found := map[int]bool{}
	for _, part := range strings.Split(strings.Replace(text, "..", "-", -1), ",") {
		ends := strings.Split(part, "-")
		first, err := strconv.Atoi(strings.TrimSpace(ends[0]))
		last, err2 := strconv.Atoi(strings.TrimSpace(ends[len(ends)-1]))
		if err != nil || err2 != nil || len(ends) > 2 {
			return nil, fmt.Errorf("invalid range %q: %s", text, part)
		}
		for frame := first; frame <= last; frame++ {
			found[frame] = true
		}
	}
	frames := make([]int, 0, len(found))
	for frame := range found {
		frames = append(frames, frame)
	}
	sort.Ints(frames)
	return frames, nil
}

func frameCount(text string) (int, error) {
	frames, err := explode(text)
	return len(frames), err
}

func frameChunker(text string, size int) ([]string, error) {
	frames, err := explode(text)
	if err != nil || len(frames) == 0 || size < 1 {
		return nil, fmt.Errorf("invalid range %q or chunk size %d: %v", text, size, err)
	}
	var chunks []string
	for start := 0; start < len(frames); start += size {
		chunks = append(chunks, merge(frames[start:min(start+size, len(frames))]))
	}
	return chunks, nil
}

func merge(frames []int) string {
	var ranges []string
	for start := 0; start < len(frames); {
		end := start
		for end+1 < len(frames) && frames[end+1] == frames[end]+1 {
			end++
		}
		switch end - start {
		case 0:
			ranges = append(ranges, strconv.Itoa(frames[start]))
		case 1:
			ranges = append(ranges, strconv.Itoa(frames[start]), strconv.Itoa(frames[end]))
		default:
			ranges = append(ranges, fmt.Sprintf("%d-%d", frames[start], frames[end]))
		}
		start = end + 1
	}
	return strings.Join(ranges, ",")
}

// shellSplit splits words as a shell does: quotes and backslashes, but no variables.
func shellSplit(text string) ([]string, error) {
	words, word, quote, started := []string{}, "", rune(0), false
	escaped := false
	for _, sign := range text {
		switch {
		case escaped:
			word, escaped = word+string(sign), false
		case sign == '\\' && quote != '\'':
			escaped, started = true, true
		case quote != 0 && sign == quote:
			quote = 0
		case quote == 0 && (sign == '"' || sign == '\''):
			quote, started = sign, true
		case quote == 0 && strings.ContainsRune(" \t\r\n", sign):
			if started {
				words, word, started = append(words, word), "", false
			}
		default:
			word, started = word+string(sign), true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("EOF found when expecting closing quote")
	}
	if started {
		words = append(words, word)
	}
	return words, nil
}

func newVM(program *goja.Program) *goja.Runtime {
	vm := goja.New()
	vm.SetFieldNameMapper(Uncapped{})
	module := func(members map[string]interface{}) *goja.Object {
		object := vm.NewObject()
		for name, member := range members {
			if reflect.TypeOf(member).Kind() == reflect.Func {
				member = callable(vm, member)
			}
			object.Set(name, member)
		}
		return object
	}
	say := func(name string) func(goja.FunctionCall) goja.Value {
		return func(call goja.FunctionCall) goja.Value {
			fmt.Fprintln(os.Stderr, name, call.Arguments)
			return goja.Undefined()
		}
	}
	vm.Set("print", say("print"))
	vm.Set("alert", say("alert"))
	vm.Set("frameChunker", callable(vm, frameChunker))
	vm.Set("frameCount", callable(vm, frameCount))
	vm.Set("shellSplit", callable(vm, shellSplit))
	vm.Set("formatTimestampLocal", callable(vm, func(moment time.Time) string {
		return moment.Local().Format("2006-01-02_150405")
	}))
	vm.Set("author", module(map[string]interface{}{"Task": newTask, "Command": newCommand}))
	vm.Set("path", module(map[string]interface{}{
		"basename": func(name string) string { return path.Base(toSlash(name)) },
		"dirname":  dirname,
		"join":     func(parts ...string) string { return toSlash(path.Join(parts...)) },
		"stem":     stem,
	}))
	vm.Set("process", module(map[string]interface{}{"cwd": os.Getwd, "platform": runtime.GOOS}))
	if _, err := vm.RunProgram(program); err != nil {
		fail(err)
	}
	return vm
}

func compile(program *goja.Program, job *Job) (interface{}, error) {
	vm := newVM(program)
	function, ok := goja.AssertFunction(vm.Get("compileJob"))
	if !ok {
		fail(errors.New("the script has no compileJob"))
	}
	if _, err := function(nil, vm.ToValue(job)); err != nil {
		return nil, err
	}
	added := map[string]bool{}
	tasks := []interface{}{}
	for _, task := range job.Tasks {
		names := []string{}
		for _, other := range task.Dependencies {
			if !added[other.UUID] {
				return nil, fmt.Errorf("%s depends on %s, which the job has not, or not yet", task.Name, other.Name)
			}
			names = append(names, other.Name)
		}
		added[task.UUID] = true
		tasks = append(tasks, map[string]interface{}{
			"name": task.Name, "type": task.Type, "commands": describe(task.Commands), "dependencies": names,
		})
	}
	return tasks, nil
}

func describe(commands []Command) []interface{} {
	described := []interface{}{}
	for _, command := range commands {
		described = append(described, map[string]interface{}{
			"name": command.Name, "parameters": command.Parameters, "steps": command.TotalStepCount,
		})
	}
	return described
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func main() {
	script := os.Args[1]
	source, err := ioutil.ReadFile(script)
	if err != nil {
		fail(err)
	}
	program, err := goja.Compile(filepath.Base(script), string(source), true)
	if err != nil {
		fail(err)
	}
	var submitted []struct {
		Name, Type string
		Priority   int
		Settings   map[string]interface{}
		Metadata   map[string]string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&submitted); err != nil {
		fail(err)
	}
	results := []interface{}{}
	for _, given := range submitted {
		job := Job{"id", given.Name, given.Type, given.Priority, time.Now(), given.Settings, given.Metadata, nil}
		if tasks, err := compile(program, &job); err != nil {
			results = append(results, map[string]interface{}{"error": err.Error()})
		} else {
			results = append(results, map[string]interface{}{"tasks": tasks})
		}
	}
	answer := map[string]interface{}{"jobType": newVM(program).Get("JOB_TYPE").Export(), "jobs": results}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		fail(err)
	}
}
