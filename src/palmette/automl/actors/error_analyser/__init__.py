"""Whose fault a failure of own code is: the features', the learner's, or neither's."""
