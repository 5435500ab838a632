"""The demonstration: an arm made in code and a dressed human, posed farther than linear skinning can take."""
