"""Characters: meshes, armatures, bones, actions, frames."""
