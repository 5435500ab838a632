"""Jobs for render farms: what is to be checked, baked, joined and rendered, in the words of an engine that exists."""
