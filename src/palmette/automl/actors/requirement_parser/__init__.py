"""From the words of a request to requirements in numbers."""
