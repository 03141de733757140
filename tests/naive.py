"""The slow, obvious twins of the compiled code, in plain NumPy from the paper's formulas: the tests' oracle.

The first half is dense and follows the definitions word by word: weights of every cell over every level, design
matrices, Eq. (7) as printed. The second half, `naive_als`, is the fit as one would sensibly write it with NumPy and
SciPy alone; speed benchmarks compare against it too.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve, solveh_banded
from scipy.stats import multivariate_t

from csid.data.problem import Problem
from csid.inference.als import ALSOptions
from csid.tensor.factors import Factors

Array = NDArray[np.float64]


class Model(NamedTuple):
    """The unknowns of the objective: factors `A_n` (I_n, F), the output factor `V` (K, F) and the bias (K,)."""

    A: list[Array]
    V: Array
    bias: Array


def model_of(factors: Factors) -> Model:
    """Copies of what a padded table holds."""
    A = [factors.factor(n).copy() for n in range(factors.n_modes)]
    return Model(A, factors.output_factor.copy(), factors.bias.copy())


# --- the model, by its definition ---------------------------------------------------------------------------------


def cell_weights(codes: NDArray[Any], fractions: NDArray[Any], levels: Sequence[int]) -> list[Array]:
    """For each mode, (M, I_n + 1): how much of a cell lies on each level; the last column says that it is missing."""
    rows = np.arange(len(codes))
    weights = []
    for n, I_n in enumerate(levels):
        W = np.zeros((len(codes), int(I_n) + 1))
        i = codes[:, n].astype(int)
        t = fractions[:, n].astype(float) if len(fractions) else np.zeros(len(codes))
        W[rows, i] = 1.0 - t
        between = t > 0
        W[rows[between], i[between] + 1] = t[between]
        weights.append(W)
    return weights


def level_weights(problem: Problem) -> list[Array]:
    """`w_n(x_m)`, (M, I_n) for each mode: a missing cell is spread over the levels by `p_n`."""
    cells = cell_weights(problem.cells.codes, problem.cells.fractions, problem.levels)
    return [W[:, :-1] + W[:, -1:] * p for W, p in zip(cells, problem.marginals, strict=True)]


def products(weights: Sequence[Array], A: Sequence[Array], modes: Sequence[int]) -> Array:
    """`q_m`: the product over some modes of `w_n(x_m)^T A_n`, (M, F)."""
    q = np.ones((len(weights[0]), A[0].shape[1]))
    for n in modes:
        q = q * (weights[n] @ A[n])
    return q


def values(problem: Problem, model: Model) -> Array:
    """Eq. (1) with a bias and several outputs, (M, K)."""
    q = products(level_weights(problem), model.A, range(problem.n_modes))
    return model.bias + q @ model.V.T


# --- penalties and the objective, Eq. (7) -------------------------------------------------------------------------


def printed_differences(levels: int, order: int) -> Array:
    """`T_n` entry by entry as the paper prints it: (1, -1) for order 1, (-1, 2, -1) for order 2."""
    T = np.zeros((max(0, levels - order), levels))
    for i in range(len(T)):
        if order == 1:
            T[i, i], T[i, i + 1] = 1.0, -1.0
        else:
            T[i, i], T[i, i + 1], T[i, i + 2] = -1.0, 2.0, -1.0
    return T


def penalty_matrix(levels: int, ordered: int, rho: float, mu: float, order: int) -> Array:
    """`rho I + mu T^T T`, with T on the first `ordered` levels."""
    T = np.zeros((max(0, ordered - order), levels))
    T[:, :ordered] = printed_differences(ordered, order)
    return rho * np.eye(levels) + mu * T.T @ T


def penalty_matrices(problem: Problem, options: ALSOptions) -> list[Array]:
    """One per mode, and one for the output factor when there are several outputs."""
    modes = zip(problem.levels, problem.ordered, options.smoothness, strict=True)
    matrices = [
        penalty_matrix(int(I_n), int(ordered), options.ridge * min(1.0, 25 / I_n), mu, options.smoothness_order)
        for I_n, ordered, mu in modes
    ]
    if problem.n_outputs > 1:
        K = problem.n_outputs
        matrices.append(penalty_matrix(K, K, options.ridge, options.output_smoothness, options.smoothness_order))
    return matrices


Losses = Callable[[Array], Array]


def squared_errors(residuals: Array) -> Array:
    """The loss of each row, (M,) from (M, K)."""
    return np.asarray((residuals**2).sum(axis=1))


def student_t_losses(df: float, alpha: float) -> Losses:
    """Those of Student's t: -2 / alpha times the logarithm of the density, without what no residual changes."""

    def losses(residuals: Array) -> Array:
        K = residuals.shape[1]
        density = multivariate_t(np.zeros(K), np.eye(K) / alpha, df)
        logs = np.reshape(density.logpdf(residuals) - density.logpdf(np.zeros(K)), -1)
        return np.asarray(-2.0 / alpha * logs)

    return losses


