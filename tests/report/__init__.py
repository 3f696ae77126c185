"""Reports: their page in a browser, their other forms, their folds."""
