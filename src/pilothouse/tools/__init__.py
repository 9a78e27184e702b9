"""The tools, one file a subject. Above: the gate runs them. Below: browser."""
