# Runs a script that changes a network: SCRIPT FUNCTION OFFSET SIZE, where the network's description is in the shared file
# (network.py). Its line:
#
#   {"set": [[layer, format | null, {output: format}], ...],      the settings of all layers, old and new
#    "ignored": [name, ...], "end": 1}                            what was called without effect


def main():
    network = Network()._describe(json.loads(read(int(sys.argv[3]), int(sys.argv[4])).decode("utf-8")), None)
    function = find_function(load_module(), FUNCTION, network=network)
    try:
        function(network=network)
    except BaseException as error:
        raised("function", error)
    tell(set=network._settings(), ignored=network._ignored, end=1)
    leave(0)


main()
