"""The `pilothouse` command. Above: a shell, an MCP client. Below: the bridge, or the administrative commands.

`mcp` is sent on its way before anything else is imported, because a client waits for it at every start.
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
    if arguments[:2] == ["serve", "--auto"]:
        from pilothouse.instance import detach

        detach()  # before there are threads
    from pilothouse.admin import main as admin

    return admin(arguments)


if __name__ == "__main__":
    sys.exit(main())
