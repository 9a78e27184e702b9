"""Speaks the Chrome DevTools Protocol. Above: browser and providers. Below: errors."""
