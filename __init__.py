"""Supple: skin that bends, twists and stretches without collapsing."""


def register() -> None:
    from . import registration

    registration.register()


def unregister() -> None:
    from . import registration

    registration.unregister()
