// SPDX-License-Identifier: GPL-3.0-or-later
//
// Job type "Supple Bake" for Flamenco 3: characters are baked on many machines, in chunks of frames, and the chunks are
// joined into one cache for each mesh. With "Render", a copy of the file that plays the caches is rendered in chunks.
//
// Copy this file into the folder `scripts` beside flamenco-manager (make that folder), and refresh Flamenco's panel in
// Blender. Workers need Supple to bake and to join, not to render. All is ECMAScript 5.1, which every Manager runs.

var AS_BOUND = "As Bound in the File";
var METHODS = [AS_BOUND, "SSD", "DLB", "DLBNT", "CENTERS", "PARTICLES", "PARTICLES_2010"];
var MOVIES = ["FFMPEG", "AVI_RAW", "AVI_JPEG"];
var OPTIONS = ["--order", "--sharpness", "--bulge-limit", "--contact"];
var LAST_FRAME = 1048574;
var HOW_TO_WRITE = "write 1-250 or 1-250:2, and separate ranges with commas as in 1-50,60,100-200:2";

var JOB_TYPE = {
    label: "Supple Bake",
    description: "Bake characters that Supple deforms on many machines, and render them",
    settings: [
        { key: "frames", type: "string", required: true,
          eval: "f'{C.scene.frame_start}-{C.scene.frame_end}' + f':{C.scene.frame_step}' * (C.scene.frame_step > 1)",
          evalInfo: { showLinkButton: true, description: "Scene frame range" },
          description: "Frames to bake. Examples: '1-250', '1-250:2' for every second one, '-20--11', '1-50, 60'" },
        { key: "chunk_size", type: "int32", default: 50, propargs: { min: 1 }, visible: "submission",
          description: "Most frames that one task bakes, or renders" },
        { key: "objects", type: "string", default: "", visible: "submission",
          description: "Name of the mesh to bake; several as [\"Body\", \"Coat\"]. Empty: all that are bound, or, " +
              "with a method, all that have an Armature modifier" },
        { key: "method", type: "string", default: AS_BOUND, visible: "submission",
          choices: METHODS,
          description: "Method to bind with for this bake" },
        { key: "options", type: "string", default: "", visible: "submission",
          description: "Choices of the method. Example: '--sharpness 0.3 --contact 1'" },
        { key: "folder", type: "string", subtype: "dir_path", default: "", visible: "submission",
          description: "Where chunks, caches and frames go, for all workers. Empty: a folder beside the .blend file" },
        { key: "render", type: "bool", default: false,
          description: "Render the frames after the bake. Workers need no Supple for that" },
        { key: "scripts", type: "bool", default: false,
          description: "Allow scripts in the .blend file, such as drivers in Python, to run on workers" },
        { key: "render_folder", type: "string", subtype: "dir_path", default: "", visible: "submission",
          description: "Where rendered frames go. Empty: 'frames' in the folder above" },

        // Filled in when the job is submitted: by Flamenco's add-on, or by 'supple farm'.
        { key: "blendfile", type: "string", required: true, visible: "web", description: "The .blend file to bake" },
        { key: "output", type: "string", required: true, visible: "web",
          eval: "str(abspath(settings.folder or '//' + Path(bpy.data.filepath).stem + '_farm'))",
          description: "Folder of the job" },
        { key: "render_output", type: "string", visible: "web",
          eval: "str(abspath(settings.render_folder)) if settings.render_folder else ''",
          description: "Folder of the rendered frames, where it is not 'frames' in the folder of the job" },
        { key: "format", type: "string", visible: "hidden", eval: "C.scene.render.image_settings.file_format",
          description: "What the file renders to" },
        { key: "expect", type: "string", visible: "hidden", default: "",
          description: "The file, the Supple and the Blender that each worker must have" }
    ]
};

function compileJob(job) {
    var bake = readSettings(job.settings);
    var chunks = cutFrames(bake.ranges, bake.chunkSize);
    var chunkFolder = inFolder(bake.output, "chunks"), caches = inFolder(bake.output, "caches");

    var check = suppleTask(bake, "check", "info", bake.file, bake.expect);
    check.addCommand(author.Command("make-directory", { path: bake.output }, 0));
    job.addTask(check);
    var join = suppleTask(bake, "join", "join", chunkFolder,
        ["--frames=" + describeFrames(bake.ranges), "--output", caches].concat(bake.expect));
    chunks.forEach(function (chunk) {
        var frames = describeFrames([chunk]);
        var task = suppleTask(bake, "bake-" + frames, "bake", bake.file,
            bake.chosen.concat(["--part", "--frames=" + frames, "--output", chunkFolder], bake.expect));
        task.addDependency(check);
        job.addTask(task); // Flamenco copies it: what is added to a task later is lost
        join.addDependency(task);
    });
    job.addTask(join);
    if (bake.render) {
        addRenders(job, bake, chunks, caches, join);
    }
}

