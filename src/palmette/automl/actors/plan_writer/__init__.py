"""Independent plans, each with a bet of its own; written anew when a plan failed, with the reason in mind."""