def objective(problem: Problem, options: ALSOptions, model: Model, losses: Losses = squared_errors) -> float:
    """Eq. (7): weighted mean of losses, ridge and smoothness. With one output there is no V to penalise."""
    errors = losses(problem.targets - values(problem, model))
    fit = (problem.weights @ errors + problem.within.sum()) / problem.weights.sum()
    rho, order = options.ridge, options.smoothness_order
    penalty = 0.0
    for A, ordered, mu in zip(model.A, problem.ordered, options.smoothness, strict=True):
        penalty += (
            rho * min(1.0, 25 / len(A)) * (A**2).sum()
            + mu * ((printed_differences(int(ordered), order) @ A[:ordered]) ** 2).sum()
        )
    if problem.n_outputs > 1:
        T = printed_differences(problem.n_outputs, order)
        penalty += rho * (model.V**2).sum() + options.output_smoothness * ((T @ model.V) ** 2).sum()
    return float(fit + penalty)


def gradient(function: Callable[[Array], float], at: Array) -> Array:
    """Central differences with step 1, exact for the quadratics that we take them of."""
    slopes = np.empty(at.shape)
    for entry in np.ndindex(at.shape):
        step = np.zeros(at.shape)
        step[entry] = 1.0
        slopes[entry] = 0.5 * (function(at + step) - function(at - step))
    return slopes


# --- the sums and systems of one mode, Eq. (8) --------------------------------------------------------------------


def level_sums(W: Array, q: Array, roots: Array, residuals: Array) -> tuple[Array, Array, Array]:
    """D, O and R of `row_loops.accumulate`, whose q carries the roots of the sample weights; W are cell weights."""
    levels, beside = W.shape[1], np.zeros_like(W)
    beside[:, :-1] = W[:, :-1] * W[:, 1:]
    D = np.array([(q * W[:, i, None] ** 2).T @ q for i in range(levels)])
    O = np.array([(q * beside[:, i, None]).T @ q for i in range(levels)])
    R = np.array([((roots * W[:, i])[:, None] * residuals).T @ q for i in range(levels)])
    return D, O, R


def design(problem: Problem, model: Model, k: int) -> Array:
    """(M K, I_k F): the predictions are this times the entries of `A_k` in row order, plus the bias."""
    W = level_weights(problem)
    q = products(W, model.A, [n for n in range(problem.n_modes) if n != k])
    X = np.einsum("mi,mf,jf->mjif", W[k], q, model.V)
    return X.reshape(problem.n_rows * problem.n_outputs, -1)


def mode_system(problem: Problem, model: Model, k: int) -> tuple[Array, Array]:
    """The data's part `H a - r` of half the gradient in `A_k`, divided by M: dense H (I F, I F) and r (I F,)."""
    X = design(problem, model, k)
    s = np.repeat(problem.weights, problem.n_outputs)
    M = problem.weights.sum()
    return X.T @ (s[:, None] * X) / M, X.T @ (s * (problem.targets - model.bias).ravel()) / M


def output_system(problem: Problem, model: Model) -> tuple[Array, Array]:
    """The same for the output factor: H (F, F), shared by all outputs, and r (K, F)."""
    q = products(level_weights(problem), model.A, range(problem.n_modes))
    weighted = problem.weights[:, None] * q / problem.weights.sum()
    return weighted.T @ q, (problem.targets - model.bias).T @ weighted


