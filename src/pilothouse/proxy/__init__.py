"""The debug proxy: pages of registered apps, each at an origin of its own, passed on as they are."""
