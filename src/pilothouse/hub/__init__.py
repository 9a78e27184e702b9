"""The signaling hub: tabs that browsers offer for inspection, what happens in them, and who may ask for it."""
