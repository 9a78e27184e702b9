"""The ways in: MCP, REST, command line. Above: clients. Below: the gate."""
