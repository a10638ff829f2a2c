# One engine that is held and runs samples.
def type_of(engine, name):
    words = engine.get_tensor_dtype(name).name
    if words not in TYPES:
        raise Refused("tensor '{}' has the type {}, which is neither given nor taken here".format(name, words))
    return TYPES[words]


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


if hasattr(trt, "IOutputAllocator"):
    class Grown(trt.IOutputAllocator):
        """Where an output goes whose size is known only when it was computed."""

        def __init__(self, gpu):
            trt.IOutputAllocator.__init__(self)
            self.gpu, self.place, self.room, self.shape = gpu, 0, 0, ()

        def reallocate_output(self, name, memory, size, alignment):
            if size > self.room or not self.place:
                if self.place:
                    self.gpu.free(self.place)
                self.place, self.room = self.gpu.allocate(size), size
            return self.place

        def reallocate_output_async(self, name, memory, size, alignment, stream):
            return self.reallocate_output(name, memory, size, alignment)

        def notify_shape(self, name, shape):
            self.shape = tuple(shape)


if hasattr(trt, "IProfiler"):
    class Profile(trt.IProfiler):
        """Seconds of each kernel, run by run. A kernel that runs twice in a run, as in a loop, has both."""

        def __init__(self):
            trt.IProfiler.__init__(self)
            self.runs = []

        def report_layer_time(self, layer_name, ms):
            run = self.runs[-1]
            run[layer_name] = run.get(layer_name, 0) + ms / 1000


