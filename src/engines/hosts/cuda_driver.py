# NVIDIA's driver, through its own library: which GPUs are there, and memory, streams and events of one of them. No
# package is needed for that.
import ctypes


def cuda_library():
    """The driver, or why there is none."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, "there is no NVIDIA driver (libcuda.so.1)"
    code = cuda.cuInit(0)
    return (cuda, "") if code == 0 else (None, "the NVIDIA driver gives error {}".format(code))


def nvidia_devices():
    """The GPUs that the driver names, and why there is none."""
    cuda, why = cuda_library()
    if cuda is None:
        return [], why
    count = ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(count))
    found = []
    for index in range(count.value):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        memory, name = ctypes.c_size_t(), ctypes.create_string_buffer(256)
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetName(name, len(name), device)
        cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        found.append({"name": name.value.decode("utf-8", "replace"), "memory": memory.value,
                      "capability": "{}.{}".format(major.value, minor.value)})
    return found, "" if found else "the NVIDIA driver names no GPU"


class Gpu:
    """The first GPU, in the context that engines use too, and one stream of it. Places are addresses on the device."""

    def __init__(self):
        self.cuda, why = cuda_library()
        if self.cuda is None:
            raise Refused(why)
        device, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuStreamCreate", ctypes.byref(stream), 1)  # 1: does not wait for the default stream
        self.stream = stream.value
        self.events = [self.new_event(), self.new_event()]

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code == 0:
            return
        text = ctypes.c_char_p()
        self.cuda.cuGetErrorString(code, ctypes.byref(text))
        words = text.value.decode("utf-8", "replace") if text.value else "error {}".format(code)
        raise Refused("the NVIDIA driver says to {}: {}".format(name, words))

    def new_event(self):
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def allocate(self, size):
        place = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(max(size, 1)))
        return place.value

    def free(self, place):
        self.call("cuMemFree_v2", ctypes.c_uint64(place))

    def copy_in(self, place, data):
        if data:
            self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(place), ctypes.c_char_p(data), ctypes.c_size_t(len(data)))

    def copy_out(self, place, size):
        data = ctypes.create_string_buffer(size)
        if size:
            self.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(place), ctypes.c_size_t(size))
        return data.raw

    def timed(self, work):
        """Seconds that the stream took for what `work` put on it."""
        begin, end = self.events
        stream, milliseconds = ctypes.c_void_p(self.stream), ctypes.c_float()
        self.call("cuEventRecord", begin, stream)
        work()
        self.call("cuEventRecord", end, stream)
        self.call("cuEventSynchronize", end)
        self.call("cuEventElapsedTime", ctypes.byref(milliseconds), begin, end)
        return milliseconds.value / 1000

    def wait(self):
        self.call("cuStreamSynchronize", ctypes.c_void_p(self.stream))

    def graph_of(self, work):
        """What `work` puts on the stream, as one graph that can be launched again and again."""
        stream, graph, ready = ctypes.c_void_p(self.stream), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", stream, 1)  # 1: of this thread's calls alone
        try:
            work()
        finally:
            code = self.cuda.cuStreamEndCapture(stream, ctypes.byref(graph))
        if code or not graph.value:
            raise Refused("the NVIDIA driver gives error {} for the capture".format(code))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_ulonglong(0))
        self.call("cuGraphDestroy", graph)
        return ready

    def launch_graph(self, graph):
        self.call("cuGraphLaunch", graph, ctypes.c_void_p(self.stream))

    def free_graph(self, graph):
        self.call("cuGraphExecDestroy", graph)


