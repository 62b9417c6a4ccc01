"""What is known before a run: cases, literature, hubs, and earlier runs."""
