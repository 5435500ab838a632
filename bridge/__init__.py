"""Between Blender's data and arrays: the only place that copies one into the other."""
