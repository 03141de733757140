"""What `csid tune` is made of: the search space, the file of trials, and the cross-validated error of a trial."""
