"""Reports: their page in a browser, their other formats, their folds."""
