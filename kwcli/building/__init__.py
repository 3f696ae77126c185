"""How wheels of kw are built: plain, or with compiled modules."""
