"""What a user can do, as plain functions on Blender's objects: operators, preview and command line call these."""
