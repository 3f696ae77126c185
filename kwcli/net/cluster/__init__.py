"""A cluster as a client sees it: its nodes, leaders and coordinators, asked for when they are needed."""
