"""The plan that is carried out: chosen by estimates, before anything is trained."""
