"""The scikit-learn compatible estimators."""
