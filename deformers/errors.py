"""What Supple raises on purpose."""


class SkinningError(Exception):
    """What is wrong and what to do about it, in words for the user.

    Everything a user can cause (wrong selection, changed mesh, unwritable file) is raised as this type and shown as it
    is. Any other exception is a bug and must be seen as one.
    """


class UnsupportedError(SkinningError):
    """What is wrong with settings or nodes so that Supple can not deform an object: its Armature modifier does."""
