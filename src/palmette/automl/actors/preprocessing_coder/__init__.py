"""The code that reads rows and makes features of them, executed at once."""
