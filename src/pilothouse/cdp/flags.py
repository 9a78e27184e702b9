"""Switches of Chrome that more than one room has to know.

Above: providers start browsers with them, browser.remote looks whether one was. Below: nothing.
"""

NO_UDP = "--webrtc-ip-handling-policy=disable_non_proxied_udp"
"""WebRTC sends UDP past a proxy otherwise; the `--force-` spelling does nothing (M)."""