class Held:
    """An engine, its context and the memory of its tensors."""

    def __init__(self, serialized):
        self.gpu = Gpu()
        self.engine = load(serialized)
        self.context = self.engine.create_execution_context()
        if self.context is None:
            raise Refused("the engine cannot be made ready to run")
        names = [self.engine.get_tensor_name(index) for index in range(self.engine.num_io_tensors)]
        mode = trt.TensorIOMode.INPUT
        self.inputs = [name for name in names if self.engine.get_tensor_mode(name) == mode]
        self.outputs = [name for name in names if self.engine.get_tensor_mode(name) != mode]
        self.places, self.grown, self.on_host = {}, {}, {}
        self.arrays, self.graph = [], None

    def ports(self, names):
        return [{"name": clean(name), "type": type_of(self.engine, name)[0],
                 "shape": [int(size) for size in self.engine.get_tensor_shape(name)]} for name in names]

    def room(self, name, size):
        place, has = self.places.get(name, (0, -1))
        if has < size:
            if place:
                self.gpu.free(place)
            place, has = self.gpu.allocate(size), size
            self.places[name] = place, has
        return place

    def feed(self, array):
        name, shape, type = array["name"], array["shape"], type_of(self.engine, array["name"])[0]
        if type != array["type"]:
            raise Refused("input '{}' is {} in the engine, and {} was given".format(name, type, array["type"]))
        if not self.context.set_input_shape(name, shape):
            raise Refused("input '{}' of the shape {} does not fit the engine".format(name, tuple(shape)),
                          "‹trt-min-shapes› and ‹trt-max-shapes› say for which shapes it is built")
        if self.engine.get_tensor_location(name) == trt.TensorLocation.HOST:  # a shape: read on the host
            self.on_host[name] = ctypes.create_string_buffer(array["data"], max(len(array["data"]), 1))
            self.context.set_tensor_address(name, ctypes.addressof(self.on_host[name]))
            return
        place = self.room(name, len(array["data"]))
        self.gpu.copy_in(place, array["data"])
        self.context.set_tensor_address(name, place)

    def aim(self, name):
        """Gives an output its memory."""
        shape = tuple(self.context.get_tensor_shape(name))
        size = type_of(self.engine, name)[1]
        if -1 in shape:
            if name not in self.grown:
                self.grown[name] = Grown(self.gpu)
            self.context.set_output_allocator(name, self.grown[name])
        elif self.engine.get_tensor_location(name) == trt.TensorLocation.HOST:
            self.on_host[name] = ctypes.create_string_buffer(max(size * elements(shape), 1))
            self.context.set_tensor_address(name, ctypes.addressof(self.on_host[name]))
        else:
            self.context.set_tensor_address(name, self.room(name, size * elements(shape)))

    def launch(self):
        if not self.context.execute_async_v3(self.gpu.stream):
            raise Refused("the engine did not run")

    def fetch(self, name):
        type, size = type_of(self.engine, name)
        if name in self.grown:
            grown = self.grown[name]
            return name, type, grown.shape, self.gpu.copy_out(grown.place, size * elements(grown.shape))
        shape = tuple(self.context.get_tensor_shape(name))
        if name in self.on_host:
            return name, type, shape, self.on_host[name].raw[:size * elements(shape)]
        return name, type, shape, self.gpu.copy_out(self.places[name][0], size * elements(shape))

    def prepare(self, arrays):
        """Inputs, and room for the outputs."""
        self.arrays = list(arrays)
        if self.graph is not None:
            self.gpu.free_graph(self.graph)
            self.graph = None
        for array in self.arrays:
            self.feed(array)
        self.context.infer_shapes()
        for name in self.outputs:
            self.aim(name)

    def capture(self):
        self.launch()  # the first run may prepare more than can be captured
        self.gpu.wait()
        try:
            self.graph = self.gpu.graph_of(self.launch)
        except Refused as refusal:
            raise Refused("no CUDA graph can be made of this engine: {}".format(refusal), "leave out ‹use-cuda-graph›")

    def with_copies(self):
        begin = time.perf_counter()
        for array in self.arrays:
            if array["name"] not in self.on_host:
                self.gpu.copy_in(self.places[array["name"]][0], array["data"])
        self.start()
        self.gpu.wait()
        for name in self.outputs:
            self.fetch(name)
        return time.perf_counter() - begin

    def start(self):
        if self.graph is None:
            self.launch()
        else:
            self.gpu.launch_graph(self.graph)

    def time(self, graph, copies, **how):
        if graph and self.graph is None:
            self.capture()
        once = self.with_copies if copies else lambda: self.gpu.timed(self.start)
        return {"seconds": repeated(once, **how), "device_clock": not copies}

    def profile(self, runs):
        if not hasattr(trt, "IProfiler"):
            raise Refused("{} has no profiler of layers".format(trt.__name__))
        usual, profile = self.context, Profile()
        self.context = self.engine.create_execution_context()  # one that has a profiler keeps it
        try:
            self.context.profiler = profile
            self.prepare(self.arrays)
            self.launch_profiled(profile, 1)  # the first run loads kernels
            profile.runs = []
            self.launch_profiled(profile, runs)
        finally:
            self.context = usual
        if not profile.runs or not profile.runs[0]:
            raise Refused("its profiler says nothing")
        return {"kernels": [{"name": clean(name), "seconds": median([run.get(name, 0) for run in profile.runs])}
                            for name in profile.runs[0]]}

    def launch_profiled(self, profile, runs):
        for _ in range(runs):
            profile.runs.append({})
            self.launch()
            self.gpu.wait()

    def run(self, arrays, out):
        self.prepare(arrays)
        seconds = self.gpu.timed(self.launch)
        return {"outputs": write_arrays(out, [self.fetch(name) for name in self.outputs]), "seconds": seconds}


held = None


def open_engine(model, shapes, settings, engine, save):
    global held
    held = None
    begin = time.time()
    if engine:
        serialized = engine_file(engine)
    else:
        serialized, found = build(model, shapes, "", settings)
        if serialized is None:
            return found
    seconds = time.time() - begin
    held = Held(serialized)
    save_engine(serialized, save)
    return {"information": information_of(held.engine), "bytes": len(memoryview(serialized)), "seconds": seconds,
            "errors": [], "inputs": held.ports(held.inputs), "outputs": held.ports(held.outputs)}


def run(arrays, inputs, out):
    log.lines = []
    return held.run(read_arrays(arrays, inputs), out)


def time_runs(arrays, inputs, **how):
    log.lines = []
    if arrays:
        held.prepare(read_arrays(arrays, inputs))
    return held.time(**how)


def profile(runs):
    log.lines = []
    return held.profile(runs)


serve({"about": about, "plugins": load_plugins, "supports": supports, "compile": compile_model, "describe": describe, "open": open_engine,
       "run": run, "time": time_runs, "profile": profile}, said)
