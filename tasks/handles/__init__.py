"""Points and cages that carry skin, beside bones: empties and meshes with bones that follow them."""
