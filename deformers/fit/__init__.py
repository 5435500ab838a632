"""A skeleton fitted into a bare mesh: where the joints of a human or of an animal on four legs are."""
