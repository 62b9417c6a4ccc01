"""The report of a run, `report.html`, and the model card, `MODEL_CARD.md`. Both show the `Assessment` unchanged."""
