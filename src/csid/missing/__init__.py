"""Missing cells: the joint PMF of the predictors, and cells averaged over, imputed or drawn."""
