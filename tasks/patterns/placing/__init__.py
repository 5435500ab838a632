"""Patterns under the mouse: `picking` finds what a ray hits, `place` moves patterns and lays them along strokes."""
