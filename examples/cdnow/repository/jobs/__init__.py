"""One Spark job per module."""
