"""What is known of the protocol beside the layouts of its messages: routes, releases, names, words for numbers."""
