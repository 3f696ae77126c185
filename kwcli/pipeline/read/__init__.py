"""Where captures are, and their bytes by range."""
