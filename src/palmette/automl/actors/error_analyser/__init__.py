"""Whose fault a failure of the assembled project is: the preparation's, the models', or neither's."""
