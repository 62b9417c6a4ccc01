"""The blueprint: what is built, and the contract between coders, search and the delivered package."""
