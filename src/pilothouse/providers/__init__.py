"""Where browsers come from. Above: daemon hands these to the engine. Below: cdp, config, errors."""
