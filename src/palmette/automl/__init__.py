"""The AutoML environment: from a sentence and a data file to a verified and deployed model."""
