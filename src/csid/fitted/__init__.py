"""The fitted model, which explanations, plots, reports, model files and exports read."""
