"""What is known that bears on the task: from the library of cases, from literature, never from nowhere."""