# --- block-banded systems, densely --------------------------------------------------------------------------------


def dense_bands(bands: Array) -> Array:
    """The symmetric matrix (I F, I F) of blocks `bands[d, i]` that couple level i with level i + d."""
    width, levels, F, _ = bands.shape
    H = np.zeros((levels, F, levels, F))
    for d in range(width):
        for i in range(levels - d):
            H[i, :, i + d, :] = bands[d, i]
            H[i + d, :, i, :] = bands[d, i].T
    return H.reshape(levels * F, levels * F)


def dense_penalty(bands: Array) -> Array:
    """The symmetric matrix (I, I) of a penalty's diagonals."""
    return dense_bands(bands[:, :, None, None])


def one_pass(H: Array, r: Array, A: Array) -> Array:
    """One pass over the rows of A, each the minimiser of a^T H a / 2 - r^T a with the other rows held."""
    levels, F = A.shape
    a = A.copy().ravel()
    for i in range(levels):
        own = slice(i * F, (i + 1) * F)
        pull = H[own] @ a - H[own, own] @ a[own]
        a[own] = np.linalg.solve(H[own, own], r[own] - pull)
    return a.reshape(A.shape)


# --- a whole fit --------------------------------------------------------------------------------------------------


class _Mode(NamedTuple):
    """What a fit keeps of one predictor: codes, fractions (or None), and rows in the order of their level."""

    codes: NDArray[np.intp]
    fractions: Array | None
    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    p: Array


def naive_als(problem: Problem, options: ALSOptions, factors: Factors, n_sweeps: int) -> tuple[Model, list[float]]:
    """Sweeps of exact mode updates from `factors`, and the objective after each.

    A level's Gram matrix is one BLAS product of the rows on it, and the system of a mode a banded Cholesky.
    """
    modes = [_read_mode(problem, n) for n in range(problem.n_modes)]
    penalties = penalty_matrices(problem, options)
    model = model_of(factors)
    history = []
    for _ in range(n_sweeps):
        for k in range(problem.n_modes):
            model.A[k] = _solve_mode(problem, modes, penalties[k], model, k)
        if problem.n_outputs > 1:
            model = model._replace(V=_solve_outputs(problem, modes, penalties[-1], model))
        model = _balanced(penalties, model)
        q = _row_products(modes, model.A, range(problem.n_modes))
        residuals = problem.targets - q @ model.V.T
        model = model._replace(bias=problem.weights @ residuals / problem.total_weight)
        squares = float((problem.weights @ (residuals - model.bias) ** 2).sum() + problem.within.sum())
        history.append(squares / problem.total_weight + float(_costs(penalties, model).sum()))
    return model, history


def _read_mode(problem: Problem, n: int) -> _Mode:
    codes = problem.cells.codes[:, n].astype(np.intp)
    t = problem.cells.fractions[:, n].astype(float) if len(problem.cells.fractions) else None
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(problem.levels[n] + 2))
    return _Mode(codes, t, order, starts, problem.marginals[n])


def _row_products(modes: Sequence[_Mode], A: Sequence[Array], which: Sequence[int]) -> Array:
    q = np.ones((len(modes[0].codes), A[0].shape[1]))
    for n in which:
        mode = modes[n]
        table = np.vstack([A[n], mode.p @ A[n]])
        rows = table[mode.codes]
        if mode.fractions is not None:
            following = table[np.minimum(mode.codes + 1, len(A[n]))]
            rows += mode.fractions[:, None] * (following - rows)
        q *= rows
    return q


