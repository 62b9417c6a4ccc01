"""What is known that bears on the task, from the library of cases and the literature, each with its source."""
