"""What plans are made of and judged by: algorithms that are here, wishes, expected costs and scores."""
