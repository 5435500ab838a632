"""Layers: clothes over a body. `order` finds which mesh lies over which, and the order from the outermost inward."""
