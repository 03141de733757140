"""Inference: alternating least squares, the Gibbs sampler, the pilot, and convergence diagnostics."""
