"""What the data are like, in figures that are computed and remarks that are not figures."""
