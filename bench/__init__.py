"""How fast and how small we are, beside bare CDP and beside our peers. `scripts/bench` runs it."""
