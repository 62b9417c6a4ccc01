"""From what was asked, in whatever form, to one typed task."""
