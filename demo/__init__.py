"""The demonstration: an arm built in code, posed past what linear skinning bears, and measured three ways."""
