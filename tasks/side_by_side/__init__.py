"""Methods compared: `ghosts` poses a character's meshes by methods that they are not bound by, `heat` colors them."""
