"""What feature scripts share."""
