"""The processes behind the screen: what is read into the spool in, rows and answers about them out."""
