"""Random input in classes, for any time: each class makes one kind of hostile input and asserts what must hold."""
