"""The engine: sessions, tabs, snapshots, input. Above: gate and tools. Below: cdp. Providers are handed in."""
