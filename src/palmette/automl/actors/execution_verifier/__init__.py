"""Which plan is carried out: chosen by what is expected of each, before anything is trained."""
