// What flamenco_vm.go does, with the semantics of today's JavaScript: only the globals that the job type needs.
//
//     node flamenco_vm.js supple-bake.js <jobs.json >compiled.json
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const script = new vm.Script('"use strict";' + fs.readFileSync(process.argv[2], "utf8"), { filename: process.argv[2] });

class Task {
    constructor(name, type) {
        Object.assign(this, { name, type, commands: [], dependencies: [] });
    }
    addCommand(command) {
        this.commands.push(command);
    }
    addDependency(task) {
        this.dependencies.push(task.name);
    }
}

function run() {
    const globals = vm.createContext({
        author: {
            Task: (name, type) => new Task(name, type),
            Command: (name, parameters, steps = 0) => ({ name, parameters, steps }),
        },
        path: { stem: (name) => path.posix.parse(name.replace(/\\/g, "/")).name },
    });
    script.runInContext(globals);
    return globals;
}

function compile(submitted) {
    const tasks = [];
    const addTask = (task) => tasks.push(JSON.parse(JSON.stringify(task)));
    try {
        run().compileJob({ ...submitted, created: new Date(), addTask });
    } catch (error) {
        return { error: String(error) };
    }
    return { tasks };
}

const jobs = JSON.parse(fs.readFileSync(0, "utf8")).map(compile);
console.log(JSON.stringify({ jobType: run().JOB_TYPE, jobs }));