// A file of its own plays the caches: it renders without Supple, by a script that 'apply' puts beside it.
function addRenders(job, bake, chunks, caches, join) {
    var baked = inFolder(bake.output, path.stem(bake.file).replace(/\.flamenco$/, "") + "_baked.blend");
    var script = inFolder(bake.output, "render_frames.py");
    var apply = suppleTask(bake, "apply", "apply", bake.file,
        ["--cache", caches, "--output", baked, "--render-script", script].concat(bake.objects));
    apply.addDependency(join);
    job.addTask(apply);
    chunks.forEach(function (chunk) {
        var frames = describeFrames([chunk]);
        var task = author.Task("render-" + frames, "blender");
        task.addCommand(author.Command("blender-render", {
            exe: "{blender}", exeArgs: "{blenderArgs}", argsBefore: [bake.scripts, "--python-exit-code", "1", "--python"],
            blendfile: script, args: ["--", baked, "--frames=" + frames, "--output", bake.renderOutput]
        }, countFrames(chunk)));
        task.addDependency(apply);
        job.addTask(task);
    });
}

// A task that runs 'blender --command supple COMMAND FIRST WORDS'.
//
// It is the command for Blender that Flamenco has, for that finds Blender on each system and adds the Manager's own
// arguments. It puts what it takes for the .blend file after 'argsBefore', which is where Supple wants its first word.
// Paths are words of their own: else Flamenco does not find its variables in them.
function suppleTask(bake, name, command, first, words) {
    var task = author.Task(name, "blender");
    task.addCommand(author.Command("blender-render", {
        exe: "{blender}", exeArgs: "{blenderArgs}", argsBefore: [bake.scripts, "--command", "supple", command],
        blendfile: first, args: words
    }, 0));
    return task;
}

// What is to be done, or a message about what is wrong with the settings.
function readSettings(settings) {
    var objects = readObjects(settings.objects);
    var options = readOptions(settings.options);
    var method = settings.method || AS_BOUND;
    var bake = {
        file: settings.blendfile,
        ranges: readFrames(settings.frames),
        chunkSize: settings.chunk_size === undefined ? 50 : settings.chunk_size,
        objects: objects,
        chosen: (objects.length ? objects : ["--all"]).concat(method === AS_BOUND ? [] : ["--method", method], options),
        output: settings.output,
        render: settings.render,
        scripts: settings.scripts ? "--enable-autoexec" : "--disable-autoexec", // after the Manager's own: the last counts
        expect: settings.expect ? ["--expect", settings.expect] : []
    };
    if (!bake.file) {
        throw "No .blend file is given: save the file and submit it again";
    }
    if (METHODS.indexOf(method) < 0) {
        throw "There is no method '" + method + "': choose one of " + METHODS.join(", ");
    }
    if (!(bake.chunkSize >= 1) || bake.chunkSize % 1) {
        throw "Chunks of " + bake.chunkSize + " frames: choose 1 or more";
    }
    checkFolder(bake.output, "the job");
    bake.renderOutput = settings.render_output || inFolder(bake.output, "frames");
    if (bake.render) {
        checkFolder(bake.renderOutput, "rendered frames");
        if (MOVIES.indexOf(settings.format) >= 0) {
            throw "The render output is a movie (" + settings.format + "), which has no chunks of frames: " +
                "choose an image format, such as PNG or OpenEXR";
        }
        bake.ranges.forEach(checkFollows);
    }
    return bake;
}

// A file plays the caches of ranges one after the other.
function checkFollows(range, index, ranges) {
    if (index && ranges[index - 1].last > range.first) {
        throw "Frames " + describeFrames([ranges[index - 1]]) + " and " + describeFrames([range]) + " overlap, which " +
            "a file that is rendered can not play: give ranges that follow on each other, or do not render";
    }
}

