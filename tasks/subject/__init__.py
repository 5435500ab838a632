"""Who is deformed, by what and when: meshes, armatures, bones, actions, frames."""
