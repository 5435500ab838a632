"""Files: written whole or not at all, read with care; Blenders that are started for them."""
