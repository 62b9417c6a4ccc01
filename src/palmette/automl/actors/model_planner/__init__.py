"""The plans' model steps: candidates with what they are expected to score and cost, found without training."""
