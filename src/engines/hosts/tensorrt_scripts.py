# Scripts of users that see the engine's own builder, with the names that Polygraphy gives them.
def function_of(script, usual):
    """file.py[:function]"""
    path, colon, name = script.rpartition(":")
    path, name = (path, name) if colon else (name, usual)
    found = {"__name__": "vernier_script", "__file__": path}
    try:
        with open(path) as file:
            exec(compile(file.read(), path, "exec"), found)
    except Exception as error:
        raise Refused("{}: {}: {}".format(path, type(error).__name__, first_line(error)))
    if not callable(found.get(name)):
        raise Refused("{}: has no function '{}'".format(path, name))
    return found[name]


class ConfigScripts:
    """--trt-config-script, which makes the builder's configuration in the place of the options, and
    --trt-config-postprocess-script, which edits it in place behind them."""

    def __init__(self, settings):
        self.make = one_of(settings, "trt-config-script")
        self.edit = one_of_two(settings, "trt-config-postprocess-script", "trt-cpps")
        if self.make and settings:
            raise Refused("‹trt-config-script› makes the whole configuration, and ‹{}› was given, too".format(sorted(settings)[0]),
                          "‹trt-config-postprocess-script› edits what the options say")

    def made(self, builder, network):
        if not self.make:
            return builder.create_builder_config()
        config = function_of(self.make, "load_config")(builder=builder, network=network)
        if config is None:
            raise Refused("{}: gave no configuration".format(self.make), "load_config(builder, network) returns it")
        return config

    def edited(self, builder, network, config):
        if self.edit:
            function_of(self.edit, "postprocess_config")(builder=builder, network=network, config=config)
