"""The `pilothouse` command. Above: a shell, an MCP client. Below: the bridge, tools as commands, or administration.

`mcp` is sent on its way before anything else is imported, because a client waits for it at every start; a tool's
command before click is, because a person or a script waits for that.
"""

import sys


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] == ["mcp"]:
        from pilothouse.bridge import main as bridge

        return bridge(arguments[1:])
    if arguments == ["--version"]:
        from pilothouse import __version__

        sys.stdout.write(f"pilothouse {__version__}\n")
        return 0
    if arguments[:1] == ["--complete"]:
        from pilothouse.commands.completion import complete

        return complete(arguments[1:])
    if arguments[:2] == ["serve", "--auto"]:
        from pilothouse.instance import detach

        detach()  # before there are threads
    if arguments and not arguments[0].startswith("-"):
        from pilothouse.commands.call import ADMINISTRATIVE
        from pilothouse.commands.call import main as call

        if arguments[0] not in ADMINISTRATIVE:
            return call(arguments)
    from pilothouse.admin import main as admin

    return admin(arguments)


if __name__ == "__main__":
    sys.exit(main())
