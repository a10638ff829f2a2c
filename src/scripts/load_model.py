# Runs a script that makes a model: SCRIPT FUNCTION; without a function, load_network or load_model. It may ask first,
#
#   {"describe": {"path": ...}}, {"describe": {"bytes": [offset, size]}}        answered by the network (network.py)
#
# and says at the end where the model is, and what was set of its layers:
#
#   {"model": {"path": ...} or {"bytes": [offset, size]}, "set": [...], "end": 1}
asks = True
WANTED = ("it must return an ONNX model (a path, bytes, onnx.ModelProto, an onnx_graphsurgeon graph), or what "
          "NetworkFromOnnxPath of polygraphy.backend.trt returns")


def find_loader(module):
    names = [FUNCTION] if FUNCTION else ["load_network", "load_model"]
    for name in names:
        if getattr(module, name, None) is not None:
            return find_function(module, name)
    if FUNCTION:
        return find_function(module, FUNCTION)
    fail("script", "has neither 'load_network' nor 'load_model'", "file.py:function names another function")


def serialized(model):
    try:
        return model.SerializeToString()
    except Exception as error:
        fail("function", "the model that it returned cannot be written: {}".format(first_line(error)),
             "return the path of a file instead")


def source_of(value):
    if isinstance(value, (tuple, list)):
        for each in value:
            if isinstance(each, Network):
                return source_of(each)
    if isinstance(value, Network):
        if value._source is None:
            fail("function", "returned a network without layers",
                 "fill it by trt.OnnxParser(network, logger).parse_from_file(path)")
        return value._source, value._settings()
    if isinstance(value, (str, os.PathLike)):
        return {"path": clean(os.fspath(value))}, []
    module = type(value).__module__.split(".")[0]
    if module == "onnx_graphsurgeon" or hasattr(value, "opset") and hasattr(value, "nodes"):
        try:
            value = importlib.import_module(module).export_onnx(value)
        except Exception as error:
            raised("function", error)
    if hasattr(value, "SerializeToString"):
        value = serialized(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"bytes": [write(memoryview(value)), len(value)]}, []
    fail("function", "returned {}".format(kind(value)), WANTED)


def main():
    function = find_loader(load_module())
    try:
        value = function()
        if callable(value) and not hasattr(value, "SerializeToString"):
            value = value()  # a loader of Polygraphy, that nobody has called yet
    except BaseException as error:
        raised("function", error)
    source, settings = source_of(value)
    tell(model=source, set=settings, end=1)
    leave(0)


main()
