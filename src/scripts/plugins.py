# Runs the patterns of plugins on a model:
#
#   pattern.py get_matching_subgraphs match MODEL
#     {"name": ..., "op": ..., "instances": [{"inputs": [...], "outputs": [...], "attributes": {...} | null}, ...], "end": 1}
#   config.yaml "" replace MODEL FOLDER
#     {"plugins": [[name, listed, replaced], ...], "before": nodes, "after": nodes, "model": [offset, size], "end": 1}


def graph_tools():
    try:
        import onnx
        import onnx_graphsurgeon
    except BaseException as error:
        raised("script", error)
    try:
        # Patterns say of each node why it does not match.
        onnx_graphsurgeon.logger.G_LOGGER.severity = onnx_graphsurgeon.logger.G_LOGGER.WARNING
    except AttributeError:
        pass
    return onnx, onnx_graphsurgeon


def graph_of(model):
    onnx, surgeon = graph_tools()
    try:
        return surgeon.import_onnx(onnx.load(model))
    except BaseException as error:
        print_traceback(error)
        fail("function", "{} cannot be read: {}".format(model, first_line(error)), "the traceback is above")


def plain(value, what):
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return {str(key): plain(each, what) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, what) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist(), what)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    fail("function", "{} is {}".format(what, kind(value)), "a number, a text, or a list of them")


def names_of(instance, key):
    value = instance.get(key) if isinstance(instance, Mapping) else None
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        fail("function", "'{}' of an instance is {}".format(key, kind(value)), "a list of names of tensors")
    return list(value)


def match(model):
    graph = graph_of(model)
    module = load_module()
    find = find_function(module, FUNCTION, graph)
    metadata = find_function(module, "get_plugin_metadata")
    try:
        found = list(find(graph) or [])
        about = metadata() if found else {}
    except BaseException as error:
        raised("function", error)
    if found and not all(isinstance(about.get(key), str) for key in ("name", "op")):
        fail("function", "get_plugin_metadata() lacks 'name' or 'op'", "return {'name': ..., 'op': ...}")
    tell(name=clean(about.get("name", "")), op=clean(about.get("op", "")), end=1, instances=[
        {"inputs": names_of(one, "inputs"), "outputs": names_of(one, "outputs"),
         "attributes": plain(one.get("attributes") or None, "an attribute")} for one in found])


def one_node(graph, input_tensors, output_tensors, attrs, op):
    """Without producers of its outputs, a part is needed by nobody and goes; what others still read stays."""
    for tensor in output_tensors:
        tensor.inputs.clear()
    graph.layer(op=op, name=unused_name(graph, op), inputs=input_tensors, outputs=output_tensors, attrs=attrs)
    graph.cleanup().toposort()
    return True


def unused_name(graph, op):
    taken = {node.name for node in graph.nodes}
    return next(name for name in ("{}_{}".format(op, i) for i in range(len(taken) + 1)) if name not in taken)


def tensors_named(tensors, instance, key):
    found = []
    for name in names_of(instance, key):
        if name not in tensors:
            import difflib
            near = difflib.get_close_matches(name, list(tensors), 1)
            fail("script", "the model has no tensor '{}'".format(name),
                 "nearest: " + near[0] if near else "‹vernier plugin match› lists instances of this model")
        found.append(tensors[name])
    return found


def replace(model, folder):
    global SCRIPT
    config = SCRIPT
    _, surgeon = graph_tools()
    try:
        import yaml
    except ImportError:
        fail("script", "is YAML, and {} has no PyYAML to read it".format(sys.executable),
             "pip install pyyaml; ‹python› PROGRAM names another Python")
    try:
        with open(config, encoding="utf-8") as file:
            plugins = [one for one in yaml.safe_load_all(file) if one]
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        fail("script", "cannot be read: {}".format(" ".join(str(error).split())), "‹vernier plugin match› writes such files")
    graph = graph_of(model)
    before = len(graph.nodes)
    counts = []
    for plugin in plugins:
        if not isinstance(plugin, Mapping) or not all(isinstance(plugin.get(key), str) for key in ("name", "op")):
            fail("script", "a document without 'name' and 'op'", "‹vernier plugin match› writes such files")
        SCRIPT = os.path.join(folder, plugin["name"], "pattern.py")
        own = None
        if os.path.exists(SCRIPT):
            own = getattr(load_module(), "replace_with_plugin", None)
        done = 0
        for instance in plugin.get("instances") or []:
            SCRIPT = config
            tensors = graph.tensors()
            given = dict(graph=graph, input_tensors=tensors_named(tensors, instance, "inputs"),
                         output_tensors=tensors_named(tensors, instance, "outputs"),
                         attrs=instance.get("attributes"), op=plugin["op"])
            SCRIPT = os.path.join(folder, plugin["name"], "pattern.py")
            try:
                done += bool((own or one_node)(**given))
            except BaseException as error:
                raised("function", error)
        counts.append([clean(plugin["name"]), len(plugin.get("instances") or []), done])
    SCRIPT = config
    try:
        model = surgeon.export_onnx(graph).SerializeToString()
    except BaseException as error:
        raised("function", error)
    tell(plugins=counts, before=before, after=len(graph.nodes), model=[write(memoryview(model)), len(model)], end=1)


if sys.argv[3] == "match":
    match(sys.argv[4])
else:
    replace(sys.argv[4], sys.argv[5])
leave(0)
