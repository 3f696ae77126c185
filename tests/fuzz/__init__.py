"""Random input for as long as one likes, in classes: each makes one kind of hostile input and says what must hold."""