def _solve_mode(problem: Problem, modes: Sequence[_Mode], P: Array, model: Model, k: int) -> Array:
    """The minimiser of Eq. (8) in `A_k`."""
    levels, F = model.A[k].shape
    mode = modes[k]
    q = _row_products(modes, model.A, [n for n in range(len(modes)) if n != k])
    q *= problem.roots[:, None]
    y = problem.roots[:, None] * (problem.targets - model.bias)
    D, O, R = np.zeros((levels + 1, F, F)), np.zeros((levels + 1, F, F)), np.zeros((levels + 1, F))
    for i in range(levels + 1):
        rows = mode.order[mode.starts[i] : mode.starts[i + 1]]
        here, z = q[rows], y[rows] @ model.V
        if mode.fractions is None or i >= levels - 1:
            D[i] += here.T @ here
            R[i] += (here * z).sum(axis=0)
            continue
        t = mode.fractions[rows, None]
        near, far = (1.0 - t) * here, t * here
        D[i] += near.T @ near
        O[i] += near.T @ far
        D[i + 1] += far.T @ far
        R[i] += (near * z).sum(axis=0)
        R[i + 1] += (far * z).sum(axis=0)
    scale = model.V.T @ model.V / problem.total_weight
    r = (R[:-1] + mode.p[:, None] * R[-1]) / problem.total_weight
    diagonals = [scale * D[:-1], scale * O[:-1]]
    if mode.starts[-2] < problem.n_rows:  # rows without this predictor couple all of its levels
        H = dense_bands(np.array(diagonals)) + np.kron(np.outer(mode.p, mode.p), scale * D[-1]) + np.kron(P, np.eye(F))
        return solve(H, r.ravel(), assume_a="pos").reshape(levels, F)
    return solveh_banded(_lapack_bands(diagonals, P), r.ravel()).reshape(levels, F)


def _lapack_bands(diagonals: list[Array], P: Array) -> Array:
    """Upper banded storage of block diagonals plus `P kron I`."""
    levels, F, _ = diagonals[0].shape
    width = min(2, levels - 1)
    above = (width + 1) * F - 1
    stored = np.zeros((above + 1, levels * F))
    a, b = np.indices((F, F)).reshape(2, -1)
    for d in range(width + 1):
        block = np.diagonal(P, d)[:, None, None] * np.eye(F)
        if d < len(diagonals):
            block = block + diagonals[d][: levels - d]
        offset = d * F + b - a
        upper = offset >= 0
        columns = np.arange(d, levels) * F + b[upper, None]
        stored[above - offset[upper, None], columns] = block[:, a[upper], b[upper]].T
    return stored


def _solve_outputs(problem: Problem, modes: Sequence[_Mode], P: Array, model: Model) -> Array:
    q = _row_products(modes, model.A, range(len(modes)))
    weighted = problem.weights[:, None] * q / problem.total_weight
    r = (problem.targets - model.bias).T @ weighted
    H = np.kron(np.eye(len(P)), weighted.T @ q) + np.kron(P, np.eye(q.shape[1]))
    return solve(H, r.ravel(), assume_a="pos").reshape(r.shape)


def _costs(penalties: Sequence[Array], model: Model) -> Array:
    """What each factor pays for each component, (N, F) or with several outputs (N + 1, F)."""
    return np.array([((P @ A) * A).sum(axis=0) for P, A in zip(penalties, [*model.A, model.V], strict=False)])


def _balanced(penalties: Sequence[Array], model: Model) -> Model:
    """The same products with every factor of a component paying the same, the least sum by the means' inequality."""
    costs = np.maximum(_costs(penalties, model), 0.0)
    balanced = np.prod(costs ** (1.0 / len(costs)), axis=0)
    scales = np.where((costs > 0).all(axis=0), np.sqrt(balanced / np.where(costs > 0, costs, 1.0)), 1.0)
    unknowns = [A * c for A, c in zip([*model.A, model.V], scales, strict=False)]
    V = unknowns[-1] if len(unknowns) > len(model.A) else model.V
    return Model(unknowns[: len(model.A)], V, model.bias)


def dense_unit(levels: int, ordered: int, order: int) -> Array:
    """U_n: squared differences of the levels that have enough neighbours, squares of the others."""
    smooth = ordered if ordered > order else 0
    alone = np.diag((np.arange(levels) >= smooth).astype(float))
    return penalty_matrix(levels, smooth, 0.0, 1.0, order) + alone


def dense_units(problem: Problem, order: int) -> list[Array]:
    """The matrices U_n of all modes."""
    numbers = zip(problem.levels.tolist(), problem.ordered.tolist(), strict=True)
    return [dense_unit(levels, ordered, order) for levels, ordered in numbers]
