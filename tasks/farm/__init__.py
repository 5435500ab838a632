"""Jobs for render farms: check, bake, join and render, in the format of an existing engine."""
