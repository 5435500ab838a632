"""Anatomy of a character: bones by their names, and its front, limbs and joints.

`presets` finds the bones of a rig by their names. `body` finds up, front and the joints from these bones or from the
shape of the skin. `landmarks` says where patterns belong and which joints drive them.
"""