function checkFolder(folder, use) {
    if (!folder) {
        throw "No folder is given for " + use + ": choose one that all workers can write to";
    }
    if (!/^([\/\\{]|[A-Za-z]:[\/\\])/.test(folder)) {
        throw "'" + folder + "' is not a full path: use one that begins with a drive, a share or a variable";
    }
}

// path.join would make one slash of the two that a share begins with.
function inFolder(folder, name) {
    return folder.replace(/[\/\\]+$/, "") + "/" + name;
}

// Words that name the objects; none for all.
function readObjects(text) {
    var names = (text || "").trim();
    if (names.charAt(0) === "[") {
        try {
            names = JSON.parse(names);
        } catch (error) {
            throw "Objects are '" + text + "': write several as [\"Body\", \"Coat\"], or leave it empty for all";
        }
    } else {
        names = names ? [names] : [];
    }
    return names.map(function (name, index) {
        if (typeof name !== "string" || !name) {
            throw "Objects are '" + text + "': write each name in quotes, as [\"Body\", \"Coat\"]";
        }
        if (names.indexOf(name) !== index) {
            throw "Object '" + name + "' is listed twice: list it once";
        }
        return "--object=" + name; // one word: a name may begin with a hyphen
    });
}

function readOptions(text) {
    var words = (text || "").split(/\s+/).filter(function (word) {
        return word;
    });
    words.forEach(function (word, index) {
        var isName = index % 2 === 0;
        if (isName ? OPTIONS.indexOf(word) < 0 : word.slice(0, 2) === "--") {
            throw "Options are '" + text + "': choose among " + OPTIONS.join(", ") + ", each followed by its value";
        }
    });
    if (words.length % 2) {
        throw "Option " + words[words.length - 1] + " has no value: add one, or leave it out";
    }
    return words;
}

// The frames of a list such as '1-50,60,100-200:2', as Supple reads it: [{first, last, step}, ...] in order, ranges of
// one step that follow on each other as one. 'last' is the last frame that is in the range.
function readFrames(text) {
    if (!(text || "").trim()) {
        throw "No frames are given: " + HOW_TO_WRITE;
    }
    var ranges = text.split(",").map(readRange).sort(function (a, b) {
        return a.first - b.first || a.last - b.last;
    });
    var joined = [];
    ranges.forEach(function (range) {
        joined.forEach(function (earlier) {
            checkApart(range, earlier);
        });
        var before = joined[joined.length - 1];
        if (before && before.step === range.step && before.last + range.step === range.first) {
            before.last = range.last;
        } else {
            joined.push(range);
        }
    });
    return joined;
}

function readRange(text) {
    var match = /^(-?\d{1,18})(?:-(-?\d{1,18}))?(?::(\d{1,18}))?$/.exec(text.trim());
    if (!match) {
        throw "'" + text + "' is not a frame range: " + HOW_TO_WRITE;
    }
    var first = Number(match[1]), end = Number(match[2] || match[1]), step = Number(match[3] || 1);
    if (step < 1) {
        throw "Frame step is " + step + ": choose 1 or more";
    }
    if (end < first) {
        throw "Frame range " + first + " to " + end + " runs backwards: choose an end that is not before the start";
    }
    if (first < -LAST_FRAME || end > LAST_FRAME) {
        throw "Frames " + first + " to " + end + " are outside Blender's range: choose from -1,048,574 to 1,048,574";
    }
    if (step > LAST_FRAME) {
        throw "Frame step is " + step + ": choose 1,048,574 or less";
    }
    return { first: first, last: end - (end - first) % step, step: step };
}

function checkApart(range, earlier) {
    for (var frame = range.first; frame <= range.last && frame <= earlier.last; frame += range.step) {
        if ((frame - earlier.first) % earlier.step === 0) {
            throw "Frame " + frame + " is listed twice: list it once";
        }
    }
}

function countFrames(range) {
    return (range.last - range.first) / range.step + 1;
}

// Flamenco's own frameChunker knows neither steps nor frames below zero.
function cutFrames(ranges, size) {
    var chunks = [];
    ranges.forEach(function (range) {
        for (var first = range.first; first <= range.last; first += size * range.step) {
            var last = Math.min(first + (size - 1) * range.step, range.last);
            chunks.push({ first: first, last: last, step: range.step });
        }
    });
    return chunks;
}

function describeFrames(ranges) {
    return ranges.map(function (range) {
        if (range.first === range.last && range.step === 1) {
            return String(range.first);
        }
        return range.first + "-" + range.last + (range.step === 1 ? "" : ":" + range.step);
    }).join(",");
}
